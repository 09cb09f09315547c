"""Packs lines into a room: takes lines in order of preference, keeps them verbatim, and marks the gaps.

Example: pack(["a", "b", "c", "d"], [Tier([3, 0])], room) -> "a\\n…\\nd\\n[… 2 of 4 lines left out]"
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from brim.content.selection import least
from brim.content.types import Room
from brim.relevance import query_match

GAP = "…"
_MISSES = 200  # give up on a tier after this many lines in a row that didn't fit
_LONG = 160  # characters from which a line may be clipped
_CLIP_TOKENS = 24  # fewer tokens of a line say nothing


@dataclass(frozen=True, slots=True)
class Tier:
    """Lines in order of preference, and the share of the room they may take together."""

    order: Iterable[int]
    share: float = 1.0


@dataclass(slots=True)
class _Picks:
    """The lines taken so far: line number -> text, in the order they were taken."""

    texts: dict[int, str] = field(default_factory=dict)
    costs: dict[int, int] = field(default_factory=dict)
    spent: int = 0

    def take(self, index: int, text: str, cost: int) -> None:
        self.texts[index] = text
        self.costs[index] = cost
        self.spent += cost

    def drop_last(self) -> int:
        index = next(reversed(self.texts))
        del self.texts[index]
        cost = self.costs.pop(index)
        self.spent -= cost
        return cost


def pack(
    lines: Sequence[str],
    tiers: Sequence[Tier],
    room: Room,
    *,
    unit: str = "lines",
    head: str = "",
    head_share: float = 0.25,
    gap: str = GAP,
    notes: Mapping[int, str] | None = None,
    sizes: Sequence[int] | None = None,
    also: str = "",
    longest: float = 0.25,
) -> str:
    """Return at most room.tokens tokens of `lines`, in their order, with one mark for all missing lines.

    `head` goes before them if it takes no more than `head_share`; `gap` replaces missing lines between two kept
    ones (nothing if empty); `notes` are our own lines that follow a kept one; `sizes` is the number of units in each
    entry of `lines`, if not one; `also` names what is missing from every line. A line that takes more than the share
    `longest` is clipped.
    """
    total = sum(sizes) if sizes is not None else len(lines)
    taker = _Taker(lines, room, gap, notes or {}, sizes, total, unit, also, longest)
    mark = taker.mark(total)
    budget = room.tokens - room.count(mark) - 1
    head_cost = room.count(head) + 1 if head else 0
    if head_cost > head_share * budget:
        head, head_cost = "", 0
    budget -= head_cost
    if budget < 2 and not head:
        return least(room, f"{total:,} {unit}")
    wanted = [list(tier.order) for tier in tiers]
    picks = _Picks()
    for order, tier in zip(wanted, tiers, strict=True):
        taker.take(order, picks, min(budget, picks.spent + int(budget * tier.share)), budget)
    text = _shrunk(taker, picks, head)
    for _ in range(2):
        slack = room.tokens - room.count(text)
        if slack <= max(3, room.tokens // 50) or len(picks.texts) == len(lines):
            break
        before = len(picks.texts)
        for order in wanted:
            taker.take(order, picks, picks.spent + slack, picks.spent + slack)
            slack = max(0, room.tokens - room.count(taker.join(picks, head)))
        if len(picks.texts) == before:
            break
        text = _shrunk(taker, picks, head)
    return text


def _shrunk(taker: _Taker, picks: _Picks, head: str) -> str:
    """Drop the last lines taken until the joined text really fits."""
    while picks.texts:
        text = taker.join(picks, head)
        over = taker.room.count(text) - taker.room.tokens
        if over <= 0:
            return text
        while over > 0 and picks.texts:
            over -= max(1, picks.drop_last())
    if head and taker.room.fits(text := taker.join(picks, head)):
        return text
    return least(taker.room, f"{taker.total:,} {taker.unit}")


@dataclass(slots=True)
class _Taker:
    lines: Sequence[str]
    room: Room
    gap: str
    notes: Mapping[int, str]
    sizes: Sequence[int] | None
    total: int
    unit: str
    also: str
    longest: float

    def take(self, order: Iterable[int], picks: _Picks, limit: int, whole: int) -> None:
        """Add lines of `order` to `picks` until `limit` tokens are spent."""
        largest = whole if len(self.lines) < 4 else max(_CLIP_TOKENS, int(whole * self.longest))
        misses = 0
        for index in order:
            if index in picks.texts:
                continue
            left = limit - picks.spent
            if left < 2 or misses > _MISSES:
                return
            text = self.lines[index]
            gap = self._gap_cost(index, picks)
            cost = len(text) if len(text) > left * 100 else self.room.count(text) + 1 + gap
            if cost > left or (cost > largest and len(text) > _LONG):
                text = clip(text, min(left, largest) - gap - 1, self.room)
                cost = self.room.count(text) + 1 + gap
                if not text or cost > left:
                    misses += 1
                    continue
            note = self.notes.get(index)
            if note is not None:
                note_cost = self.room.count(note) + 1
                if cost + note_cost <= left:
                    cost += note_cost
            misses = 0
            picks.take(index, text, cost)

    def _gap_cost(self, index: int, picks: _Picks) -> int:
        if not self.gap:
            return 0
        return 2 - 2 * (index - 1 in picks.texts) - 2 * (index + 1 in picks.texts) + 2 * (index == 0)

    def mark(self, missing: int) -> str:
        counted = f"{missing:,} of {self.total:,} {self.unit}" if missing else ""
        return self.room.mark(" and ".join(filter(None, (counted, self.also))) + " left out")

    def _says_something(self, first: int, end: int) -> bool:
        return end - first > 3 or any(self.lines[index].strip() for index in range(first, end))

    def join(self, picks: _Picks, head: str) -> str:
        """The kept lines in order, then the mark."""
        out = [head] if head else []
        at = -1
        for index in sorted(picks.texts):
            if self.gap and index > at + 1 and self._says_something(at + 1, index):
                out.append(self.gap)
            out.append(picks.texts[index])
            if index in self.notes:
                out.append(self.notes[index])
            at = index
        kept = len(picks.texts) if self.sizes is None else sum(self.sizes[index] for index in picks.texts)
        missing = self.total - kept
        if missing or self.also:
            if self.gap and self._says_something(at + 1, len(self.lines)):
                out.append(self.gap)
            out.append(self.mark(missing))
        return "\n".join(out)


def clip(text: str, tokens: int, room: Room) -> str:
    """The beginning and the end of one long line within `tokens`; empty if that would say nothing.

    Example: clip("x" * 10_000, 24, room) -> "xxxxxxxx[… 9,900 characters]xxxx"
    """
    if tokens < _CLIP_TOKENS or len(text) < _LONG:
        return ""
    size = min(len(text) - 1, tokens * 4)
    while size > 20:
        front = size * 3 // 4
        cut = f"{text[:front]}[… {len(text) - size:,} characters]{text[len(text) - (size - front) :]}"
        count = room.count(cut)
        if count <= tokens:
            return cut
        size = min(size - 1, int(size * tokens / count * 0.97))
    return ""


def head_and_tail(lines: Sequence[str], most: int = 20_000) -> Iterator[int]:
    """Numbers of the lines with words, from both ends inwards, two from the start for each one from the end.

    Example: list(head_and_tail("abcdef")) -> [0, 1, 5, 2, 3, 4]
    """
    front, back = 0, len(lines) - 1
    while front <= back and front < most:
        for index in (front, front + 1, back) if front + 1 < back else range(front, back + 1):
            if lines[index] and not lines[index].isspace():
                yield index
        front += 2
        back -= 1


def worth_a_look(text: str, lines: Sequence[str], words: Sequence[str], most: int = 15_000) -> Sequence[int]:
    """Numbers of the lines to read closely: all, or of very many, both ends and those with one of `words`."""
    if len(lines) <= 3 * most:
        return range(len(lines))
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    chosen = dict.fromkeys([*range(most), *range(len(lines) - most, len(lines))])
    first, end = starts[most], starts[len(lines) - most]
    for word in words:
        at = text.find(word, first, end)
        found = 0
        while at >= 0 and found < most // len(words):
            index = bisect_right(starts, at) - 1
            chosen.setdefault(index)
            found += 1
            at = text.find(word, starts[index + 1], end)
    return sorted(chosen)


def matching(lines: Sequence[str], room: Room, share: float = 0.4) -> Tier:
    """The lines that match the room's query best, best first, without those that only have a common word of it."""
    found = query_match.scores(lines, room.query)
    least_score = max(found.values(), default=0.0) * 0.5
    best = [index for index, score in found.items() if score >= least_score]
    return Tier(sorted(best, key=lambda index: (-found[index], index)), share)
