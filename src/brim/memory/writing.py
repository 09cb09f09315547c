"""What of a session is not written yet, and how a turn of it is written at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from brim.conversation import Message, encode
from brim.ladders import handle_of
from brim.memory import keeping
from brim.memory.store import Store, Turn
from brim.memory.view import View


class Writer:
    """Collects what a turn adds to a session, and commits it."""

    def __init__(self) -> None:
        self.chain: list[bytes] = [b""]  # the digests of the log's first 0, 1, 2, … messages
        self._pending: list[bytes] = []
        self._blobs: list[bytes] = []
        self._state = b""
        self._written: dict[bytes, bytes] = {}
        self._digests = keeping.Digests()

    def add(self, message: Message) -> None:
        self.chain.append(link(self.chain[-1], message))
        self._pending.append(keeping.message_record(message.raw))

    def cut(self, length: int) -> None:
        """The log was cut to so many messages."""
        del self.chain[length + 1 :]
        self._pending.append(keeping.cut_record(length))

    def keep(self, text: str) -> str:
        """Stash an original; return its handle."""
        self.hold([text])
        return handle_of(text)

    def hold(self, texts: Iterable[str]) -> None:
        """Stash originals whose handles are known."""
        self._blobs += [text.encode("utf-8", "surrogatepass") for text in texts]

    def forked(self, chain: Iterable[bytes], log: Iterable[Message], blobs: Iterable[bytes]) -> None:
        """Begin with the messages and the originals of another session."""
        self.chain = list(chain)
        self._pending = [keeping.message_record(message.raw) for message in log]
        self._blobs = list(blobs)

    def restored(self, log: Iterable[Message], view: View, state: bytes) -> None:
        """Begin with what a store holds already: the log, and, if there is a state, its view."""
        for message in log:
            self.chain.append(link(self.chain[-1], message))
        if state:
            self._written, self._state = dict(self._digests.of(view)), state

    def commit(
        self,
        store: Store,
        session: str,
        view: View,
        state: Sequence[Any],
        meta: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> None:
        """Write what is new of this turn; what cannot be written is only lost to later processes.

        `state` are the fields of `keeping.State` after its entries, without the last, which says where `settings` are.
        """
        digests = self._digests.of(view)
        if settings:
            given = encode(settings)
            digests = digests | {given: hashlib.sha256(given).digest()}
            state = [*state, digests[given]]
        derived = msgspec.msgpack.encode(keeping.State(keeping.kept_entries(view, digests), *state))
        if not self._pending and not self._blobs and derived == self._state:
            return
        fresh = [raw for raw in digests if raw not in self._written]
        store.commit(
            Turn(
                session=session,
                records=tuple(self._pending),
                blobs=tuple(dict.fromkeys([*self._blobs, *fresh])),
                state=derived,
                prefixes=[(self.chain[-1], len(self.chain) - 1)],
                meta=meta,
            )
        )
        self._written, self._state = dict(digests), derived
        self._pending, self._blobs = [], []


def link(before: bytes, message: Message) -> bytes:
    """The digest of a conversation up to and with a message, from the one before it."""
    return hashlib.sha256(before + message.digest).digest()
