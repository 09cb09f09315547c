"""Remembers message lists, so that a list that continues a known one is read only from where that one ended.

Clients send the whole history with every turn. Most of it has the same bytes as the last request, and finding that out
takes a single memory comparison, however many messages there are.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from brim.apis.api import Api
from brim.conversation import Message

# Bytes below which reading a list is faster than looking it up; how many lists to remember, and their total bytes.
LEAST, MOST, MOST_BYTES = 1 << 16, 8, 12 << 20
# Messages compared per batch when two lists differ somewhere.
BLOCK = 64
_GAP = re.compile(rb"[ \t\n\r,]*")
_items = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True)
class KnownMessages:
    """A list that was read: its messages, and the offsets at which they end, as far as known."""

    api: str
    messages: tuple[Message, ...]
    raw: bytes
    told: array[int] = field(default_factory=lambda: array("q"))

    @cached_property
    def ends(self) -> array[int]:
        """The offset at which each message ends; computed on first use, because most lists never need it."""
        begin = self.told[-1] if self.told else self.raw.find(b"[") + 1
        return self.told + array("q", _ends(self.raw, begin, self.messages[len(self.told) :]))

    def common(self, raw: bytes) -> int:
        """How many messages at the start of another list equal this one's byte for byte."""
        ends, ours = self.ends, self.raw
        number = begin = 0
        for step in (BLOCK, 1):
            while number + step <= len(ends) and raw.startswith(ours[begin : ends[number + step - 1]], begin):
                number += step
                begin = ends[number - 1]
        return number


class Lists:
    """The long lists that were read most recently. Thread-safe.

    Example: after read(api, b'[{…1},{…2}]'), read(api, b'[{…1},{…2},{…3}]') only reads the third message
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._known: list[KnownMessages] = []  # most recently used first
        self._lock = threading.Lock()

    def read(self, api: Api, raw: bytes) -> tuple[Message, ...] | None:
        """The messages of a list; None if it is short or needs a full parse.

        Raises BadBody for an invalid message.
        """
        if not LEAST <= len(raw) <= self._most_bytes:
            return None
        known, common = self._nearest(api.name, raw)
        begin = known.ends[common - 1] if known is not None else 0
        rest = _rest(raw, begin) if known is not None else raw
        if rest is None:
            return None
        try:
            items = [bytes(item) for item in _items.decode(rest)]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        messages = tuple(api.messages.get_all(items, api.list_field, range(common, common + len(items))))
        if known is not None:
            messages = known.messages[:common] + messages
        if messages:
            told = (known.ends[:common],) if known is not None else ()
            self._keep(KnownMessages(api.name, messages, raw, *told), known)
        return messages

    def _nearest(self, api: str, raw: bytes) -> tuple[KnownMessages | None, int]:
        """The known list that shares the most messages with this one, and how many."""
        best: KnownMessages | None = None
        most = 0
        for known in tuple(self._known):
            common = known.common(raw) if known.api == api else 0
            if common > most:
                best, most = known, common
            if common == len(known.messages):
                break  # all of it: lists used earlier can only be shorter, or branches
        return best, most

    def _keep(self, new: KnownMessages, before: KnownMessages | None) -> None:
        """Remember a list in place of the one that it continues; branches are kept side by side."""
        with self._lock:
            kept = [one for one in self._known if one is not before or not _goes_on(new, one)]
            self._known = [new, *kept][:MOST]
            while sum(len(one.raw) for one in self._known) > self._most_bytes:
                self._known.pop()


def _goes_on(new: KnownMessages, before: KnownMessages) -> bool:
    """Whether one list contains the other except for its last block of messages, which may have been edited."""
    shared = max(0, len(before.messages) - BLOCK)
    return len(new.messages) >= shared and new.messages[:shared] == before.messages[:shared]


def _rest(raw: bytes, at: int) -> bytes | None:
    """The list of the messages after this offset; None if no message ends there.

    Example: b'[{…1}, {…2}]' after its first message -> b'[{…2}]'
    """
    following = _past(raw, at)
    last = raw[following : following + 1] == b"]"
    return b"[" + raw[following:] if raw[at:following].strip() == (b"" if last else b",") else None


def _ends(raw: bytes, at: int, messages: Sequence[Message]) -> Iterator[int]:
    """The offset at which each message ends, if they follow one another from this offset on."""
    for message in messages:
        at = _past(raw, at) + len(message.raw)
        yield at


def _past(raw: bytes, at: int) -> int:
    """The offset after any commas and white space."""
    gap = _GAP.match(raw, at)
    return gap.end() if gap is not None else at
