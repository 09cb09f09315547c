"""What of a session is not written yet, and how a turn of it is written at once."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from brim.content import handle_of
from brim.conversation import Message
from brim.planning.attachments import Attachment
from brim.sessions import session_codec
from brim.sessions.attached import Placed
from brim.sessions.tenancy import tenant_of
from brim.sessions.view import View
from brim.stores import log_records
from brim.stores.protocol import SessionRecord, Store, Turn


class Writer:
    """Collects what a turn adds to a session, and commits it."""

    def __init__(self, session: str, owner: str = "") -> None:
        self.owner = owner
        self.epoch = 0  # of the session's lease, as the store has it
        self.holds = False  # whether that lease is this one's
        self.chain: list[bytes] = [start(tenant_of(session))]  # the digests of the log's first 0, 1, 2, … messages
        self.records = 0  # so many the store holds of this session
        self.unsure = False  # whether what was written waits for the store, whose records may be others then
        self._pending: list[bytes] = []
        self._blobs: list[bytes] = []
        self._state = b""
        self._written: dict[bytes, bytes] = {}
        self._view = session_codec.WrittenView()

    def copy(self) -> Writer:
        """The same, to go on from when what is added now is given up."""
        other = copy.copy(self)
        other.chain, other._pending, other._blobs = list(self.chain), list(self._pending), list(self._blobs)
        return other

    def add(self, message: Message) -> None:
        self.chain.append(link(self.chain[-1], message))
        self._pending.append(log_records.message_record(message.raw))

    def attach(self, at: int, pieces: Iterable[Attachment]) -> None:
        """Context was attached to a message: it is part of the log, and its text can be recalled."""
        for piece in pieces:
            self._pending.append(log_records.context_record(at, piece))
            self.hold([piece.text])

    def cut(self, length: int) -> None:
        """The log was cut to so many messages."""
        del self.chain[length + 1 :]
        self._pending.append(log_records.cut_record(length))

    def keep(self, text: str) -> str:
        """Archive an original; return its handle."""
        self.hold([text])
        return handle_of(text)

    def hold(self, texts: Iterable[str]) -> None:
        """Archive originals whose handles are known."""
        self._blobs += [text.encode("utf-8", "surrogatepass") for text in texts]

    def forked(self, chain: Iterable[bytes], log: Iterable[Message], blobs: Iterable[bytes]) -> None:
        """Begin with the messages and the originals of another session."""
        self.chain = list(chain)
        self._pending = [log_records.message_record(message.raw) for message in log]
        self._blobs = list(blobs)

    @property
    def shown(self) -> dict[bytes, bytes]:
        """What the view that was written last shows, by digest."""
        return {digest: raw for raw, digest in self._written.items()}

    @property
    def waits(self) -> bool:
        """Whether something is not written yet."""
        return bool(self._pending or self._blobs)

    def lease(self, known: SessionRecord | None) -> None:
        """Take the lease to be as the store says; the next turn is refused if it changed since."""
        self.epoch = known.epoch if known is not None else 0
        self.holds = known is not None and known.owner == self.owner

    def beyond(self, known: SessionRecord, rest: Iterable[Message], attached: Iterable[Placed]) -> None:
        """The store has the beginning of what is here: only these messages are left to write, and what they bring."""
        self.records, self.unsure = known.records, False
        self.lease(known)
        self._pending = [log_records.message_record(message.raw) for message in rest]
        for at, piece in attached:
            self.attach(at, [piece])

    def again(
        self,
        log: Iterable[Message],
        attached: Iterable[Placed],
        blobs: Iterable[bytes],
        known: SessionRecord | None,
    ) -> None:
        """Write everything once more after the records that the store has, which no longer count."""
        self.records, self.unsure = known.records if known is not None else 0, False
        self.lease(known)
        self._pending = [log_records.cut_record(0), *(log_records.message_record(message.raw) for message in log)]
        for at, piece in attached:
            self.attach(at, [piece])
        self._blobs += blobs
        self._written, self._state = {}, b""

    def restored(self, log: log_records.Log, view: View, state: bytes, known: SessionRecord | None) -> None:
        """Begin with what a store holds already: the log, and, if there is a state, its view."""
        self.records = log.records
        self.lease(known)
        for message in log.messages:
            self.chain.append(link(self.chain[-1], message))
        if state:
            self._view.follow(view)
            self._written = dict(self._view.digests)
            self._state = _timeless(msgspec.msgpack.decode(state, type=session_codec.State))

    def commit(
        self,
        store: Store,
        session: str,
        view: View,
        state: Mapping[str, Any],
        meta: Mapping[str, Any],
        settings: bytes,
    ) -> bool:
        """Write what is new of this turn; what cannot be written is only lost to later processes.

        `state` are fields of `session_codec.State` beside its entries and its settings, which are JSON.
        False if the store does not hold what this one wrote before, and nothing else: then nothing is written.
        """
        self._view.follow(view)
        digests = self._view.digests
        if settings:
            digests = digests | {settings: hashlib.sha256(settings).digest()}
            state = {**state, "settings": digests[settings]}
        made = session_codec.State(self._view.kept, **state)
        timeless = _timeless(made)
        if not self._pending and not self._blobs and timeless == self._state:
            return True
        fresh = [raw for raw in digests if raw not in self._written]
        waits = store.degraded is not None
        written = store.commit(
            Turn(
                session=session,
                records=tuple(self._pending),
                blobs=tuple(dict.fromkeys([*self._blobs, *fresh])),
                state=msgspec.msgpack.encode(made),
                prefixes=[(self.chain[-1], len(self.chain) - 1)],
                meta=meta,
                expected=self.records,
                shown=tuple(digests.values()),
                owner=self.owner,
                epoch=self.epoch if self.owner else None,
            )
        )
        if written is None:
            return False
        self.epoch += bool(self.owner) and not self.holds
        self.holds = True
        self.unsure = waits or store.degraded is not None
        self.records += len(self._pending)
        self._written, self._state = dict(digests), timeless
        self._pending, self._blobs = [], []
        return True


def _timeless(state: session_codec.State) -> bytes:
    """A state without when it was asked last: a request that is sent again changes nothing else."""
    return msgspec.msgpack.encode(msgspec.structs.replace(state, at=0.0))


def originals(handles: Iterable[str], texts: Iterable[str]) -> tuple[list[bytes], bool]:
    """Those of some texts that handles stand for, and whether a handle stands for none of them."""
    known = {handle_of(text).removeprefix("brim:"): text for text in dict.fromkeys(texts)}
    wanted = list(handles)
    found = [known[handle].encode("utf-8", "surrogatepass") for handle in wanted if handle in known]
    return found, len(found) < len(wanted)


def start(tenant: str) -> bytes:
    """The digest of a tenant's conversation before its first message: no tenant's prefix is another's."""
    return hashlib.sha256(tenant.encode()).digest() if tenant else b""


def link(before: bytes, message: Message) -> bytes:
    """The digest of a conversation up to and with a message, from the one before it."""
    return hashlib.sha256(before + message.digest).digest()
