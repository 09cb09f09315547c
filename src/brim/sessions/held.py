"""The state of a session: its log, the view that is sent, and their storage."""

from __future__ import annotations

import logging
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from brim import apis, incidents, models
from brim.conversation import Conversation, Message
from brim.errors import BadInput, BrimError, NotFound
from brim.fallback import FIT_TIMEOUT
from brim.fitting import OnEvent, check_seconds, limit_of
from brim.incidents import Incident
from brim.models import Model
from brim.planning.attachments import Attachment
from brim.planning.policies.policy import Policy
from brim.relevance import Embedder
from brim.sessions import session_codec, validation
from brim.sessions.attached import Attached
from brim.sessions.auto_recall import GOOD, Recollection, names_something
from brim.sessions.cache_breakpoints import unmarked
from brim.sessions.cache_breaks import SentTurn
from brim.sessions.embeddings import Embeddings
from brim.sessions.incoming_results import arrived, with_words_alone
from brim.sessions.model_summaries import RunningSummary
from brim.sessions.turn_writer import Writer, originals
from brim.sessions.view import HANDLE, Entry, EntryKind, View, common_length
from brim.sized_lru import SizedLru
from brim.stores import log_records
from brim.stores.protocol import LoadedSession, SessionRecord, Store, Wanted
from brim.summaries.awaited import AwaitedSummaries, Summarizer
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

log = logging.getLogger("brim")
RECALLS = ("auto", "tool", "off")
# Attempts to write a turn that the store rejects because it lost or gained data.
TRIES = 3
SAVED_BYTES = 16 << 20  # bytes of saved results to remember


