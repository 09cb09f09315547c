"""A conversation that grows and stays in its window: sticky decisions, rare compactions, nothing lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from brim import apis, incidents, models
from brim.apis.anthropic.cache_marks import MARK
from brim.conversation import Conversation, Message, decode
from brim.counting import kept_list
from brim.deadline import OutOfTime, nested, run_within
from brim.errors import BrimError, BudgetTooSmall, NotFound, UnknownModel
from brim.fallback import told
from brim.fitting import Event, Fitted, answerable, by_window, capped, events, fit, keeping, refused, tell
from brim.models import Model
from brim.models.caching import caching_of, kept_for
from brim.pins import is_marked, marked, matches
from brim.planning.attachments import Attachment, not_in
from brim.planning.plan import Plan
from brim.planning.request import PlanRequest
from brim.query import query as answered
from brim.sessions import session_codec, validation
from brim.sessions.answers import came_back, collected
from brim.sessions.attached import Attached
from brim.sessions.bypolicy import plan_by_policy
from brim.sessions.cache_breakpoints import bare, end_of, ended, lost_marks, with_breakpoints
from brim.sessions.cache_breaks import SentTurn, cache_break
from brim.sessions.checkpoint import Checkpoint
from brim.sessions.compaction import compact
from brim.sessions.held import Held
from brim.sessions.plainly import plan_plainly
from brim.sessions.sending import as_sent, fitted
from brim.sessions.view import Entry, View, common_length
from brim.stores.protocol import SessionRecord, Store
from brim.summaries.awaited import AwaitedSummaries, SummaryWanted, run_blocking

log = logging.getLogger("brim")
# A compaction for a message that asks for what is archived ends here, or at `compact_to` if that is more: what answers
# it is worth more than room for turns to come. Such messages are rare.
ASKED_TO = 0.9
# Where the provider's cache is cold, a compaction comes this far of the way from `compact_to` to `compact_at`. Cost of
# the tool chat of bench/memory_parts/chat.py with a pause after every 3rd, 5th, 8th turn, mean of three seeds, against
# no regard to pauses: .74, .89, .95 at .5, with the same mean fill (.74, .72, .73); at .75 the first stays 1.
COLD = 0.5
# What a fork has in common with the session that it leaves.
SHARED = (
    "reserve fit_timeout actuals recall_mode breakpoints compactions"
    " _api _told_api _follows _system _tools _on_event _clock _begun _tight _head _pins"
).split()


class Session(Held):
    """One conversation.

    `fit` takes the whole history each time, as most clients send it. `say`, `attach` and `record` are for those who
    let Brim hold it. May be used from several threads.

    Example: brim.Session(model="gpt-4o", budget=20_000).fit(messages).messages
    """

    def fit(self, request: Any, *, tools: Any = None, system: Any = None, tool_choice: Any = None) -> Fitted:
        """Return the request with its history fitted; what was sent before stays as it was sent.

        A list is of the session's `api`, if that was given, and goes with its instructions and tools; a body says its
        own. Raises BudgetTooSmall if what must stay cannot fit; the session stays usable.
        """
        request = kept_list(request)
        api = None
        if apis.is_bare(request):
            api, tools = self._told_api, self._tools if tools is None else tools
        beside = {"model": self.model, "tools": tools, "tool_choice": tool_choice}
        conversation = apis.parse(request, api, system=system, **beside)
        if system is None and self._system is not None and apis.is_bare(request) and not _instructed(conversation):
            conversation = apis.parse(request, conversation.api, system=self._system, **beside)
        if self._follows and conversation.model not in (self.model.name, self._unknown):
            self.switch_model(conversation.model)
        return self._with_summaries(lambda: self.fit_parsed(request, conversation, waits=True))

    def _with_summaries(self, turn: Callable[[], Fitted]) -> Fitted:
        """A turn, and the summaries that it waits for."""
        while True:
            try:
                return turn()
            except SummaryWanted as wanted:
                run_blocking(wanted.made)

    def switch_model(self, model: str | Model) -> None:
        """Go on with another model: its tokens count from now on, and its window holds. One that is unknown is not."""
        try:
            found = model if isinstance(model, Model) else models.find(model)
        except UnknownModel:
            log.warning("the model %r is not known: the session goes on with the limits of %s", model, self.model.name)
            self._unknown = model
            return
        with self._lock:
            self.model = found

    def fit_parsed(
        self, request: Any, conversation: Conversation, patterns: Sequence[str] = (), *, waits: bool = False
    ) -> Fitted:
        """`fit` for a request that was parsed already; messages that match one of the `patterns` are pinned.

        Where it `waits` for summaries, SummaryWanted asks the caller to make them and to come again.
        """
        pins = marked(request, conversation)
        if patterns:
            pins |= {message.digest for message in conversation.messages if matches(message, patterns)}
        with self._lock, incidents.collected() as self._incidents:
            self._begin_waiting(waits)
            self._pins |= keeping(self.policy, pins)
            self._api = conversation.api
            request, conversation = answerable(request, conversation, self.model, self._counter())
            try:
                return self._or_plainly(partial(self._follow_and_fit, request, conversation), conversation, request)
            except BudgetTooSmall:
                if self._attached.at(len(self.log) - 1):  # it was not sent: its context waits for what is sent instead
                    self._cut(len(self.log) - 1)
                    self._save_in_time()
                raise

    def _follow_and_fit(self, request: Any, conversation: Conversation) -> Fitted:
        self._check_store(conversation.messages, conversation)
        self._measure_head(conversation, conversation.messages)
        self._follow(conversation.messages)
        return self._fitted(conversation, request)

    def _or_plainly(self, turn: Callable[[], Fitted], given: Conversation, request: Any, said: Any = ()) -> Fitted:
        """A turn; one that raises or takes too long is undone, and the plain planner makes it.

        `said` is what Brim adds to the log that it holds itself.
        """
        before = Checkpoint(self)
        try:
            return run_within(self.fit_timeout, turn)
        except BrimError:
            raise
        except SummaryWanted:
            before.restore(self)
            raise
        except OutOfTime as problem:
            incidents.note("timeout", problem)
        except Exception as problem:
            incidents.note("planning", problem)
        before.restore(self)
        messages = (*self.log, *said) if said else given.messages
        return self._plainly(given, request, messages)

    def _plainly(self, conversation: Conversation, request: Any, messages: Sequence[Message]) -> Fitted:
        """A turn by sizes alone: nothing is ranked, compacted or recalled, and the store may fail."""
        common = common_length(self.log, messages)
        if common < len(self.log):
            pieces = self._attached.cut(common)
            self._context = [*pieces, *self._context] if self.policy.appends else self._context
            self.running_summary.cut(common)
            self._writer.cut(common)
        self.log[:] = messages
        self._derive()
        for message in self.log[common:]:
            self._writer.add(message)
        if self._context and self.policy.appends and common < len(self.log):
            self._place_context(len(self.log) - 1)
        size = self._counter().message
        entries = [
            entry
            for number, message in enumerate(self.log)
            for entry in (*self._context_of(number), Entry(number, number + 1, message, size(message)))
        ]
        work = self._work(conversation)
        self._begun = self._tight = True
        try:
            outcome = plan_plainly(work, entries, self.view)
        except BudgetTooSmall as found:
            self.view.replace(0, entries, 0)
            refusal = work.refusal(found)
            tell(self._on_event, refused(refusal))
            raise refusal from None
        self.compactions += 1
        return self._sends(work, outcome, as_sent(work.conversation, self.view), request, again=False)

    def say(self, message: Any) -> Fitted:
        """Add a message (a text is the user's) and return the request to send.

        Raises BudgetTooSmall if it cannot fit; then it was not said.
        """
        return self._with_summaries(partial(self._say_now, message))

    def _say_now(self, message: Any) -> Fitted:
        with self._lock:
            self._begin_waiting(True)
            value = apis.APIS[self._api].text_message("user", message) if isinstance(message, str) else message
            said = apis.APIS[self._api].messages.get(validation.encoded("message", value), f"message {len(self.log)}")
            pins = keeping(self.policy, frozenset([said.digest]) if is_marked(message) else frozenset())
            self._check_store(None)
            system = self._instructed()
            conversation = apis.parse([], self._api, model=self.model.name, tools=self._tools, system=system)
            self._measure_head(conversation, self.log)
            before, context, pinned = len(self.log), self._context, self._pins
            self._pins |= pins
            try:
                with incidents.collected() as self._incidents:
                    return self._or_plainly(partial(self._say, said, conversation), conversation, [], [said])
            except BaseException:
                self._cut(before)
                self._context, self._pins = context, pinned
                self._save_in_time()
                raise

    def _say(self, said: Message, conversation: Conversation) -> Fitted:
        self._append([said])
        return self._fitted(conversation, [])

    async def afit(self, request: Any, **beside: Any) -> Fitted:
        """`fit` in a thread, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.fit, request, **beside)

    async def asay(self, message: Any) -> Fitted:
        """`say` in a thread, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.say, message)

    async def arecord(self, response: Any) -> None:
        """`record` in a thread, so that an event loop goes on meanwhile; it reads an async stream too."""
        await asyncio.to_thread(self.record, await collected(response))

    def _instructed(self) -> Any:
        """The instructions for the body; where the API has no field for them, a first message says them once."""
        if self._system is None or apis.APIS[self._api].system_fields:
            return self._system
        value = self._first_message()
        self._append(
            [] if self.log else [apis.APIS[self._api].messages.get(validation.encoded("system", value), "system")]
        )
        return None

    def _first_message(self) -> Any:
        return self._system if isinstance(self._system, dict) else {"role": "system", "content": self._system}

    def attach(
        self, context: str | Attachment, *, source: str = "", type: str = "note", recoverable: bool = True
    ) -> None:
        """Attach context to the next message; after a compaction it is carried along in short."""
        if not isinstance(context, Attachment):
            context = Attachment(validation.text("context", context), source, type, recoverable)
        with self._lock:
            self._context = [*self._context, context]
            self._save()

    def record(self, response: Any) -> None:
        """Take what came back: the answer joins the conversation where Brim holds it, the usage teaches the counter.

        `response` is the response (a dict or an SDK object), the chunks of a stream or the stream itself, the text or
        the message of the answer, or its usage (that of a response, a `brim.apis.Usage`, a number of input tokens).
        Raises BadInput for anything else, and for a stream that ended in an error; then nothing is recorded.
        """
        answer = came_back(response, self._api)  # a stream is read outside the lock
        with self._lock:
            used, replies = answer
            self._append(replies)
            if used is not None and self._sent is not None:
                self._learn(self._sent, used)
            self._save()
        self.summarize_later()

    def _learn(self, sent: Conversation, used: int) -> None:
        try:
            self._counter().record(sent, used)
        except BrimError:
            raise
        except Exception as problem:  # what is not learnt costs accuracy, not the turn
            incidents.note("store", problem)

    def summarize_later(self) -> None:
        """After a response: have archived messages summarised beside everything else, if there is a summariser."""
        if self.policy.summarizes:
            self.running_summary.start(self._archived_messages, self._keep_summary)

    def fork(self, length: int, id: str | None = None) -> Session:
        """Another session with the first messages of this one, shown as they are here; both go on by themselves."""
        validation.whole("length", length)
        with self._lock:
            other = Session(model=self.model, budget=self.budget, policy=self.policy, store=self.store, id=id)
            other._embed = other._recollection.embed = self._embed
            for name in SHARED:
                setattr(other, name, getattr(self, name))
            other.running_summary = self.running_summary.fork(length)
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
        """Have archived messages summarised now; True if there is a summary that the next compaction will use."""
        return await self.running_summary.run(self._archived_messages(), self._keep_summary)

    def _keep_summary(self) -> None:
        with self._lock:
            self._save()

    def recall(self, handle: str) -> str:
        """The content behind a handle that stands in a fitted request."""
        digits = validation.text("handle", handle).strip().removeprefix("brim:")
        found = self.store.find_blob(digits, self.id)
        if found is None:
            with self._lock:  # what the store lost is written again
                self._check_store((), gone=True)
                self._save()
            found = self.store.find_blob(digits, self.id)
        if found is None:
            raise NotFound(f"nothing is kept under {handle!r} in this session: handles look like brim:3f2a9c01")
        return found.decode("utf-8", "surrogatepass")

    def query(self, handle: str, expression: str) -> str:
        """The answer of an expression about the content behind a handle: jq, JSONPath, /regex/, lines a-b, count by.

        Raises NotFound for the handle, BadInput for an expression that is wrong or takes too long.

        Example: session.query("brim:3f2a9c01", ".items[] | select(.state == \"failed\") | .id")
        """
        return answered(self.recall(handle), validation.text("expression", expression))

    def search(self, query: str, limit: int = 5) -> list[tuple[int, str]]:
        """Messages of the whole log, and attached context, that are about a query, best first, with their numbers.

        The number of context is that of the message that it was attached to.
        """
        validation.text("query", query), validation.whole("limit", limit)
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

    def _work(self, conversation: Conversation) -> PlanRequest:
        return PlanRequest(
            conversation=conversation,
            counter=self._counter(),
            model=self.model,
            policy=self.policy,
            limit=self._stated_limit(conversation),
            own_limit=by_window(self.model, conversation, self.policy, self.budget, self.reserve),
            recall=self.recall_mode == "tool",
            summarize=self._summary if self.running_summary.summarizer else None,
            context=tuple(self._context),
            carried=tuple(not_in(self._carried, self._context)),
            pins=self._pins,
        ).by_estimate()

    def _begin_waiting(self, waits: bool) -> None:
        """A plan is made now, which may be given up for summaries if it `waits` and the summariser says so."""
        running = self.running_summary
        if not (waits and running.waits and running.summarizer is not None):
            self._awaited = None
        elif self._awaited is None or self._awaited.summarizer is not running.summarizer:
            self._awaited = AwaitedSummaries(running.summarizer)
        if self._awaited is not None:
            self._awaited.begin()

    def _summary(self, messages: Sequence[Message], previous: str, tokens: int) -> str:
        """What a policy's summary says."""
        if self._awaited is not None:
            return self._awaited(messages, previous, tokens)
        known = set(map(id, self.log))  # a block of a message is no part of the log, and of no running summary
        return self.running_summary.ready(messages, tokens) if any(id(one) in known for one in messages) else ""

    def _give_up_for_summary(self) -> None:
        """After a compaction: let it wait for the summary of what it archived. Raises SummaryWanted."""
        if self._awaited is None or self._awaited.rounds or not self.policy.appends:
            return
        archived = self._archived_messages()
        if not self.running_summary.lacks(archived):
            return
        waiting = self._awaited

        async def made() -> None:
            waiting.rounds += 1
            await self.running_summary.run(archived)

        raise SummaryWanted(made)

    def _fitted(self, conversation: Conversation, request: Any) -> Fitted:
        work = self._work(conversation)
        again = bool(request) and self._last is not None and self._last == self._asks(work)
        try:
            outcome = self._as_before(work) if again else self._bring_under(work)
            self._begun = True
            if self._awaited is not None:
                self._awaited.end()
        except BudgetTooSmall as found:
            self._begun = True
            if self._awaited is not None:
                self._awaited.rounds = 0
            refusal = work.refusal(found)
            tell(self._on_event, refused(refusal))
            self._save()
            raise refusal from None
        sent = outcome.conversation if again else self._marked(work, outcome.conversation)
        return self._sends(work, outcome, sent, request, again=again)

    def _sends(self, work: PlanRequest, outcome: Plan, sent: Conversation, request: Any, *, again: bool) -> Fitted:
        """Take what was planned as sent: tell of it, and keep it."""
        if self._awaited is not None:
            self._awaited.rounds = 0
        known = list(self._incidents)
        outcome = replace(outcome, warnings=(*capped(work, self.budget), *outcome.warnings, *told(known)))
        for event in events(work, outcome):
            tell(self._on_event, event)
        self._writer.hold(outcome.originals().values())
        if not self.policy.appends:  # there context is part of the view
            self._writer.hold(piece.text for piece in self._carried if piece not in work.carried)
            self._carried = [*work.carried, *self._context]
            self._place_context(max(0, len(self.log) - 1))
        self._sent, self._last, self._end = sent, self._asks(work) if request else None, end_of(sent.messages)
        self._save_in_time()
        more = told(incident for incident in self._incidents if incident not in known)
        outcome = replace(outcome, warnings=(*outcome.warnings, *more)) if more else outcome
        messages = self.log[:]
        self._asked_at = self._clock() if self._clock is not None else 0.0
        turn = SentTurn(work.model, replace(work.conversation, messages=tuple(messages)), sent)
        broken = cache_break(self._before, turn, work.counter.message) if self._before is not None else None
        self._before = turn
        if broken is not None:
            tell(self._on_event, Event("cache", str(broken), {"tokens": broken.tokens, "byte": broken.byte}))
        at = partial(self._at, request, work, messages)
        return fitted(work, outcome, sent, self.view, messages, request, at, broken)

    def _save_in_time(self) -> None:
        """Save, after a turn that was given up too: then the store has a time of its own."""
        if nested():
            self._save()
            return
        try:
            run_within(self.fit_timeout, self._save)
        except OutOfTime as problem:
            incidents.note("store", problem)

    def _asks(self, work: PlanRequest) -> tuple[Any, ...]:
        """All that the form of a request depends on: one that is asked for again is sent again as it was."""
        given = work.conversation
        what = (given.messages, given.system, given.tools, given.fields, work.stated_limit, work.model, work.policy)
        return (*what, self.recall_mode, self.view.messages())

    def _as_before(self, work: PlanRequest) -> Plan:
        assert self._sent is not None
        sent = replace(work.conversation, system=self._sent.system, messages=self._sent.messages)
        return Plan(sent, work.total(sent))

    def _marked(self, work: PlanRequest, sent: Conversation) -> Conversation:
        if not (self.breakpoints and self._tight and apis.APIS[self._api].marks_cache):
            return sent
        places = {self.view.settled - 1, ended(self._end, sent.messages), len(sent.messages) - 1}
        return with_breakpoints(work, sent, sorted(places), lost_marks(self.view, self.log))

    def _at(self, request: Any, work: PlanRequest, messages: Sequence[Message], budget: int) -> Fitted:
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

    def _bring_under(self, work: PlanRequest) -> Plan:
        if not self.policy.appends:
            outcome = plan_by_policy(work, self.log, self.view, self._saved)
            self._tight = self._tight or not self.view.untouched()
            self.compactions += outcome.conversation.messages != self.view.messages() or bool(outcome.archived)
            return replace(outcome, conversation=replace(outcome.conversation, messages=self.view.messages()))
        size = work.size(work.counter.head(work.conversation) + self.view.tokens)
        at = self._compact_cold_at if self._is_cold(work) else self.policy.compact_at
        if size <= at * work.limit and not self._misses:
            return Plan(as_sent(work.conversation, self.view), size)
        to = ASKED_TO if self._asks_for_archived() else self.policy.compact_to
        outcome = compact(work, self.log, self.view, self.running_summary.entries(self._between), self._context_of, to)
        self._give_up_for_summary()
        self.compactions += 1
        self._misses = False
        self._tight = True
        if apis.APIS[self._api].marks_cache:
            self.view.entries = [bare(entry) for entry in self.view.entries]
        self._recall_after(work)
        sent = replace(outcome.conversation, messages=self.view.messages())
        return replace(outcome, conversation=sent, total=work.total(sent))

    @property
    def _compact_cold_at(self) -> float:
        return COLD * self.policy.compact_at + (1 - COLD) * self.policy.compact_to

    def _is_cold(self, work: PlanRequest) -> bool:
        """Whether what was sent last is no longer in the provider's cache: then a compaction costs nothing."""
        caching, given = caching_of(work.model), work.conversation
        idle = self._clock() - self._asked_at if self._clock is not None and self._asked_at else 0.0
        if idle <= caching.lasts:
            return False
        asked = [given.tools or b"", given.system.raw if given.system else b""]
        asked += [message.raw for message in self.log if MARK in message.raw]
        asked += [raw for name, raw in given.fields.items() if name == "prompt_cache_retention"]
        return idle > kept_for(caching, *asked)

    def _asks_for_archived(self) -> bool:
        """Whether a chat ends with a message that asks for what is archived, or what a first compaction archives."""
        last = self.log[-1]
        if self._tight or self.recall_mode != "auto" or last.role != "user" or last.answers or not self._is_chat():
            return self._misses
        room = left = int(self.policy.compact_to * self._free())
        shown: set[int] = set()
        for entry in reversed(self.view.entries):
            left -= entry.tokens
            if left < 0:
                break
            shown.update(range(entry.start, entry.end))
        return self._recollection.misses(last, len(self.log) - 1, room, shown)

    def _recall_after(self, work: PlanRequest) -> None:
        """Spend some of what a compaction left free on what the message that caused it is about."""
        spare = work.limit - work.size(work.counter.head(work.conversation) + self.view.tokens)
        room = min(spare // 2 - 8, int(self.policy.recall * work.limit))  # the rest is for what comes
        text = self._recollection.after(self.view, room, work.counter.text) if self.recall_mode == "auto" else ""
        if text:
            *before, last = self.view.entries
            recalled = replace(self._between(text, "recall"), start=last.start, end=last.start)
            self.view.replace(len(before), [recalled, last], min(self.view.settled, len(before)))

    def _archived_messages(self) -> tuple[list[Message], int]:
        with self._lock:
            return self.view.archived_since(self.running_summary.upto, self.log)


def _value(raw: bytes | None) -> Any:
    return None if raw is None else decode(raw)


def _instructed(conversation: Conversation) -> bool:
    """Whether a request says its own instructions."""
    return conversation.system is not None or any(message.role == "system" for message in conversation.messages[:1])


def list_sessions(store: Store | str | Path, limit: int = 50, query: str = "") -> list[SessionRecord]:
    """The last used sessions of a store, newest first."""
    return session_codec.sessions(
        validation.store(store), validation.whole("limit", limit), validation.text("query", query)
    )
