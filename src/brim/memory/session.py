"""A conversation that grows and stays in its window: sticky decisions, rare re-plans, nothing lost."""

from __future__ import annotations

import logging
import secrets
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from brim import catalog, wire
from brim.catalog import Model
from brim.conversation import Conversation, Message, decode
from brim.counting import kept_list
from brim.errors import BadInput, BudgetTooSmall, NotFound, UnknownModel
from brim.fitting import Fitted, OnEvent, by_window, capped, events, fit, limit_of, refused, tell
from brim.memory import checks, keeping
from brim.memory.arrival import arrived
from brim.memory.attached import Attached
from brim.memory.breakpoints import bare, ended, lost_marks, unmarked, with_breakpoints
from brim.memory.bypolicy import plan_by_policy
from brim.memory.embedding import Embeddings
from brim.memory.recollection import Recollection
from brim.memory.replan import Replan
from brim.memory.sending import as_sent, came_back, fitted
from brim.memory.store import SessionRecord, Store
from brim.memory.summaries import Folding, Summarizer
from brim.memory.talk import ENOUGH, NOTED, READ_AT_ONCE, READ_FROM, Acts, Talk
from brim.memory.view import HANDLE, Entry, EntryKind, View, common_length
from brim.memory.writing import Writer, originals
from brim.plan.context import Attachment, not_in
from brim.plan.policy import Policy
from brim.plan.relevance import Embedder
from brim.plan.task import Outcome
from brim.plan.work import Work
from brim.recent import Recent
from brim.summarize.deterministic import take_notes
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

log = logging.getLogger("brim")
# What a fork has in common with the session that it leaves.
SHARED = (
    "reserve actuals recall_mode breakpoints replans"
    " _api _told_api _follows _system _tools _on_event _begun _tight _head"
).split()
RECALLS = ("auto", "tool", "off")
# A turn that the store does not take, because it has lost or got something, is written so often.
TRIES = 3
SAVED_BYTES = 16 << 20  # so many bytes of results are remembered as they were saved


