"""What a conversation looks like when it is sent: the log with old parts compacted, in the order of the log.

The view only grows at its end between re-plans, so that the next request starts with the bytes of the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from brim.conversation import Message

EntryKind = Literal["as is", "compacted", "ledger", "recall"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the view. It stands for the messages [start, end) of the log."""

    start: int
    end: int
    message: Message
    tokens: int
    kind: EntryKind = "as is"


@dataclass(slots=True)
class View:
    """The entries that are sent, and how many at the start are settled: compacted once, and left alone since."""

    entries: list[Entry] = field(default_factory=list)
    settled: int = 0
    tokens: int = 0

    def append(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.entries.append(entry)
            self.tokens += entry.tokens

    def cut(self, length: int) -> int:
        """Forget what stands for messages from `length` on; return how many messages of the log are still covered.

        An entry that also stands for later messages goes too, so fewer may be covered than `length`.
        """
        keep = 0
        for entry in self.entries:
            if entry.end > length or (entry.kind == "recall" and entry.start >= length):
                break
            keep += 1
        covered = self.entries[keep].start if keep < len(self.entries) else length
        del self.entries[keep:]
        self.settled = min(self.settled, keep)
        self.tokens = sum(entry.tokens for entry in self.entries)
        return min(covered, length)

    def folded(self, length: int) -> list[int]:
        """Which of the first `length` messages of the log do not stand in the view as they are."""
        if not any(entry.kind in ("ledger", "compacted") for entry in self.entries):
            return []
        whole = {entry.start for entry in self.entries if entry.kind == "as is"}
        return [number for number in range(length) if number not in whole]

    def replace(self, keep: int, entries: Sequence[Entry], settled: int) -> None:
        """A re-plan: everything after the first `keep` entries is new."""
        del self.entries[keep:]
        self.tokens = sum(entry.tokens for entry in self.entries)
        self.append(entries)
        self.settled = settled

    def messages(self) -> tuple[Message, ...]:
        return tuple([entry.message for entry in self.entries])

    def untouched(self) -> bool:
        return all(entry.kind == "as is" for entry in self.entries)


def common_length(log: Sequence[Message], messages: Sequence[Message]) -> int:
    """How many messages two conversations have in common from their start."""
    size = min(len(log), len(messages))
    for number in range(size):
        ours, theirs = log[number], messages[number]
        if ours is not theirs and ours.digest != theirs.digest:
            return number
    return size
