"""What a conversation looks like when it is sent: the log with old parts compacted, in the order of the log.

The view only grows at its end between compactions, so that the next request starts with the bytes of the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from brim.conversation import Message
from brim.planning.items import grouped, unfinished
from brim.planning.reports.decisions import Decision

HANDLE = re.compile(r"brim:([0-9a-f]{8,64})")
# So many messages are compared at once.
BLOCK = 512
# `context`, `recall` and `summary` stand for no message of the log: start and end are the same.
EntryKind = Literal["as is", "compacted", "summary", "recall", "context", "model summary"]


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

    def copy(self) -> View:
        return View(list(self.entries), self.settled, self.tokens)

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
            if entry.end > length or entry.start >= length:
                break
            keep += 1
        cut_off = keep < len(self.entries)
        del self.entries[keep:]
        covered = max((entry.end for entry in self.entries), default=0) if cut_off else length
        self.settled = min(self.settled, keep)
        self.settle()
        self.tokens = sum(entry.tokens for entry in self.entries)
        return min(covered, length)

    def settle(self) -> None:
        """Let what is settled end where a step ends: no call is parted from its results, no thought from its answer."""
        while self.settled:
            messages = tuple([entry.message for entry in self.entries[: self.settled]])
            last = grouped(messages)[-1]
            if not unfinished(messages[last[0] :]):
                return
            self.settled = last[0]

    def measure(self, size: Callable[[Message], int]) -> None:
        """Take the sizes of all entries anew: another model counts otherwise."""
        self.entries = [replace(entry, tokens=size(entry.message)) for entry in self.entries]
        self.tokens = sum(entry.tokens for entry in self.entries)

    def renew(self, messages: Sequence[Message]) -> None:
        """Take untouched messages as they are sent now: what they say is the same, cache breakpoints may have moved."""
        for place, entry in enumerate(self.entries):
            if entry.kind == "as is" and entry.message is not messages[entry.start]:
                self.entries[place] = replace(entry, message=messages[entry.start])

    def whole(self) -> set[int]:
        """The messages of the log that stand in the view as they are."""
        return {entry.start for entry in self.entries if entry.kind == "as is"}

    def handles(self) -> list[str]:
        """The handles, without their `brim:`, that stand in what is shown in another form."""
        texts = (entry.message.text for entry in self.entries if entry.kind != "as is")
        return list(dict.fromkeys(handle for text in texts for handle in HANDLE.findall(text)))

    def archived(self, length: int) -> list[int]:
        """Which of the first `length` messages of the log do not stand in the view as they are."""
        whole = self.whole()
        return [number for number in range(length) if number not in whole] if len(whole) < length else []

    def archived_since(self, start: int, log: Sequence[Message]) -> tuple[list[Message], int]:
        """The messages from `start` on that summaries stand for, and where they end."""
        shown = {entry.start for entry in self.entries if entry.kind in ("as is", "compacted")}
        end = max((entry.end for entry in self.entries if entry.kind == "summary"), default=0)
        return [log[number] for number in range(start, end) if number not in shown], end

    def replace(self, keep: int, entries: Sequence[Entry], settled: int) -> None:
        """A compaction: everything after the first `keep` entries is new."""
        del self.entries[keep:]
        self.tokens = sum(entry.tokens for entry in self.entries)
        self.append(entries)
        self.settled = settled

    def messages(self) -> tuple[Message, ...]:
        return tuple([entry.message for entry in self.entries])

    def untouched(self) -> bool:
        return all(entry.kind == "as is" for entry in self.entries)


def common_length(log: Sequence[Message], messages: Sequence[Message]) -> int:
    """How many messages two conversations have in common from their start.

    Equal bytes are one object. Others are the same if they say the same under the same ids: clients move their
    cache breakpoints from turn to turn.
    """
    size = min(len(log), len(messages))
    for start in range(0, size, BLOCK):
        end = min(size, start + BLOCK)
        if tuple(log[start:end]) == tuple(messages[start:end]):
            continue  # all of them the same objects
        for number in range(start, end):
            ours, theirs = log[number], messages[number]
            if ours is not theirs and (ours.digest != theirs.digest or _ids(ours) != _ids(theirs)):
                return number
    return size


def _ids(message: Message) -> list[str]:
    return [part.call for part in message.parts if part.call]


def decisions(entries: Sequence[Entry], log: Sequence[Message], size: Callable[[Message], int]) -> list[Decision]:
    """What became of every message of the log, in words."""
    shown = {entry.start: entry for entry in entries if entry.kind in ("as is", "compacted")}
    blocks = [(entry.start, entry.end, _handle(entry.message)) for entry in entries if entry.kind == "summary"]
    found: list[Decision] = []
    for number, message in enumerate(log):
        entry, before = shown.get(number), size(message)
        layer = 1 if message.role == "system" else 4
        kind = message.parts[0].kind if message.parts else "text"
        name, preview = f"messages[{number}]", " ".join(message.text[:120].split())[:80]
        if entry is None:
            why = "older and less relevant than what was kept; the summary mentions it"
            handle = next((handle for start, end, handle in blocks if start <= number < end), "")
            found.append(Decision(name, message.role, layer, kind, before, 0, "archived", why, handle, preview))
        elif entry.kind == "as is":
            why = "as it was sent"
            found.append(Decision(name, message.role, layer, kind, before, before, "full", why, "", preview))
        else:
            why = "shortened in a compaction, and kept so for the cache"
            handle, after = _handle(entry.message), entry.tokens
            found.append(Decision(name, message.role, layer, kind, before, after, "outline", why, handle, preview))
    return found


def _handle(message: Message) -> str:
    """The first handle that stands in a message; empty if there is none."""
    found = HANDLE.search(message.text)
    return found.group() if found else ""