class Session:
    """One conversation.

    `fit` takes the whole history each time, as most clients send it. `say`, `attach` and `record` are for those who
    let Brim hold it. May be used from several threads.

    Example: brim.Session(model="gpt-4o", budget=20_000).fit(messages).messages
    """

    def __init__(
        self,
        *,
        model: str | Model,
        budget: int | None = None,
        reserve: int | None = None,
        policy: Policy | str | None = None,
        store: Store | str | Path | None = None,
        id: str | None = None,
        api: str | None = None,
        system: Any = None,
        tools: Any = None,
        actuals: Actuals | None = None,
        recall: str = "auto",
        summarizer: Summarizer | None = None,
        embed: Embedder | None = None,
        breakpoints: bool = True,
        on_event: OnEvent | None = None,
    ) -> None:
        if recall not in RECALLS:
            raise BadInput("recall", f"{recall!r} is not one of {', '.join(RECALLS)}")
        self.id = checks.session_id(id or secrets.token_hex(16))
        self.model = catalog.model_of(model)
        self.policy = Policy.of(policy)
        self.budget = budget
        self.reserve = reserve
        self._api = checks.api_name(api or self.model.api)
        self._limit()  # refuses a budget and a reserve that make no sense
        self.store: Store = keeping.opened(checks.store(store))
        self.actuals = actuals or Actuals(self.store)
        self.recall_mode = recall
        self.breakpoints = breakpoints
        self.log: list[Message] = []
        self.view = View()
        self.replans = 0
        self.folding = Folding(summarizer)
        self._follows = not isinstance(model, Model)  # a model that was given by name yields to one that a body names
        self._unknown: object = None  # a name of a model that a body named in vain
        self._told_api = api
        self._system, self._tools = system, tools
        self._context: list[Attachment] = []
        self._attached = Attached()
        self._carried: list[Attachment] = []
        self._on_event = on_event
        self._sent: Conversation | None = None
        self._last: tuple[Any, ...] | None = None  # what it was asked for
        self._begun = False  # whether a request was ever made of it
        self._tight = False
        self._head = 0
        self._writer = Writer()
        me = weakref.proxy(self)  # a session that is let go frees its memory at once, not when cycles are looked for
        self._embed = Embeddings(embed, self.store) if embed is not None else None
        self._recollection = Recollection(self.log, lambda message: int(me._counter().message(message)), self._embed)
        self._acts = Acts(self.log)
        self._results: Recent[bytes, Message] = Recent(SAVED_BYTES)
        self._counted: Counter | None = None
        self._lock = threading.RLock()
        self._counter().text("Wörter …")  # a tokenizer takes a while to load: better now than in the first turn

    def fit(self, request: Any, *, tools: Any = None, system: Any = None, tool_choice: Any = None) -> Fitted:
        """Return the request with its history fitted; what was sent before stays as it was sent.

        A list is of the session's `api`, if that was given, and goes with its instructions and tools; a body says its
        own. Raises BudgetTooSmall if what must stay cannot fit; the session stays usable.
        """
        request = kept_list(request)
        api = None
        if wire.is_bare(request):
            api, tools = self._told_api, self._tools if tools is None else tools
        beside = {"model": self.model, "tools": tools, "tool_choice": tool_choice}
        conversation = wire.parse(request, api, system=system, **beside)
        if system is None and self._system is not None and wire.is_bare(request) and not _instructed(conversation):
            conversation = wire.parse(request, conversation.api, system=self._system, **beside)
        if self._follows and conversation.model not in (self.model.name, self._unknown):
            self.ask(conversation.model)
        return self.fit_parsed(request, conversation)

    def ask(self, model: str | Model) -> None:
        """Go on with another model: its tokens count from now on, and its window holds. One that is unknown is not."""
        try:
            found = model if isinstance(model, Model) else catalog.find(model)
        except UnknownModel:
            log.warning("the model %r is not known: the session goes on with the limits of %s", model, self.model.name)
            self._unknown = model
            return
        with self._lock:
            self.model = found

    def fit_parsed(self, request: Any, conversation: Conversation) -> Fitted:
        """`fit` for a request that was parsed already."""
        with self._lock:
            self._api = conversation.api
            self._check_store(conversation.messages)
            self._measure_head(conversation, conversation.messages)
            self._follow(conversation.messages)
            try:
                return self._fitted(conversation, request)
            except BudgetTooSmall:
                if self._attached.at(len(self.log) - 1):  # it was not sent: its context waits for what is sent instead
                    self._cut(len(self.log) - 1)
                    self._save()
                raise

    def say(self, message: Any) -> Fitted:
        """Add a message (a text is the user's) and return the request to send.

        Raises BudgetTooSmall if it cannot fit; then it was not said.
        """
        with self._lock:
            value = wire.APIS[self._api].text_message("user", message) if isinstance(message, str) else message
            said = wire.APIS[self._api].messages.get(checks.encoded("message", value), f"message {len(self.log)}")
            self._check_store(None)
            system = self._instructed()
            conversation = wire.parse([], self._api, model=self.model.name, tools=self._tools, system=system)
            self._measure_head(conversation, self.log)
            before, context = len(self.log), self._context
            self._append([said])
            try:
                return self._fitted(conversation, [])
            except BaseException:
                self._cut(before)
                self._context = context
                self._save()
                raise

    def _instructed(self) -> Any:
        """The instructions for the body; where the API has no field for them, a first message says them once."""
        if self._system is None or wire.APIS[self._api].system_fields:
            return self._system
        value = self._first_message()
        self._append([] if self.log else [wire.APIS[self._api].messages.get(checks.encoded("system", value), "system")])
        return None

    def _first_message(self) -> Any:
        return self._system if isinstance(self._system, dict) else {"role": "system", "content": self._system}

    def attach(
        self, context: str | Attachment, *, source: str = "", type: str = "note", recoverable: bool = True
    ) -> None:
        """Attach context to the next message; after a re-plan it is carried along in short."""
        if not isinstance(context, Attachment):
            context = Attachment(checks.text("context", context), source, type, recoverable)
        with self._lock:
            self._context = [*self._context, context]
            self._save()

    def record(self, response: Any) -> None:
        """Take what came back: the answer joins the conversation where Brim holds it, the usage teaches the counter.

        `response` is the response as a dict (or an SDK object), a `wire.Usage`, or the number of input tokens.
        """
        with self._lock:
            used, replies = came_back(checks.response(response), self._api)
            self._append(replies)
            if used is not None and self._sent is not None:
                self._counter().record(self._sent, used)
            self._save()
        self.summarize_later()

    def summarize_later(self) -> None:
        """After a response: have folded messages summarised beside everything else, if there is a summariser."""
        self.folding.start(self._folded_messages, self._keep_summary)

    def fork(self, length: int, id: str | None = None) -> Session:
        """Another session with the first messages of this one, shown as they are here; both go on by themselves."""
        checks.whole("length", length)
        with self._lock:
            other = Session(model=self.model, budget=self.budget, policy=self.policy, store=self.store, id=id)
            other._embed = other._recollection.embed = self._embed
            for name in SHARED:
                setattr(other, name, getattr(self, name))
            other.folding = self.folding.fork(length)
            other._carried = list(self._carried)
            other.view = View(list(self.view.entries), self.view.settled, self.view.tokens)
            covered = min(other.view.cut(length), length)
            other.log += self.log[:covered]
            other._attached = Attached(self._attached.before(length))
            handles = other.view.handles()
            blobs = [blob for handle in handles if (blob := self.store.find_blob(handle, self.id)) is not None]
            other._writer.forked(self._writer.chain[: covered + 1], other.log, blobs)
            for at, piece in other._attached:
                other._writer.attach(at, [piece])
            other._append(self.log[covered:length])
            other._context = self._attached.at(length)
            other._save()
            return other

    async def summarize(self) -> bool:
        """Have folded messages summarised now; True if there is a summary that the next re-plan will use."""
        return await self.folding.run(self._folded_messages(), self._keep_summary)

    def _keep_summary(self) -> None:
        with self._lock:
            self._save()

    def recall(self, handle: str) -> str:
        """The content behind a handle that stands in a fitted request."""
        digits = checks.text("handle", handle).strip().removeprefix("brim:")
        found = self.store.find_blob(digits, self.id)
        if found is None:
            with self._lock:  # what the store lost is written again
                self._check_store((), gone=True)
                self._save()
            found = self.store.find_blob(digits, self.id)
        if found is None:
            raise NotFound(f"nothing is kept under {handle!r} in this session: handles look like brim:3f2a9c01")
        return found.decode("utf-8", "surrogatepass")

    def search(self, query: str, limit: int = 5) -> list[tuple[int, str]]:
        """Messages of the whole log, and attached context, that are about a query, best first, with their numbers.

        The number of context is that of the message that it was attached to.
        """
        checks.text("query", query), checks.whole("limit", limit)
        with self._lock:
            said = [(number, self.log[number].text) for number in self._recollection.search(query, limit)]
            context = self._attached.search(query, limit)
            both = [found for pair in zip_longest(said, context) for found in pair if found is not None]
            return both[:limit]

    def rest(self) -> None:
        """Let go of the search index, most of a session's memory, until it is asked; not while the session is used."""
        if self._lock.acquire(blocking=False):
            self._recollection.rest()
            self._lock.release()

    def _counter(self) -> Counter:
        known = self._counted
        if known is None or known.model != self.model or known.api != self._api or known.actuals is not self.actuals:
            before = known
            known = self._counted = Counter(self.model, self._api, self.actuals)
            if before is not None and _vocabulary(before) != _vocabulary(known):
                self.view.measure(known.message)
                self._recollection.rest()
        return known

    def _check_store(self, messages: Sequence[Message] | None, gone: bool = False) -> None:
        """See whether the store still holds what this session wrote there, and nothing else.

        What another holder added is taken over where this one only goes on from it; else they part. `messages` is what
        a client sends, None if Brim holds the conversation.
        """
        known = self.store.get_session(self.id)
        there = known.records if known else 0
        if there == self._writer.records or self.store.degraded is not None:
            return
        if known is None or there < self._writer.records:
            self._write_again(there)
        elif not gone and not (known.meta.get("api", self._api) == self._api and self._taken_over(messages)):
            self._part()

    def _taken_over(self, messages: Sequence[Message] | None) -> bool:
        """Go on from what another holder of this session wrote; False if that is not what goes on here."""
        stored = keeping.read_log(self.store.records(self.id), wire.APIS[self._api].messages.get)
        here = self.log if messages is None else messages
        whole = len(self.log) if messages is None else len(stored.messages)
        last = stored.messages[-1] if stored.messages else None
        finished = last is None or (last.role == "assistant" and not last.calls)
        if common_length(stored.messages, here) < whole or (messages is None and not finished):
            return False
        self._restore(stored)
        return True

    def _part(self) -> None:
        """Go on as a session of its own, with all that this one holds."""
        name = f"{self.id}-{secrets.token_hex(4)}"
        log.warning("session %s was gone on with elsewhere: what is said here goes on as session %s", self.id, name)
        blobs = [self.store.find_blob(handle, self.id) for handle in self.view.handles()]
        self.id = name
        self._writer.again(self.log, self._attached, [blob for blob in blobs if blob is not None], 0)

    def _write_again(self, there: int) -> None:
        """Write all of it once more: the store has lost it. What cannot be recalled any more is planned anew."""
        log.warning("the store no longer holds all of session %s: it is written again", self.id)
        texts = [part.text for message in self.log for part in message.parts]
        blobs, lost = originals(self.view.handles(), [*texts, *(piece.text for _, piece in self._attached)])
        self._writer.again(self.log, self._attached, blobs, there)
        if lost:
            self.view, self._tight = View(), False
            self._show(0)

    def _follow(self, messages: tuple[Message, ...]) -> None:
        """Bring the log to what the client sent: append what is new, forget what was edited away."""
        common = common_length(self.log, messages)
        if self._context and common == len(self.log) == len(messages) and self.policy.name == "agent":
            common -= messages[-1].role == "user" and not messages[-1].answers  # it is sent again, with its context
        if common < len(self.log):
            common = self._cut(common)
        self.log[:common] = messages[:common]
        self.view.renew(self.log)
        self._append(list(messages[common:]))

    def _cut(self, length: int) -> int:
        """Forget the log from a message on, or from a little before it; return how much of it is left."""
        pieces = self._attached.cut(length)
        if self.policy.name == "agent":
            self._context = [*pieces, *self._context]
        length = min(self.view.cut(length), length)
        del self.log[length:]
        self._recollection.cut(length)
        self._acts.cut(length)
        self.folding.cut(length)
        self._writer.cut(length)
        for at, piece in self._attached:
            if at >= length:  # the message is shown anew, its context is the same
                self._writer.attach(at, [piece])
        return length

    def _append(self, messages: Sequence[Message]) -> None:
        counter = self._counter()
        for left, message in zip(range(len(messages) - 1, -1, -1), messages, strict=True):
            if not left and message.role == "user" and not message.answers:
                self._put_before(message, counter)
            self.log.append(message)
            self._writer.add(message)
            self._show(len(self.log) - 1)

    def _show(self, start: int) -> None:
        """Let the view show the log from a message on, with what is attached there."""
        size = self._counter().message
        for number in range(start, len(self.log)):
            message = self.log[number]
            shown = self._arrived(message) if self._tight else message
            kind: EntryKind = "as is" if shown is message else "compacted"
            self.view.append([*self._context_of(number), Entry(number, number + 1, shown, size(shown), kind)])

    def _put_before(self, message: Message, counter: Counter) -> None:
        """What stands before a new message of the user, and stays there: what it is about, and its context."""
        if self.recall_mode == "auto" and self._tight and self._acts:
            spare = self._limit() - self._head - self.view.tokens - 2 * counter.message(message)
            room = min(int(self.policy.recall * self._free()), spare // 2)
            text = self._recollection.quickly(message, room, self.view.whole(), counter.text)
            self.view.append([self._between(text, "recall")] if text else [])
        if self._context and self.policy.name == "agent":
            self._place_context(len(self.log))

    def _place_context(self, number: int) -> None:
        """What is attached now belongs to a message from here on."""
        self._attached.add(number, self._context)
        self._writer.attach(number, self._context)
        self._context = []

    def _context_of(self, number: int) -> list[Entry]:
        """What is attached to a message of the log, as it stands before it; other policies carry it elsewhere."""
        text = self._attached.text(number) if self.policy.name == "agent" else ""
        return [replace(self._between(text, "context"), start=number, end=number)] if text else []

    def _between(self, text: str, kind: EntryKind) -> Entry:
        message = wire.text_message(self._api, "user", text)
        return Entry(len(self.log), len(self.log), message, self._counter().message(message), kind)

    def _saved(self, message: Message) -> Message:
        """A message of a finished turn as it is saved: its results compacted, once, and the same from then on."""
        known = self._results.get(message.raw)
        if known is None:
            known = self._results.put(message.raw, self._arrived(message), len(message.raw))
        return known

    def _arrived(self, message: Message) -> Message:
        made = arrived(message, self._counter(), self.policy, self._free(), self._writer.keep)
        return unmarked(made) if made is not message and self._api == "anthropic" else made

    def _limit(self, conversation: Conversation | None = None) -> int:
        return limit_of(self.model, conversation or Conversation(self._api, ()), self.policy, self.budget, self.reserve)

    def _free(self) -> int:
        """What the limit leaves beside the instructions, which may be half of it."""
        return max(1, self._limit() - self._head)

    def _measure_head(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        size = self._counter().message
        instructions = sum(size(message) for message in messages[:4] if message.role == "system")
        self._head = self._counter().head(conversation) + instructions

    def _fitted(self, conversation: Conversation, request: Any) -> Fitted:
        work = Work(
            conversation=conversation,
            counter=self._counter(),
            model=self.model,
            policy=self.policy,
            limit=self._limit(conversation),
            own_limit=by_window(self.model, conversation, self.policy, self.budget, self.reserve),
            recall=self.recall_mode == "tool",
            summarize=self.folding.ready if self.folding.summarizer else None,
            context=tuple(self._context),
            carried=tuple(not_in(self._carried, self._context)),
        )
        again = bool(request) and self._last is not None and self._last == self._asks(work)
        try:
            outcome = self._as_before(work) if again else self._bring_under(work)
            self._begun = True
        except BudgetTooSmall as refusal:
            self._begun = True
            tell(self._on_event, refused(refusal))
            self._save()
            raise
        outcome.warnings[:0] = capped(work, self.budget)
        for event in events(work, outcome):
            tell(self._on_event, event)
        self._writer.hold(outcome.stash.values())
        if self.policy.name != "agent":  # there context is part of the view
            self._writer.hold(piece.text for piece in self._carried if piece not in work.carried)
            self._carried = [*work.carried, *self._context]
            self._place_context(max(0, len(self.log) - 1))
        self._save()
        sent = outcome.conversation if again else self._marked(work, outcome.conversation)
        self._sent, self._last = sent, self._asks(work) if request else None
        messages = self.log[:]
        return fitted(work, outcome, sent, self.view, messages, request, partial(self._at, request, work, messages))

    def _asks(self, work: Work) -> tuple[Any, ...]:
        """All that the form of a request depends on: one that is asked for again is sent again as it was."""
        given = work.conversation
        what = (given.messages, given.system, given.tools, given.fields, work.limit, work.model, work.policy)
        return (*what, self.recall_mode, self.view.messages())

    def _as_before(self, work: Work) -> Outcome:
        assert self._sent is not None
        sent = replace(work.conversation, system=self._sent.system, messages=self._sent.messages)
        return Outcome(sent, work.total(sent))

    def _marked(self, work: Work, sent: Conversation) -> Conversation:
        if not (self.breakpoints and self._tight and self._api == "anthropic"):
            return sent
        before = self._sent.messages if self._sent is not None else ()
        places = {self.view.settled - 1, ended(before, sent.messages), len(sent.messages) - 1}
        return with_breakpoints(work, sent, sorted(places), lost_marks(self.view, self.log))

    def _at(self, request: Any, work: Work, messages: Sequence[Message], budget: int) -> Fitted:
        """The same turn at another budget, planned without memory."""
        given = work.conversation
        beside = given.fields if given.beside else {}
        stood = given.messages[0] if given.lead else given.system
        now = max(0, len(messages) - 1)
        return fit(
            request or [message.value for message in messages],
            model=work.model,
            budget=budget,
            reserve=self.reserve,
            policy=work.policy,
            api=given.api,
            tools=_value(beside.get("tools")),
            tool_choice=_value(beside.get("tool_choice")),
            system=_value(stood.raw) if given.beside and stood is not None else None,
            context=work.context or self._attached.at(now),
            carried=work.carried or [piece for _, piece in self._attached.before(now)],
        )

    def _bring_under(self, work: Work) -> Outcome:
        if self.policy.name != "agent":
            outcome = plan_by_policy(work, self.log, self.view, self._saved)
            self._tight = self._tight or not self.view.untouched()
            self.replans += outcome.conversation.messages != self.view.messages() or bool(outcome.folded)
            return replace(outcome, conversation=replace(outcome.conversation, messages=self.view.messages()))
        size = work.size(work.counter.head(work.conversation) + self.view.tokens)
        high = work.limit - int((1 - self.policy.high) * (work.limit - work.size(self._head)))
        asked = self._asked()
        if asked and (self._tight or size > high):
            talked = self._talked(work)
            if talked is not None:
                return talked
        if size <= high:
            if asked and size > high * READ_FROM:
                self._recollection.read(len(self.log) - 1, READ_AT_ONCE)
                take_notes(self.log[-NOTED:])
            return Outcome(as_sent(work.conversation, self.view), size)
        outcome = Replan(work, self.log, self.view, self.folding.entries(self._between), self._context_of).run()
        self.replans += 1
        self._tight = True
        if self._api == "anthropic":
            self.view.entries = [bare(entry) for entry in self.view.entries]
        self._recall_after(work)
        sent = replace(outcome.conversation, messages=self.view.messages())
        return replace(outcome, conversation=sent, total=work.total(sent))

    def _asked(self) -> bool:
        """Whether this is a talk, and its last message a question for which evidence may be brought back."""
        return self.recall_mode == "auto" and not self._acts and bool(self.log) and self.log[-1].role == "user"

    def _talked(self, work: Work) -> Outcome | None:
        summary = self.folding.entries(self._between)
        talk = Talk(work, self.log, self.view, self._recollection, not self._begun, summary, self._context_of)
        outcome = talk.run()
        if outcome is not None:
            self._tight = True
            self.replans += talk.replans
            if not talk.replans:  # then there is time to read for the next one
                take_notes(self.log[-NOTED:])
        return outcome

    def _recall_after(self, work: Work) -> None:
        """Spend what a re-plan left on what the message that caused it is about."""
        spare = work.limit - work.size(work.counter.head(work.conversation) + self.view.tokens)
        room = min(spare // 2 - 8, max(int(self.policy.recall * self._free()), ENOUGH))  # the rest is for what comes
        text = self._recollection.after(self.view, room, work.counter.text) if self.recall_mode == "auto" else ""
        if text:
            *before, last = self.view.entries
            recalled = replace(self._between(text, "recall"), start=last.start, end=last.start)
            self.view.replace(len(before), [recalled, last], min(self.view.settled, len(before)))

    def _folded_messages(self) -> tuple[list[Message], int]:
        with self._lock:
            return self.view.folded_since(self.folding.upto, self.log)

    def _save(self) -> None:
        meta = {"model": self.model.name, "api": self._api, "budget": self.budget, "policy": self.policy.name}
        settings = self._settings()
        for _ in range(TRIES):
            if self._writer.commit(self.store, self.id, self.view, self._state(), meta, settings):
                return
            known = self.store.get_session(self.id)
            if known is not None and known.records > self._writer.records:
                self._part()
            else:
                self._write_again(known.records if known else 0)
        log.warning("session %s could not be written: the store refuses it", self.id)

    def _state(self) -> dict[str, Any]:
        return {
            "settled": self.view.settled,
            "tight": self._tight,
            "replans": self.replans,
            "carried": keeping.rows_of(self._carried),
            "summary": self.folding.text,
            "summarized": self.folding.upto,
            "pending": keeping.rows_of(self._context),
        }

    def _settings(self) -> dict[str, Any]:
        given = (self.reserve, self.recall_mode, self.breakpoints, self._system, self._tools)
        own = {} if self._follows else keeping.own_model(self.model)
        return own | keeping.settings_of(self.policy, dict(zip(keeping.DEFAULTS, given, strict=True)))

    @classmethod
    def load(cls, id: str, *, store: Store | str | Path, **settings: Any) -> Session:
        """The session of this id as it was left: the same log, the same view of it, and what it was made with.

        What is code has to be given again: `embed`, `summarizer`, `on_event`.
        """
        kept = keeping.opened(checks.store(store))
        found = kept.get_session(checks.session_id(id))
        if found is None:
            if kept.degraded is not None:
                raise NotFound(f"session {id!r} cannot be looked for: the store cannot be used ({kept.degraded})")
            raise NotFound(f"there is no session {id!r}: `sessions()` lists them")
        session = cls(id=id, store=kept, **{**keeping.remembered(kept, found), **settings})
        read = wire.APIS[session._api].messages.get
        stored = keeping.read_log(kept.records(id), read)
        session._context = keeping.attachments(session._restore(stored).pending)
        return session

    def _take(self, state: keeping.State) -> None:
        self._carried, self._context = keeping.attachments(state.carried), keeping.attachments(state.pending)
        self.folding.restore(state.summary, state.summarized)

    def _restore(self, stored: keeping.Log) -> keeping.State:
        """Be what the store holds."""
        read, size = wire.APIS[self._api].messages.get, self._counter().message
        common = common_length(self.log, stored.messages)
        self._recollection.cut(common)
        self._acts.cut(common)
        self.log[:] = stored.messages
        self._attached = Attached(stored.attached)
        self._begun = True
        state, view, written = keeping.restored(self.store, self.id, self.log, read, size)
        self.view, self._writer = view if view is not None else View(), Writer()
        self._tight, self.replans = state.tight, state.replans
        self._carried = keeping.attachments(state.carried)
        if view is None:
            self._show(0)
        self._writer.restored(stored, self.view, written)
        self.folding.restore(state.summary, state.summarized)
        return state

    def export(self) -> Iterator[str]:
        """The session as JSON lines: what it is, each message of its log after what is attached to it, its view."""
        head = {"id": self.id, "model": self.model.name, "api": self._api, "budget": self.budget}
        yield from keeping.exported(head, self._settings(), self.log, self._attached.at)
        if self._tight or self.folding.text or self._context or self._carried:
            yield keeping.shown_row(self.view, self._state(), self._originals())

    def _originals(self) -> list[str]:
        """What the handles in the view stand for, and those in that."""
        found: dict[str, str] = {}
        todo = self.view.handles()
        while todo:
            handle = todo.pop()
            blob = self.store.find_blob(handle, self.id) if handle not in found else None
            if blob is not None:
                found[handle] = blob.decode("utf-8", "surrogatepass")
                todo += HANDLE.findall(found[handle])
        return list(found.values())

    @classmethod
    def import_(cls, lines: Iterable[str] | Path, *, store: Store | str | Path | None = None) -> Session:
        """A session from what `export` wrote. Raises BadInput if the store has one of that id."""
        given, rows = keeping.read_export(checks.lines(lines))
        session = cls(**given, store=store)
        if session.store.get_session(session.id) is not None:
            raise BadInput("lines", f"the store has a session {session.id!r} already: delete it, or change the id")
        read = wire.APIS[session._api].messages.get
        messages: list[Message] = []
        shown = rows.pop() if rows and rows[-1].startswith(f'{{"{keeping.SHOWN}":') else ""
        for number, row in enumerate(rows, 2):
            piece, raw = keeping.imported(row, f"line {number}")
            if piece is not None:
                session._attached.add(len(messages), [piece])
                session._writer.attach(len(messages), [piece])
            else:
                messages.append(read(raw, f"line {number}"))
        session._append(messages)
        if shown:
            size = session._counter().message
            view, state, stash = keeping.read_shown(shown, f"line {len(rows) + 2}", session.log, read, size)
            session.view, session._tight, session.replans = view, state.tight, state.replans
            session._take(state)
            session._writer.hold(stash)
        session._begun = True
        session._save()
        return session


def _vocabulary(counter: Counter) -> tuple[str, str]:
    """What the size of a message depends on."""
    return counter.model.family, counter.framing.key


def _value(raw: bytes | None) -> Any:
    return None if raw is None else decode(raw)


def _instructed(conversation: Conversation) -> bool:
    """Whether a request says its own instructions."""
    return conversation.system is not None or any(message.role == "system" for message in conversation.messages[:1])


def sessions(store: Store | str | Path, limit: int = 50, query: str = "") -> list[SessionRecord]:
    """The last used sessions of a store, newest first."""
    return keeping.sessions(checks.store(store), checks.whole("limit", limit), checks.text("query", query))
