"""Where a session is kept: its turns are written, what others wrote is taken over, and both are read back."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim import apis, incidents
from brim.conversation import Conversation, Message
from brim.deadline import OutOfTime, nested, run_within
from brim.errors import BrimError
from brim.sessions import session_codec
from brim.sessions.attached import Attached
from brim.sessions.history import SessionHistory
from brim.sessions.state import SessionSettings
from brim.sessions.turn_writer import Writer, originals
from brim.sessions.view import HANDLE, View, common_length
from brim.stores import log_records
from brim.stores.protocol import LoadedSession, SessionRecord, Store, Wanted

log = logging.getLogger("brim")
# Attempts to write a turn that the store rejects because it lost or gained data.
TRIES = 3


class Storage:
    """A session's place in a store.

    A store that fails is noted, and the turn succeeds; the next turn writes what is missing.
    """

    def __init__(self, store: Store, id: str, history: SessionHistory) -> None:
        self.store = store
        self.id = id
        self.fresh = False  # whether the store was just asked
        self._history = history
        self._encoded: tuple[SessionSettings | None, bytes] = None, b""

    @property
    def _read(self) -> Callable[[bytes, str], Message]:
        return apis.APIS[self._history.settings.api].messages.get

    def check(
        self, messages: Sequence[Message] | None, conversation: Conversation | None = None, gone: bool = False
    ) -> None:
        """Check whether the store still has exactly what this session wrote.

        What another holder added is taken over where this one only goes on from it; else they part. `messages` is what
        a client sends, None if Brim holds the conversation.
        """
        if self.fresh:
            self.fresh = False
            return
        counter, writer = self._history.counter, self._history.writer
        sizes = counter.wanted(conversation) if conversation is not None and self.store.remote else ()
        start, epoch = (0, None) if writer.unsure else (writer.records, writer.epoch)
        try:
            wanted = Wanted(self.id, start=start, epoch=epoch, sizes=sizes)
            self._compare(self.store.load(wanted), messages, gone)
        except BrimError:
            raise
        except Exception as problem:  # the turn continues with what is in memory
            incidents.note("store", problem)
        if self.store.remote:
            counter.refresh()

    def _compare(self, found: LoadedSession, messages: Sequence[Message] | None, gone: bool) -> None:
        known, writer = found.session, self._history.writer
        there, epoch = (known.records, known.epoch) if known else (0, writer.epoch)
        if self.store.degraded is not None:
            return
        if known is not None and writer.unsure:
            if not gone and not self._taken_over(found, messages):
                self._join(found, known)
            return
        if (there, epoch) == (writer.records, writer.epoch):
            return
        api = self._history.settings.api
        if known is None or there < writer.records:
            self._write_again(known)
        elif there == writer.records and writer.waits:
            writer.lease(known)
        elif not gone and not (known.meta.get("api", api) == api and self._taken_over(found, messages)):
            self._part()

    def _taken_over(self, found: LoadedSession, messages: Sequence[Message] | None) -> bool:
        """Continue from what another holder of this session wrote; False if that doesn't match this one."""
        stored, log = self._stored_log(found), self._history.log
        here = log if messages is None else messages
        whole = len(log) if messages is None else len(stored.messages)
        last = stored.messages[-1] if stored.messages else None
        finished = last is None or (last.role == "assistant" and not last.calls) or len(stored.messages) == whole
        if common_length(stored.messages, here) < whole or (messages is None and not finished):
            return False
        self._restore(stored, found)
        return True

    def _stored_log(self, found: LoadedSession) -> log_records.Log:
        """The log in the store: what was loaded continues what this session wrote."""
        history = self._history
        written = history.writer.records
        if history.writer.unsure:
            return log_records.read_log(found.records, self._read)
        if history.writer.waits or not written:
            records = self.store.records(self.id) if written else found.records
            return log_records.read_log(records, self._read)
        held = log_records.Log(list(history.log), list(history.attached.pieces), written)
        return log_records.read_log(found.records, self._read, held)

    def _part(self) -> None:
        """Continue as a separate session with everything this one holds."""
        name, history = f"{self.id}-{secrets.token_hex(4)}", self._history
        log.warning("session %s was gone on with elsewhere: what is said here goes on as session %s", self.id, name)
        blobs = self.blobs(history.view.handles())
        self.id = name
        history.writer.again(history.log, history.attached.pieces, blobs, None)

    def _write_again(self, known: SessionRecord | None) -> None:
        """Write everything again because the store lost it. Content that can no longer be recalled is planned anew."""
        log.warning("the store no longer holds all of session %s: it is written again", self.id)
        history = self._history
        texts = [part.text for message in history.log for part in message.parts]
        blobs, lost = originals(history.view.handles(), [*texts, *(piece.text for _, piece in history.attached.pieces)])
        history.writer.again(history.log, history.attached.pieces, blobs, known)
        if lost:
            history.view = View()
            history.note(tight=False)
            history.show(0)

    def save(self) -> None:
        """Write the turn."""
        try:
            self._write()
        except BrimError:
            raise
        except Exception as problem:
            incidents.note("store", problem)

    def save_in_time(self, seconds: float | None) -> None:
        """Write the turn, after one that was given up too: then the store has a time of its own."""
        if nested():
            self.save()
            return
        try:
            run_within(seconds, self.save)
        except OutOfTime as problem:
            incidents.note("store", problem)

    def _write(self) -> None:
        history, settings = self._history, self._history.settings
        meta = {
            "model": settings.model.name,
            "api": settings.api,
            "budget": settings.budget,
            "policy": settings.policy.name,
        }
        for _ in range(TRIES):
            if history.writer.commit(self.store, self.id, history.view, self.state(), meta, self._settings()):
                return
            found = self.store.load(Wanted(self.id))
            known = found.session
            if known is None or (known.records < history.writer.records and not history.writer.unsure):
                self._write_again(known)
            elif known.records == history.writer.records and not history.writer.unsure:
                history.writer.lease(known)  # another holder wrote its own view of the same log meanwhile
            elif self._written_elsewhere(found, known):
                return
        log.warning("session %s could not be written: the store refuses it", self.id)

    def _settings(self) -> bytes:
        """What the session was made with, as it is written."""
        settings = self._history.settings
        if self._encoded[0] is not settings:
            self._encoded = settings, session_codec.encoded_settings(settings)
        return self._encoded[1]

    def _written_elsewhere(self, found: LoadedSession, known: SessionRecord) -> bool:
        """Whether another holder wrote everything that is waiting here, as when a client sends a request to both.

        If it wrote the beginning, only the rest is left to write; if it wrote something else, the two part.
        """
        stored, log = log_records.read_log(found.records, self._read), self._history.log
        if common_length(stored.messages, log) == len(log):
            self._restore(stored, found)
            return True
        self._join(found, known)
        return False

    def _join(self, found: LoadedSession, known: SessionRecord) -> None:
        """Go on behind the whole log of the store where it is the beginning of this one; else the two part."""
        stored, history = log_records.read_log(found.records, self._read), self._history
        common = common_length(stored.messages, history.log)
        if common == len(stored.messages):
            attached = [placed for placed in history.attached.pieces if placed[0] >= common]
            history.writer.beyond(known, history.log[common:], attached)
        else:
            self._part()

    def state(self) -> dict[str, Any]:
        """The state as it is written, without the entries of the view."""
        history, state = self._history, self._history.state
        return {
            "settled": history.view.settled,
            "tight": state.tight,
            "compactions": state.compactions,
            "carried": log_records.rows_of(state.carried),
            "summary": history.running_summary.text,
            "summarized": history.running_summary.upto,
            "pending": log_records.rows_of(state.context),
            "end": state.end,
            "at": state.asked_at,
            "pins": sorted(digest.hex() for digest in state.pins),
        }

    def begin(self, found: LoadedSession) -> None:
        """Begin as the session that was loaded."""
        stored = log_records.read_log(found.records, self._read)
        self._history.note(context=tuple(session_codec.attachments(self._restore(stored, found).pending)))

    def _restore(self, stored: log_records.Log, found: LoadedSession) -> session_codec.State:
        """Go on from what was stored, but for the context that waits here for the next message."""
        history, size = self._history, self._history.counter.message
        history.recollection.cut(common_length(history.log, stored.messages))
        blob = blobs_of(found, self.store, history.writer.shown)
        history.log[:] = stored.messages
        history.attached = Attached(stored.attached)
        state, view, written = session_codec.restored(found.state, blob, history.log, self._read, size)
        history.view = view if view is not None else View()
        history.writer = Writer(self.id, history.writer.owner)
        self.take(state, context=history.state.context, asked_at=state.at)
        if view is None:
            history.show(0)
        history.writer.restored(stored, history.view, written, found.session)
        return state

    def take(self, state: session_codec.State, **others: Any) -> None:
        """Go on from a state that was written; `others` are fields with other values."""
        made = replace(
            self._history.state,
            tight=state.tight,
            compactions=state.compactions,
            end=state.end,
            carried=tuple(session_codec.attachments(state.carried)),
            context=tuple(session_codec.attachments(state.pending)),
            pins=frozenset(map(bytes.fromhex, state.pins)),
        )
        self._history.state = replace(made, **others)
        self._history.running_summary.restore(state.summary, state.summarized)

    def find(self, handle: str) -> bytes | None:
        """The content behind a handle, without its `brim:`."""
        return self.store.find_blob(handle, self.id)

    def blobs(self, handles: Sequence[str]) -> list[bytes]:
        """The content behind handles, as far as the store has it."""
        return [blob for handle in handles if (blob := self.find(handle)) is not None]

    def export(self) -> Iterator[str]:
        """The session as JSON lines: what it is, each message of its log after what is attached to it, its view."""
        history, settings, state = self._history, self._history.settings, self._history.state
        head = {"id": self.id, "model": settings.model.name, "api": settings.api, "budget": settings.budget}
        yield from session_codec.exported(head, session_codec.settings_of(settings), history.log, history.attached.at)
        if state.tight or history.running_summary.text or state.context or state.carried or state.pins:
            yield session_codec.shown_row(history.view, self.state() | {"at": 0.0}, self._originals())

    def _originals(self) -> list[str]:
        """The content behind the handles in the view, and behind handles in that content."""
        found: dict[str, str] = {}
        todo = self._history.view.handles()
        while todo:
            handle = todo.pop()
            blob = self.find(handle) if handle not in found else None
            if blob is not None:
                found[handle] = blob.decode("utf-8", "surrogatepass")
                todo += HANDLE.findall(found[handle])
        return list(found.values())

    def read_export(self, rows: list[str]) -> None:
        """Begin as the rows of an export say, after its head."""
        history, read = self._history, self._read
        messages: list[Message] = []
        shown = rows.pop() if rows and rows[-1].startswith(f'{{"{session_codec.SHOWN}":') else ""
        for number, row in enumerate(rows, 2):
            piece, raw = session_codec.imported(row, f"line {number}")
            if piece is not None:
                history.attached.add(len(messages), [piece])
                history.writer.attach(len(messages), [piece])
            else:
                messages.append(read(raw, f"line {number}"))
        history.append(messages)
        if shown:
            size = history.counter.message
            view, state, archive = session_codec.read_shown(shown, f"line {len(rows) + 2}", history.log, read, size)
            history.view = view
            self.take(state)
            history.writer.hold(archive)


def blobs_of(found: LoadedSession, store: Store, held: Mapping[bytes, bytes]) -> Callable[[bytes], bytes | None]:
    """The blobs of a loaded session: from memory first, then from the store."""
    assert found.session is not None
    id = found.session.id

    def blob(digest: bytes) -> bytes | None:
        known = found.blobs.get(digest) or held.get(digest)
        return known if known is not None else store.get_blob(digest, id)

    return blob
