"""A conversation that grows and stays in its window: sticky decisions, rare compactions, nothing lost."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self, Unpack

from brim import apis, incidents, models
from brim.conversation import Conversation, Message
from brim.errors import BadInput, BrimError, BudgetTooSmall, NotFound, UnknownModel
from brim.fallback import FIT_TIMEOUT
from brim.fitting import (
    Fitted,
    OnEvent,
    answerable,
    check_seconds,
    keeping,
    limit_of,
)
from brim.framework_messages import repeatable
from brim.models import Model
from brim.pins import is_marked, marked, matches
from brim.planning.attachments import Attachment
from brim.planning.policies.policy import Policy
from brim.query import query as answered
from brim.relevance import Embedder
from brim.sessions import session_codec, validation
from brim.sessions.answers import came_back, collected
from brim.sessions.embeddings import Embeddings
from brim.sessions.history import SessionHistory
from brim.sessions.model_summaries import RunningSummary
from brim.sessions.state import SessionSettings, SettingsChanges
from brim.sessions.storage import Storage, blobs_of
from brim.sessions.turn import SessionTurn
from brim.sessions.turn_writer import Writer
from brim.sessions.view import View
from brim.stores.protocol import LoadedSession, SessionRecord, Store, Wanted
from brim.summaries.awaited import Summarizer, SummaryWanted, run_blocking
from brim.tokens.actuals import Actuals

log = logging.getLogger("brim")
RECALLS = ("auto", "tool", "off")


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
        clock: Callable[[], float] | None = time.time,
        fit_timeout: float | None = FIT_TIMEOUT,
    ) -> None:
        check_seconds("fit_timeout", fit_timeout)
        if recall not in RECALLS:
            raise BadInput("recall", f"{recall!r} is not one of {', '.join(RECALLS)}")
        name = validation.session_id(id or secrets.token_hex(16))
        found, chosen = models.model_of(model), Policy.of(policy)
        kept = validation.api_name(api or found.api)
        limit_of(found, Conversation(kept, ()), chosen, budget, reserve)  # rejects an invalid budget or reserve
        opened = session_codec.opened(validation.store(store))
        settings = SessionSettings(
            model=found,
            api=kept,
            policy=chosen,
            actuals=actuals or Actuals(opened),
            budget=budget,
            reserve=reserve,
            recall=recall,
            breakpoints=breakpoints,
            system=system,
            tools=tools,
            stated_api=api,
            follows=not isinstance(model, Model),
            fit_timeout=fit_timeout,
            on_event=validation.function("on_event", on_event),
            clock=validation.function("clock", clock),
        )
        summary = RunningSummary(validation.summarizer(summarizer))
        vectors = Embeddings(validation.function("embed", embed), opened) if embed is not None else None
        self._begin(settings, opened, name, summary, vectors)

    def _begin(
        self, settings: SessionSettings, store: Store, id: str, summary: RunningSummary, embed: Embedder | None
    ) -> None:
        self.history = SessionHistory(settings, Writer(id, secrets.token_hex(8)), summary, embed)
        self.history.counter.text("Wörter …")  # load the tokenizer now rather than in the first turn
        self.storage = Storage(store, id, self.history)
        self._unknown: object = None  # an unknown model name from a body
        self._opened: tuple[SessionSettings | None, Conversation] = None, Conversation(settings.api, ())
        self._lock = threading.RLock()

    @property
    def id(self) -> str:
        return self.storage.id

    @property
    def store(self) -> Store:
        return self.storage.store

    @property
    def settings(self) -> SessionSettings:
        return self.history.settings

    @property
    def model(self) -> Model:
        return self.history.settings.model

    @property
    def log(self) -> list[Message]:
        """Every message of the conversation."""
        return self.history.log

    @property
    def view(self) -> View:
        """The log as it is sent."""
        return self.history.view

    @property
    def compactions(self) -> int:
        return self.history.state.compactions

    @property
    def running_summary(self) -> RunningSummary:
        return self.history.running_summary

    def configure(self, **settings: Unpack[SettingsChanges]) -> None:
        """Go on with other settings, such as another `model`, `budget` or `policy`."""
        with self._lock:
            if any(getattr(self.settings, name) is not given for name, given in settings.items()):
                self.history.configure(replace(self.settings, **settings))

    def fit(self, request: Any, *, tools: Any = None, system: Any = None, tool_choice: Any = None) -> Fitted:
        """Return the request with its history fitted; what was sent before stays as it was sent.

        A list is of the session's `api`, if that was given, and goes with its instructions and tools; a body says its
        own. Raises BudgetTooSmall if what must stay cannot fit; the session stays usable.
        """
        request, settings, api = repeatable(request), self.settings, None
        if apis.is_bare(request):
            api, tools = settings.stated_api, settings.tools if tools is None else tools
        beside = {"model": settings.model, "tools": tools, "tool_choice": tool_choice}
        conversation = apis.parse(request, api, system=system, **beside)
        if system is None and settings.system is not None and apis.is_bare(request) and not _instructed(conversation):
            conversation = apis.parse(request, conversation.api, system=settings.system, **beside)
        if settings.follows and conversation.model not in (settings.model.name, self._unknown):
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
            self.configure(model=model if isinstance(model, Model) else models.find(model))
        except UnknownModel:
            log.warning("the model %r is not known: the session goes on with the limits of %s", model, self.model.name)
            self._unknown = model

    def fit_parsed(
        self,
        request: Any,
        conversation: Conversation,
        patterns: Sequence[str] = (),
        *,
        waits: bool = False,
        saves: bool = True,
    ) -> Fitted:
        """`fit` for a request that was parsed already; messages that match one of the `patterns` are pinned.

        Where it `waits` for summaries, SummaryWanted asks the caller to make them and to come again. Unless it `saves`,
        the caller calls `save_turn` when the request is on its way.
        """
        pins = marked(request, conversation)
        if patterns:
            pins |= {message.digest for message in conversation.messages if matches(message, patterns)}
        with self._lock, incidents.collected() as noted:
            history = self.history
            history.running_summary.begin(waits)
            if pins:
                history.note(pins=history.state.pins | keeping(self.settings.policy, pins))
            self.configure(api=conversation.api)
            request, conversation = answerable(request, conversation, self.model, history.counter)
            try:
                made = SessionTurn(history, self.storage, conversation, request, noted, saves=saves)
                return made.made(partial(self._follow, conversation), lambda: conversation.messages)
            except BudgetTooSmall:
                if history.attached.at(len(self.log) - 1):  # its context waits for what is sent instead
                    history.cut(len(self.log) - 1)
                    self.storage.save_in_time(self.settings.fit_timeout)
                raise

    def save_turn(self) -> None:
        """Write a turn that was fitted without being saved."""
        with self._lock:
            self.storage.save_in_time(self.settings.fit_timeout)

    def _follow(self, conversation: Conversation) -> None:
        self.storage.check(conversation.messages, conversation)
        self.history.measure_head(conversation, conversation.messages)
        self.history.follow(conversation.messages)

    def say(self, message: Any) -> Fitted:
        """Add a message (a text is the user's) and return the request to send.

        Raises BudgetTooSmall if it cannot fit; then it was not said.
        """
        return self._with_summaries(partial(self._say_now, message))

    def _say_now(self, message: Any) -> Fitted:
        with self._lock:
            history, api = self.history, apis.APIS[self.settings.api]
            history.running_summary.begin(True)
            value = api.text_message("user", message) if isinstance(message, str) else message
            said = api.messages.get(validation.encoded("message", value), f"message {len(self.log)}")
            marks = type(message) is not str and is_marked(message)
            pins = keeping(self.settings.policy, frozenset([said.digest] if marks else []))
            self.storage.check(None)
            conversation = self._conversation()
            history.measure_head(conversation, self.log)
            before, state = len(self.log), history.state
            if pins:
                history.note(pins=state.pins | pins)
            try:
                with incidents.collected() as noted:
                    made = SessionTurn(history, self.storage, conversation, [], noted)
                    return made.made(partial(history.append, [said]), lambda: (*self.log, said))
            except BaseException:
                history.cut(before)
                history.note(context=state.context, pins=state.pins)
                self.storage.save_in_time(self.settings.fit_timeout)
                raise

    async def afit(self, request: Any, **beside: Any) -> Fitted:
        """`fit` in a thread, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.fit, request, **beside)

    async def asay(self, message: Any) -> Fitted:
        """`say` in a thread, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.say, message)

    async def arecord(self, response: Any) -> None:
        """`record` in a thread, so that an event loop goes on meanwhile; it reads an async stream too."""
        await asyncio.to_thread(self.record, await collected(response))

    def _conversation(self) -> Conversation:
        """Instructions and tools as a request without messages; where the API has no field for instructions, a first
        message says them once."""
        settings = self.settings
        spec, system = apis.APIS[settings.api], settings.system
        if system is not None and not spec.system_fields:
            if not self.log:
                value = system if isinstance(system, dict) else {"role": "system", "content": system}
                self.history.append([spec.messages.get(validation.encoded("system", value), "system")])
            system = None
        if self._opened[0] is not settings:
            made = apis.parse([], settings.api, model=settings.model.name, tools=settings.tools, system=system)
            self._opened = settings, made
        return self._opened[1]

    def attach(
        self, context: str | Attachment, *, source: str = "", type: str = "note", recoverable: bool = True
    ) -> None:
        """Attach context to the next message; after a compaction it is carried along in short."""
        if not isinstance(context, Attachment):
            context = Attachment(validation.text("context", context), source, type, recoverable)
        with self._lock:
            self.history.note(context=(*self.history.state.context, context))
            self.storage.save()

    def record(self, response: Any) -> None:
        """Take what came back: the answer joins the conversation where Brim holds it, the usage teaches the counter.

        `response` is the response (a dict or an SDK object), the chunks of a stream or the stream itself, the text or
        the message of the answer, or its usage (that of a response, a `brim.apis.Usage`, a number of input tokens).
        Raises BadInput for anything else, and for a stream that ended in an error; then nothing is recorded.
        """
        used, replies = came_back(response, self.settings.api)  # a stream is read outside the lock
        with self._lock:
            self.history.append(replies)
            before = self.history.state.before
            if used is not None and before is not None:
                self._learn(before.sent, used)
            self.storage.save()
        self.summarize_later()

    def _learn(self, sent: Conversation, used: int) -> None:
        try:
            self.history.counter.record(sent, used)
        except BrimError:
            raise
        except Exception as problem:  # what is not learnt costs accuracy, not the turn
            incidents.note("store", problem)

    def summarize_later(self) -> None:
        """After a response: have archived messages summarised beside everything else, if there is a summariser."""
        if self.settings.policy.summarizes:
            self.running_summary.start(self._archived_messages, self._keep_summary)

    async def summarize(self) -> bool:
        """Have archived messages summarised now; True if there is a summary that the next compaction will use."""
        return await self.running_summary.run(self._archived_messages(), self._keep_summary)

    def _archived_messages(self) -> tuple[list[Message], int]:
        with self._lock:
            return self.history.archived_messages()

    def _keep_summary(self) -> None:
        with self._lock:
            self.storage.save()

    def fork(self, length: int, id: str | None = None) -> Session:
        """Another session with the first messages of this one, shown as they are here; both go on by themselves."""
        validation.whole("length", length)
        name = validation.session_id(id or secrets.token_hex(16))
        with self._lock:
            other, summary = Session.__new__(Session), self.running_summary.fork(length)
            other._begin(self.settings, self.store, name, summary, self.history.embed)
            other.history.branch(self.history, length, self.storage.blobs)
            other.storage.save()
            return other

    def recall(self, handle: str) -> str:
        """The content behind a handle that stands in a fitted request."""
        digits = validation.text("handle", handle).strip().removeprefix("brim:")
        found = self.storage.find(digits)
        if found is None:
            with self._lock:  # what the store lost is written again
                self.storage.check((), gone=True)
                self.storage.save()
            found = self.storage.find(digits)
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
            said = [(number, self.log[number].text) for number in self.history.recollection.search(query, limit)]
            context = self.history.attached.search(query, limit)
            both = [found for pair in zip_longest(said, context) for found in pair if found is not None]
            return both[:limit]

    def rest(self) -> None:
        """Let go of the search index, most of a session's memory, until it is asked; not while the session is used."""
        if self._lock.acquire(blocking=False):
            self.history.recollection.rest()
            self._lock.release()

    @classmethod
    def load(cls, id: str, *, store: Store | str | Path, **settings: Any) -> Self:
        """The session of this id as it was left: the same log, the same view of it, and what it was made with.

        Functions have to be given again: `embed`, `summarizer`, `on_event`.
        """
        kept = session_codec.opened(validation.store(store))
        found = kept.load(Wanted(validation.session_id(id)))
        if found.session is None:
            if kept.degraded is not None:
                raise NotFound(f"session {id!r} cannot be looked for: the store cannot be used ({kept.degraded})")
            raise NotFound(f"there is no session {id!r}: `list_sessions()` lists them")
        return cls.loaded(found, kept, **settings)

    @classmethod
    def loaded(cls, found: LoadedSession, store: Store, **settings: Any) -> Self:
        """A session from its stored data."""
        assert found.session is not None
        made = session_codec.remembered(found.session, found.state, blobs_of(found, store, {}))
        session = cls(id=found.session.id, store=store, **{**made, **settings})
        session.storage.begin(found)
        return session

    def export(self) -> Iterator[str]:
        """The session as JSON lines: what it is, each message of its log after what is attached to it, its view."""
        return self.storage.export()

    @classmethod
    def import_(cls, lines: Iterable[str] | Path, *, store: Store | str | Path | None = None) -> Self:
        """A session from what `export` wrote. Raises BadInput if the store has one of that id."""
        given, rows = session_codec.read_export(validation.lines(lines))
        session = cls(**given, store=store)
        if session.store.get_session(session.id) is not None:
            raise BadInput("lines", f"the store has a session {session.id!r} already: delete it, or change the id")
        session.storage.read_export(rows)
        session.storage.save()
        return session


def _instructed(conversation: Conversation) -> bool:
    """Whether a request says its own instructions."""
    return conversation.system is not None or any(message.role == "system" for message in conversation.messages[:1])


def list_sessions(store: Store | str | Path, limit: int = 50, query: str = "") -> list[SessionRecord]:
    """The last used sessions of a store, newest first."""
    return session_codec.sessions(
        validation.store(store), validation.whole("limit", limit), validation.text("query", query)
    )
