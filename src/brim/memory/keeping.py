"""How a session is written down: its log as records, its view as a small state that points into log and stash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from brim.conversation import Message
from brim.memory.view import Entry, View

MESSAGE, CUT = b"m", b"c"


class Kept(msgspec.Struct, array_like=True):
    """One entry of a view: a message of the log as it is, or another text, by its digest in the stash."""

    start: int
    end: int
    kind: str
    tokens: int
    digest: bytes = b""


class State(msgspec.Struct):
    """What is derived from a log, so that a reloaded session sends the bytes that it sent before."""

    entries: list[Kept]
    settled: int
    tight: bool
    replans: int


def message_record(raw: bytes) -> bytes:
    return MESSAGE + raw


def cut_record(length: int) -> bytes:
    """The log goes on after so many messages: what followed them was edited away."""
    return CUT + str(length).encode()


def replayed(records: Iterable[bytes], read: Callable[[bytes, str], Message]) -> list[Message]:
    """The messages that a log holds after all its cuts."""
    found: list[Message] = []
    for record in records:
        kind, content = record[:1], record[1:]
        if kind == MESSAGE:
            found.append(read(content, f"record {len(found)}"))
        elif kind == CUT:
            del found[int(content) :]
    return found


def state_of(view: View, tight: bool, replans: int) -> bytes:
    entries = [
        Kept(
            entry.start,
            entry.end,
            entry.kind,
            entry.tokens,
            b"" if entry.kind == "as is" else hashlib.sha256(entry.message.raw).digest(),
        )
        for entry in view.entries
    ]
    return msgspec.msgpack.encode(State(entries, view.settled, tight, replans))


def view_of(
    state: State, log: list[Message], blob: Callable[[bytes], bytes | None], read: Callable[[bytes, str], Message]
) -> View | None:
    """The view that a state describes; None if something that it points to is gone."""
    view = View(settled=state.settled)
    for kept in state.entries:
        if kept.kind == "as is":
            if kept.start >= len(log):
                return None
            message = log[kept.start]
        else:
            raw = blob(kept.digest)
            if raw is None:
                return None
            message = read(raw, "stash")
        kind: Any = kept.kind
        view.append([Entry(kept.start, kept.end, message, kept.tokens, kind)])
    return view
