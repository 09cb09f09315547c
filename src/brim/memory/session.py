"""A conversation that grows and stays in its window: sticky decisions, rare re-plans, nothing lost."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from brim import catalog, wire
from brim.catalog import Model
from brim.conversation import Conversation, Message, encode
from brim.errors import BadInput, NotFound
from brim.fitting import Fitted, OnEvent, events, fit, limit_of, tell
from brim.ladders import handle_of
from brim.memory.arrival import arrived
from brim.memory.inmemory import InMemoryStore
from brim.memory.keeping import State, cut_record, message_record, replayed, state_of, view_of
from brim.memory.recall import recall_text, recalled
from brim.memory.replan import Replan, as_sent
from brim.memory.store import SessionRecord, Store, Turn
from brim.memory.view import Entry, View, common_length
from brim.plan.context import Attachment
from brim.plan.planner import Outcome
from brim.plan.policy import Policy
from brim.plan.reporting import report_of
from brim.plan.work import Work
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter


class Session:
    """One conversation.

    `fit` takes the whole history each time, as most clients send it. `say`, `attach` and `record` are for those who
    let Brim hold it.

    Example: brim.Session(model="gpt-4o", budget=20_000).fit(messages).messages
    """

    def __init__(
        self,
        *,
        model: str | Model,
        budget: int | None = None,
        reserve: int | None = None,
        policy: Policy | None = None,
        store: Store | None = None,
        id: str | None = None,
        api: str | None = None,
        system: Any = None,
        tools: Any = None,
        actuals: Actuals | None = None,
        recall: str = "auto",
        on_event: OnEvent | None = None,
    ) -> None:
        self.id = id or secrets.token_hex(16)
        self.model = model if isinstance(model, Model) else catalog.find(model)
        self.policy = policy or Policy.agent()
        self.budget = budget
        self.reserve = reserve
        self.store: Store = store if store is not None else InMemoryStore()
        self.actuals = actuals or Actuals(self.store)
        self.recall_mode = recall
        self.log: list[Message] = []
        self.view = View()
        self.replans = 0
        self._api = api or self.model.api
        self._system, self._tools = system, tools
        self._context: list[Attachment] = []
        self._carried: list[Attachment] = []
        self._on_event = on_event
        self._sent: Conversation | None = None
        self._tight = False
        self._head = 0
        self._new_blobs: list[bytes] = []
        self._pending: list[bytes] = []
        self._written: set[bytes] = set()
        self._chain: list[bytes] = [b""]

    def fit(self, request: Any, *, tools: Any = None, system: Any = None, tool_choice: Any = None) -> Fitted:
        """Return the request with its history fitted; what was sent before stays as it was sent.

        Raises BudgetTooSmall if what must stay cannot fit.
        """
        conversation = wire.parse(request, model=self.model.name, tools=tools, system=system, tool_choice=tool_choice)
        self._api = conversation.api
        self._follow(conversation.messages)
        return self._fitted(conversation, request)

    def say(self, message: Any) -> Fitted:
        """Add a message (a text is the user's) and return the request to send."""
        value = wire.APIS[self._api].text_message("user", message) if isinstance(message, str) else message
        said = wire.APIS[self._api].messages.get(encode(value), f"message {len(self.log)}")
        conversation = wire.parse([], self._api, model=self.model.name, tools=self._tools, system=self._system)
        self._append([said])
        fitted = self._fitted(conversation, [])
        self._carried += self._context
        self._context = []
        return fitted

    def attach(
        self, context: str | Attachment, *, source: str = "", type: str = "note", recoverable: bool = True
    ) -> None:
        """Attach context to the next message; in later turns it is carried along in short."""
        made = context if isinstance(context, Attachment) else Attachment(context, source, type, recoverable)
        self._context.append(made)

    def record(self, response: Any) -> None:
        """Take what came back: the answer joins the conversation where Brim holds it, the usage teaches the counter.

        `response` is the response as a dict (or an SDK object), a `wire.Usage`, or the number of input tokens.
        """
        if isinstance(response, int):
            used: int | None = response
        elif isinstance(response, wire.Usage):
            used = response.input
        else:
            body = response if isinstance(response, Mapping) else json.loads(encode(response))
            usage = wire.usage(body, self._api)
            used = usage.input if usage else None
            spec = wire.APIS[self._api]
            self._append([spec.messages.get(encode(value), "response") for value in spec.replies(body)])
        if used is not None and self._sent is not None:
            self._counter().record(self._sent, used)
        self._save()

    def recall(self, handle: str) -> str:
        """The content behind a handle that stands in a fitted request."""
        found = self.store.find_blob(handle.removeprefix("brim:"), self.id)
        if found is None:
            raise NotFound(f"nothing is kept under {handle!r} in this session: handles look like brim:3f2a9c01")
        return found.decode("utf-8", "surrogatepass")

    def search(self, query: str, limit: int = 5) -> list[tuple[int, str]]:
        """Messages of the whole log that are about a query, best first, with their numbers."""
        found = recalled(self.log, query, range(len(self.log)), most=limit)
        return [(number, self.log[number].text) for number in found]

    def _counter(self) -> Counter:
        return Counter(self.model, self._api, self.actuals)

    def _follow(self, messages: tuple[Message, ...]) -> None:
        """Bring the log to what the client sent: append what is new, forget what was edited away."""
        common = common_length(self.log, messages)
        if common < len(self.log):
            common = min(self.view.cut(common), common)
            del self.log[common:]
            del self._chain[common + 1 :]
            self._pending.append(cut_record(common))
        self._append(list(messages[common:]))

    def _append(self, messages: list[Message]) -> None:
        counter = self._counter()
        newest = len(self.log) + len(messages) - 1
        for message in messages:
            number = len(self.log)
            if number == newest and self.recall_mode == "auto":
                self._recall(message, counter)
            self.log.append(message)
            self._chain.append(link(self._chain[-1], message))
            self._pending.append(message_record(message.raw))
            shown = arrived(message, counter, self.policy, self._free(), self._keep) if self._tight else message
            kind: Any = "as is" if shown is message else "compacted"
            self.view.append([Entry(number, number + 1, shown, counter.message(shown), kind)])

    def _recall(self, message: Message, counter: Counter) -> None:
        """Bring back what a new message of the user is about, before it, where it stays from then on."""
        folded = self.view.folded(len(self.log))
        room = int(self.policy.recall * self._limit())
        if not folded or room < 40 or message.role != "user" or message.answers:
            return
        text = recall_text(self.log, recalled(self.log, message.text[:4000], folded, 8), room, counter.text)
        if text:
            block = wire.text_message(self._api, "user", text)
            at = len(self.log)
            self.view.append([Entry(at, at, block, counter.message(block), "recall")])

    def _limit(self, conversation: Conversation | None = None) -> int:
        empty = conversation or Conversation(self._api, ())
        return limit_of(self.model, empty, self.policy, self.budget, self.reserve)

    def _free(self) -> int:
        """What the limit leaves beside the instructions, which may be half of it."""
        return max(1, self._limit() - self._head)

    def _keep(self, text: str) -> str:
        self._new_blobs.append(text.encode("utf-8", "surrogatepass"))
        return handle_of(text)

    def _fitted(self, conversation: Conversation, request: Any) -> Fitted:
        work = Work(
            conversation=conversation,
            counter=self._counter(),
            model=self.model,
            policy=self.policy,
            limit=self._limit(conversation),
            own_limit=self.budget is None and self.policy.budget is None,
            recall=self.recall_mode == "tool",
            context=tuple(self._context),
            carried=tuple(self._carried),
        )
        instructions = sum(work.counter.message(message) for message in self.log[:4] if message.role == "system")
        self._head = work.counter.head(conversation) + instructions
        outcome = self._bring_under(work)
        for event in events(outcome):
            tell(self._on_event, event)
        self._new_blobs += [text.encode("utf-8", "surrogatepass") for text in outcome.stash.values()]
        sent = outcome.conversation
        self._sent = sent
        same = len(sent.messages) == len(conversation.messages) and self.view.untouched() and request
        body = request if same and not self._context else wire.render(sent, request)
        self._save()
        tokens = work.counter.total(sent)
        before = replace(work, conversation=replace(conversation, messages=tuple(self.log)))
        return Fitted(
            body,
            sent,
            tokens,
            outcome.stash,
            lambda: report_of(before, outcome),
            lambda budget: self._at(request, budget),
        )

    def _at(self, request: Any, budget: int) -> Fitted:
        """The same turn at another budget, planned without memory."""
        messages = request or [message.value for message in self.log]
        return fit(messages, model=self.model, budget=budget, policy=self.policy, api=self._api)

    def _bring_under(self, work: Work) -> Outcome:
        size = work.size(work.counter.head(work.conversation) + self.view.tokens)
        if size <= work.limit:
            return Outcome(as_sent(work.conversation, self.view), size)
        self.replans += 1
        self._tight = True
        return Replan(work, self.log, self.view).run()

    def _save(self) -> None:
        """Write what is new of this turn; what cannot be written is only lost to later processes."""
        if not self._pending and not self._new_blobs:
            return
        shown = [entry.message.raw for entry in self.view.entries if entry.kind != "as is"]
        self.store.commit(
            Turn(
                session=self.id,
                records=tuple(self._pending),
                blobs=tuple(dict.fromkeys([*self._new_blobs, *(raw for raw in shown if raw not in self._written)])),
                state=state_of(self.view, self._tight, self.replans),
                prefixes=[(self._chain[-1], len(self.log))],
                meta={"model": self.model.name, "api": self._api, "budget": self.budget, "policy": self.policy.name},
            )
        )
        self._written = set(shown)
        self._pending, self._new_blobs = [], []

    @classmethod
    def load(cls, id: str, *, store: Store, **settings: Any) -> Session:
        """The session of this id as it was left: the same log, and the same view of it."""
        found = store.get_session(id)
        if found is None:
            raise NotFound(f"there is no session {id!r}: `sessions()` lists them")
        given = {"model": found.meta.get("model", ""), "budget": found.meta.get("budget"), **settings}
        if "policy" not in settings and found.meta.get("policy"):
            given["policy"] = Policy.named(str(found.meta["policy"]))
        session = cls(id=id, store=store, api=found.meta.get("api"), **given)
        session._restore()
        return session

    def _restore(self) -> None:
        read = wire.APIS[self._api].messages.get
        self.log = replayed(self.store.records(self.id), read)
        for message in self.log:
            self._chain.append(link(self._chain[-1], message))
        raw = self.store.get_state(self.id)
        state = msgspec.msgpack.decode(raw, type=State) if raw else None
        view = view_of(state, self.log, self.store.get_blob, read) if state else None
        if state is not None and view is not None:
            self.view, self._tight, self.replans = view, state.tight, state.replans
            return
        counter = self._counter()
        self.view = View()
        self.view.append(
            Entry(number, number + 1, message, counter.message(message)) for number, message in enumerate(self.log)
        )

    def export(self) -> Iterator[str]:
        """The session as JSON lines: what it is, then each message of its log."""
        yield json.dumps({"id": self.id, "model": self.model.name, "api": self._api, "budget": self.budget})
        for message in self.log:
            yield message.raw.decode("utf-8", "surrogatepass")

    @classmethod
    def import_(cls, lines: Iterator[str] | Path, *, store: Store | None = None) -> Session:
        """A session from what `export` wrote."""
        rows = lines.read_text("utf-8").splitlines() if isinstance(lines, Path) else list(lines)
        try:
            head = json.loads(rows[0])
            session = cls(model=head["model"], budget=head.get("budget"), api=head["api"], id=head["id"], store=store)
        except (IndexError, KeyError, TypeError, ValueError) as problem:
            raise BadInput("line 1", f"is not the head of an exported session ({problem})") from None
        read = wire.APIS[session._api].messages.get
        session._append([read(row.encode("utf-8", "surrogatepass"), f"line {n}") for n, row in enumerate(rows[1:], 2)])
        session._save()
        return session


def link(before: bytes, message: Message) -> bytes:
    """The digest of a conversation up to and with a message, from the one before it."""
    return hashlib.sha256(before + message.digest).digest()


def sessions(store: Store, limit: int = 50, query: str = "") -> list[SessionRecord]:
    """The last used sessions of a store, newest first."""
    return store.sessions(limit, query=query)