class Held:
    """A growing log, its view, and their place in a store. `Session` makes requests from it."""

    _awaited: AwaitedSummaries | None = None  # summaries that the current turn waits for

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
        self.id = validation.session_id(id or secrets.token_hex(16))
        self.model = models.model_of(model)
        self.policy = Policy.of(policy)
        self.budget = budget
        self.reserve = reserve
        self.fit_timeout = fit_timeout
        self._api = validation.api_name(api or self.model.api)
        self._stated_limit()  # rejects an invalid budget or reserve
        self.store: Store = session_codec.opened(validation.store(store))
        self.actuals = actuals or Actuals(self.store)
        self.recall_mode = recall
        self.breakpoints = breakpoints
        self.log: list[Message] = []
        self.view = View()
        self.compactions = 0
        self.running_summary = RunningSummary(validation.summarizer(summarizer))
        self._follows = not isinstance(model, Model)  # a model given by name yields to one named in a body
        self._unknown: object = None  # an unknown model name from a body
        self._told_api = api
        self._system, self._tools = system, tools
        self._context: list[Attachment] = []
        self._attached = Attached()
        self._carried: list[Attachment] = []
        self._pins: frozenset[bytes] = frozenset()  # digests of messages that stay verbatim
        self._on_event = validation.function("on_event", on_event)
        self._sent: Conversation | None = None
        self._clock = validation.function("clock", clock)
        self._asked_at = 0.0  # when the last request was made; 0 where that is not known
        self._before: SentTurn | None = None  # the request before, for what of it the provider's cache holds
        self._end = (0, "")  # where what was sent last ended
        self._last: tuple[Any, ...] | None = None  # what it was asked for
        self._begun = False  # whether it ever made a request
        self._tight = False
        self._misses = False  # whether the newest message asks for archived content
        self._head = 0
        self._owner = secrets.token_hex(8)
        self._writer = Writer(self.id, self._owner)
        self._fresh = False  # whether the store was just asked
        self._incidents: list[Incident] = []  # of the current turn
        self._embed = Embeddings(validation.function("embed", embed), self.store) if embed is not None else None
        self._derive()
        self._results: SizedLru[bytes, Message] = SizedLru(SAVED_BYTES)
        self._counted: Counter | None = None
        self._lock = threading.RLock()
        self._counter().text("Wörter …")  # load the tokenizer now rather than in the first turn

    def _derive(self) -> None:
        """Reset everything that is derived from the log."""
        me = weakref.proxy(self)  # a dropped session frees its memory immediately
        self._recollection = Recollection(self.log, lambda message: int(me._counter().message(message)), self._embed)

    def _counter(self) -> Counter:
        known = self._counted
        if known is None or known.model != self.model or known.api != self._api or known.actuals is not self.actuals:
            before = known
            known = self._counted = Counter(self.model, self._api, self.actuals)
            if before is not None and _vocabulary(before) != _vocabulary(known):
                self.view.measure(known.message)
                self._recollection.rest()
        return known

    def _check_store(
        self, messages: Sequence[Message] | None, conversation: Conversation | None = None, gone: bool = False
    ) -> None:
        """Check whether the store still has exactly what this session wrote.

        What another holder added is taken over where this one only goes on from it; else they part. `messages` is what
        a client sends, None if Brim holds the conversation.
        """
        if self._fresh:
            self._fresh = False
            return
        counter = self._counter()
        sizes = counter.wanted(conversation) if conversation is not None and self.store.remote else ()
        start, epoch = (0, None) if self._writer.unsure else (self._writer.records, self._writer.epoch)
        try:
            wanted = Wanted(self.id, start=start, epoch=epoch, sizes=sizes)
            self._compare_store(self.store.load(wanted), messages, gone)
        except BrimError:
            raise
        except Exception as problem:  # the turn continues with what is in memory
            incidents.note("store", problem)
        if self.store.remote:
            counter.refresh()

    def _compare_store(self, found: LoadedSession, messages: Sequence[Message] | None, gone: bool) -> None:
        known, writer = found.session, self._writer
        there, epoch = (known.records, known.epoch) if known else (0, writer.epoch)
        if self.store.degraded is not None:
            return
        if known is not None and writer.unsure:
            if not gone and not self._taken_over(found, messages):
                self._join(found, known)
            return
        if (there, epoch) == (writer.records, writer.epoch):
            return
        if known is None or there < writer.records:
            self._write_again(known)
        elif there == writer.records and writer.waits:
            writer.lease(known)
        elif not gone and not (known.meta.get("api", self._api) == self._api and self._taken_over(found, messages)):
            self._part()

    def _taken_over(self, found: LoadedSession, messages: Sequence[Message] | None) -> bool:
        """Continue from what another holder of this session wrote; False if that doesn't match this one."""
        assert found.session is not None
        stored = self._stored_log(found)
        here = self.log if messages is None else messages
        whole = len(self.log) if messages is None else len(stored.messages)
        last = stored.messages[-1] if stored.messages else None
        finished = last is None or (last.role == "assistant" and not last.calls) or len(stored.messages) == whole
        if common_length(stored.messages, here) < whole or (messages is None and not finished):
            return False
        self._restore(stored, found)
        return True

    def _stored_log(self, found: LoadedSession) -> log_records.Log:
        """The log in the store: what was loaded continues what this session wrote."""
        read, written = apis.APIS[self._api].messages.get, self._writer.records
        if self._writer.unsure:
            return log_records.read_log(found.records, read)
        if self._writer.waits or not written:
            records = self.store.records(self.id) if written else found.records
            return log_records.read_log(records, read)
        held = log_records.Log(list(self.log), list(self._attached), written)
        return log_records.read_log(found.records, read, held)

    def _part(self) -> None:
        """Continue as a separate session with everything this one holds."""
        name = f"{self.id}-{secrets.token_hex(4)}"
        log.warning("session %s was gone on with elsewhere: what is said here goes on as session %s", self.id, name)
        blobs = [self.store.find_blob(handle, self.id) for handle in self.view.handles()]
        self.id = name
        self._writer.again(self.log, self._attached, [blob for blob in blobs if blob is not None], None)

    def _write_again(self, known: SessionRecord | None) -> None:
        """Write everything again because the store lost it. Content that can no longer be recalled is planned anew."""
        log.warning("the store no longer holds all of session %s: it is written again", self.id)
        texts = [part.text for message in self.log for part in message.parts]
        blobs, lost = originals(self.view.handles(), [*texts, *(piece.text for _, piece in self._attached)])
        self._writer.again(self.log, self._attached, blobs, known)
        if lost:
            self.view, self._tight = View(), False
            self._show(0)

    def _follow(self, messages: tuple[Message, ...]) -> None:
        """Bring the log to what the client sent: append new messages, drop those edited away."""
        common = common_length(self.log, messages)
        if self._context and common == len(self.log) == len(messages) and self.policy.appends:
            common -= messages[-1].role == "user" and not messages[-1].answers  # it is sent again with its context
        if common < len(self.log):
            common = self._cut(common)
        self.log[:common] = messages[:common]
        self.view.renew(self.log)
        self._append(list(messages[common:]))

    def _cut(self, length: int) -> int:
        """Drop the log from a message on, or from slightly before it; returns the remaining length."""
        pieces = self._attached.cut(length)
        if self.policy.appends:
            self._context = [*pieces, *self._context]
        length = min(self.view.cut(length), length)
        del self.log[length:]
        self._recollection.cut(length)
        self.running_summary.cut(length)
        self._writer.cut(length)
        for at, piece in self._attached:
            if at >= length:  # the message is new, but its context is the same
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
        """Append the log to the view from a message on, with attached context."""
        size = self._counter().message
        for number in range(start, len(self.log)):
            message = self.log[number]
            self.view.append([*self._context_of(number), Entry(number, number + 1, message, size(message))])

    def _put_before(self, message: Message, counter: Counter) -> None:
        """Put a recall and the attached context before a new message of the user."""
        self._misses = False
        if self.recall_mode == "auto" and self._tight and self._is_chat():
            room = int(self.policy.compact_to * self._free())
            self._misses = self._recollection.misses(message, len(self.log), room, self.view.whole())
        if self.recall_mode == "auto" and self._tight and not self._misses:
            spare = self._limit() - self._head - self.view.tokens - 2 * counter.message(message)
            room = min(int(self.policy.recall * self._free()), spare // 2)
            shown = self.view.whole()
            lexical = self._embed is None or names_something(message.text)
            text = self._recollection.quickly(message, room, shown, counter.text) if lexical else ""
            if not text:
                text = self._recollection.thoroughly(message, len(self.log), room, shown, counter.text, GOOD)
            self.view.append([self._between(text, "recall")] if text else [])
        if self._context and self.policy.appends:
            self._place_context(len(self.log))

    def _is_chat(self) -> bool:
        """Whether no tools are used: then what answers a question may stand anywhere, and mostly not at the end."""
        return self.policy.appends and not any(message.calls or message.answers for message in self.log)

    def _place_context(self, number: int) -> None:
        """Attach the pending context to a message."""
        self._attached.add(number, self._context)
        self._writer.attach(number, self._context)
        self._context = []

    def _context_of(self, number: int) -> list[Entry]:
        """The context shown before a message of the log; other policies place it elsewhere."""
        text = self._attached.text(number) if self.policy.appends else ""
        return [replace(self._between(text, "context"), start=number, end=number)] if text else []

    def _between(self, text: str, kind: EntryKind) -> Entry:
        message = apis.text_message(self._api, "user", text)
        return Entry(len(self.log), len(self.log), message, self._counter().message(message), kind)

    def _saved(self, message: Message) -> Message:
        """A message of a finished turn as it is saved, once, and the same from then on.

        Its results are compacted, and of context that a user's message brought between tags a preview stays.
        """
        known = self._results.get(message.raw)
        if known is None:
            if message.answers:
                made = self._arrived(message)
            else:
                made = with_words_alone(message, self._api, self.policy.preview_chars, self._writer.keep)
            known = self._results.put(message.raw, made, len(message.raw))
        return known

    def _arrived(self, message: Message) -> Message:
        made = arrived(message, self._counter(), self._free(), self._writer.keep)
        return unmarked(made) if made is not message and apis.APIS[self._api].marks_cache else made

    def _stated_limit(self, conversation: Conversation | None = None) -> int:
        return limit_of(self.model, conversation or Conversation(self._api, ()), self.policy, self.budget, self.reserve)

    def _limit(self) -> int:
        """The limit in the tokens in which the view is counted."""
        counter, stated = self._counter(), self._stated_limit()
        return counter.within(stated) if counter.source == "estimated" else stated

    def _free(self) -> int:
        """The limit less the instructions, which may take half of it."""
        return max(1, self._limit() - self._head)

    def _measure_head(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        size = self._counter().message
        instructions = sum(size(message) for message in messages[:4] if message.role == "system")
        self._head = self._counter().head(conversation) + instructions

    def _save(self) -> None:
        """Write the turn. If the store fails, the turn still succeeds, and the next one writes what is missing."""
        try:
            self._write()
        except BrimError:
            raise
        except Exception as problem:
            incidents.note("store", problem)

    def _write(self) -> None:
        meta = {"model": self.model.name, "api": self._api, "budget": self.budget, "policy": self.policy.name}
        settings = self._settings()
        for _ in range(TRIES):
            if self._writer.commit(self.store, self.id, self.view, self._state(), meta, settings):
                return
            found = self.store.load(Wanted(self.id))
            known = found.session
            if known is None or (known.records < self._writer.records and not self._writer.unsure):
                self._write_again(known)
            elif known.records == self._writer.records and not self._writer.unsure:
                self._writer.lease(known)  # another holder wrote its own view of the same log meanwhile
            elif self._written_elsewhere(found, known):
                return
        log.warning("session %s could not be written: the store refuses it", self.id)

    def _written_elsewhere(self, found: LoadedSession, known: SessionRecord) -> bool:
        """Whether another holder wrote everything that is waiting here, as when a client sends a request to both.

        If it wrote the beginning, only the rest is left to write; if it wrote something else, the two part.
        """
        stored = log_records.read_log(found.records, apis.APIS[self._api].messages.get)
        if common_length(stored.messages, self.log) == len(self.log):
            self._restore(stored, found)
            return True
        self._join(found, known)
        return False

    def _join(self, found: LoadedSession, known: SessionRecord) -> None:
        """Go on behind the whole log of the store where it is the beginning of this one; else the two part."""
        stored = log_records.read_log(found.records, apis.APIS[self._api].messages.get)
        common = common_length(stored.messages, self.log)
        if common == len(stored.messages):
            self._writer.beyond(known, self.log[common:], [placed for placed in self._attached if placed[0] >= common])
        else:
            self._part()

    def _state(self) -> dict[str, Any]:
        return {
            "settled": self.view.settled,
            "tight": self._tight,
            "compactions": self.compactions,
            "carried": log_records.rows_of(self._carried),
            "summary": self.running_summary.text,
            "summarized": self.running_summary.upto,
            "pending": log_records.rows_of(self._context),
            "end": self._end,
            "at": self._asked_at,
            "pins": sorted(digest.hex() for digest in self._pins),
        }

    def _settings(self) -> dict[str, Any]:
        given = (self.reserve, self.recall_mode, self.breakpoints, self._system, self._tools)
        own = {} if self._follows else session_codec.own_model(self.model)
        return own | session_codec.settings_of(self.policy, dict(zip(session_codec.DEFAULTS, given, strict=True)))

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
        blob = _blobs_of(found, store, {})
        made = session_codec.remembered(found.session, found.state, blob)
        session = cls(id=found.session.id, store=store, **{**made, **settings})
        stored = log_records.read_log(found.records, apis.APIS[session._api].messages.get)
        session._context = session_codec.attachments(session._restore(stored, found).pending)
        return session

    def _take(self, state: session_codec.State) -> None:
        self._tight, self.compactions, self._end = state.tight, state.compactions, state.end
        self._carried, self._context = (
            session_codec.attachments(state.carried),
            session_codec.attachments(state.pending),
        )
        self._pins = frozenset(map(bytes.fromhex, state.pins))
        self.running_summary.restore(state.summary, state.summarized)

    def _restore(self, stored: log_records.Log, found: LoadedSession) -> session_codec.State:
        """Restore the stored state."""
        read, size = apis.APIS[self._api].messages.get, self._counter().message
        common = common_length(self.log, stored.messages)
        self._recollection.cut(common)
        blob = _blobs_of(found, self.store, self._writer.shown)
        self.log[:] = stored.messages
        self._attached = Attached(stored.attached)
        self._begun = True
        state, view, written = session_codec.restored(found.state, blob, self.log, read, size)
        self.view, self._writer = view if view is not None else View(), Writer(self.id, self._owner)
        self._tight, self.compactions, self._end = state.tight, state.compactions, state.end
        self._carried = session_codec.attachments(state.carried)
        self._pins, self._asked_at = frozenset(map(bytes.fromhex, state.pins)), state.at
        if view is None:
            self._show(0)
        self._writer.restored(stored, self.view, written, found.session)
        self.running_summary.restore(state.summary, state.summarized)
        return state

    def export(self) -> Iterator[str]:
        """The session as JSON lines: what it is, each message of its log after what is attached to it, its view."""
        head = {"id": self.id, "model": self.model.name, "api": self._api, "budget": self.budget}
        yield from session_codec.exported(head, self._settings(), self.log, self._attached.at)
        if self._tight or self.running_summary.text or self._context or self._carried or self._pins:
            yield session_codec.shown_row(self.view, self._state() | {"at": 0.0}, self._originals())

    def _originals(self) -> list[str]:
        """The content behind the handles in the view, and behind handles in that content."""
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
    def import_(cls, lines: Iterable[str] | Path, *, store: Store | str | Path | None = None) -> Self:
        """A session from what `export` wrote. Raises BadInput if the store has one of that id."""
        given, rows = session_codec.read_export(validation.lines(lines))
        session = cls(**given, store=store)
        if session.store.get_session(session.id) is not None:
            raise BadInput("lines", f"the store has a session {session.id!r} already: delete it, or change the id")
        read = apis.APIS[session._api].messages.get
        messages: list[Message] = []
        shown = rows.pop() if rows and rows[-1].startswith(f'{{"{session_codec.SHOWN}":') else ""
        for number, row in enumerate(rows, 2):
            piece, raw = session_codec.imported(row, f"line {number}")
            if piece is not None:
                session._attached.add(len(messages), [piece])
                session._writer.attach(len(messages), [piece])
            else:
                messages.append(read(raw, f"line {number}"))
        session._append(messages)
        if shown:
            size = session._counter().message
            view, state, archive = session_codec.read_shown(shown, f"line {len(rows) + 2}", session.log, read, size)
            session.view = view
            session._take(state)
            session._writer.hold(archive)
        session._begun = True
        session._save()
        return session


def _blobs_of(found: LoadedSession, store: Store, held: Mapping[bytes, bytes]) -> Callable[[bytes], bytes | None]:
    """The blobs of a loaded session: from memory first, then from the store."""
    assert found.session is not None
    id = found.session.id

    def blob(digest: bytes) -> bytes | None:
        known = found.blobs.get(digest) or held.get(digest)
        return known if known is not None else store.get_blob(digest, id)

    return blob


def _vocabulary(counter: Counter) -> tuple[str, str]:
    """What message sizes depend on."""
    return counter.model.family, counter.framing.key
