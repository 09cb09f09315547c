"""Lists of messages that were read before: one that goes on where another ended is read from there.

Clients send the whole history with every turn. Most of it is then the bytes of the last request, which is one
comparison of memory, whatever the number of messages in it.
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

# A shorter list is read sooner than it is looked for. So many others are remembered, in so many bytes together.
LEAST, MOST, MOST_BYTES = 1 << 16, 8, 12 << 20
# So many messages are compared at once where two lists are not the same to the end of one.
BLOCK = 64
_GAP = re.compile(rb"[ \t\n\r,]*")
_items = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True)
class KnownMessages:
    """A list as it was read: its messages, and where in its bytes the first of them end, as far as known."""

    api: str
    messages: tuple[Message, ...]
    raw: bytes
    told: array[int] = field(default_factory=lambda: array("q"))

    @cached_property
    def ends(self) -> array[int]:
        """Where in the bytes each message ends: looked for when another list is compared, which most never are."""
        begin = self.told[-1] if self.told else self.raw.find(b"[") + 1
        return self.told + array("q", _ends(self.raw, begin, self.messages[len(self.told) :]))

    def common(self, raw: bytes) -> int:
        """How many messages another list begins with that are, byte for byte, those of this one."""
        ends, ours = self.ends, self.raw
        number = begin = 0
        for step in (BLOCK, 1):
            while number + step <= len(ends) and raw.startswith(ours[begin : ends[number + step - 1]], begin):
                number += step
                begin = ends[number - 1]
        return number


class Lists:
    """The long lists that were read last. May be used from several threads.

    Example: after read(api, b'[{…1},{…2}]'), read(api, b'[{…1},{…2},{…3}]') only reads the third message
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._known: list[KnownMessages] = []  # the last used first
        self._lock = threading.Lock()

    def read(self, api: Api, raw: bytes) -> tuple[Message, ...] | None:
        """The messages of a list; None for one that is short, or that has to be read with more care.

        Raises BadBody for a message that is none.
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
        """The list with the most messages in common, if it has any, and how many those are."""
        best: KnownMessages | None = None
        most = 0
        for known in tuple(self._known):
            common = known.common(raw) if known.api == api else 0
            if common > most:
                best, most = known, common
            if common == len(known.messages):
                break  # the whole of it: what was used before can only be shorter, or a branch
        return best, most

    def _keep(self, new: KnownMessages, before: KnownMessages | None) -> None:
        """Remember a list in place of the one that it goes on from; branches stand beside each other."""
        with self._lock:
            kept = [one for one in self._known if one is not before or not _goes_on(new, one)]
            self._known = [new, *kept][:MOST]
            while sum(len(one.raw) for one in self._known) > self._most_bytes:
                self._known.pop()


def _goes_on(new: KnownMessages, before: KnownMessages) -> bool:
    """Whether one list holds the other but for its last block of messages, which may have been edited."""
    shared = max(0, len(before.messages) - BLOCK)
    return len(new.messages) >= shared and new.messages[:shared] == before.messages[:shared]


def _rest(raw: bytes, at: int) -> bytes | None:
    """The list of what follows a message that ends at a place; None if that is not the end of a message.

    Example: b'[{…1}, {…2}]' after its first message -> b'[{…2}]'
    """
    following = _past(raw, at)
    last = raw[following : following + 1] == b"]"
    return b"[" + raw[following:] if raw[at:following].strip() == (b"" if last else b",") else None


def _ends(raw: bytes, at: int, messages: Sequence[Message]) -> Iterator[int]:
    """Where each of some messages of a list ends, if they stand one after the other from a place on."""
    for message in messages:
        at = _past(raw, at) + len(message.raw)
        yield at


def _past(raw: bytes, at: int) -> int:
    """The place after the commas and the space at a place."""
    gap = _GAP.match(raw, at)
    return gap.end() if gap is not None else at
