"""Chooses the pieces of a text that fit a room, in order of preference, and marks the gaps between them.

Pieces are consecutive substrings that join to the text. So everything kept is verbatim, and gaps are where pieces are
missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from brim.content.types import Room

Describe = Callable[[int, int], str]
# A bundle of pieces that are only useful together, such as a hunk's header with one of its lines.
Bundle = tuple[int, ...]

_MISSES = 48
_LONG_LINE = 400
_ESCAPED_END = re.compile(r"(?<=\\n)")
_ROUNDS = 4


def is_escaped(text: str) -> bool:
    """Whether a text is one long line with escaped line breaks, as in a printed object."""
    return text.count("\\n") * 1000 > len(text) and text.count("\n") * 2000 < len(text)


def lines(text: str) -> list[str]:
    """The lines of a text with their ends. Example: "a\\nb" -> ["a\\n", "b"]"""
    if len(text) > _LONG_LINE and is_escaped(text):
        return [piece for piece in _ESCAPED_END.split(text) if piece]
    found = [line + "\n" for line in text.split("\n")]
    found[-1] = found[-1][:-1]
    if not found[-1]:
        found.pop()
    return found


def paragraphed(text: str) -> list[str]:
    """The lines of a text, blank ones with the line before them. Example: "a\\n\\nb\\n" -> ["a\\n\\n", "b\\n"]"""
    found: list[list[str]] = []
    for line in lines(text):
        if found and (line == "\n" or line.isspace()):
            found[-1].append(line)
        else:
            found.append([line])
    return ["".join(together) for together in found]


def by_lines(pieces: Sequence[str]) -> Describe:
    """Describes a gap by the lines in it, whatever the pieces are."""
    before = [0, *accumulate(piece.count("\n") or 1 for piece in pieces)]
    return lambda first, end: plural(before[end] - before[first], "line")


def fits(text: str, room: Room) -> bool:
    """Whether the whole text fits, without counting one that is far too large."""
    if len(text) <= room.tokens * 8:
        return room.fits(text)
    # Except for runs of spaces, no token has this many characters.
    if len(text) > room.tokens * 128 + 1024:
        return False
    return room.count(text[: room.tokens * 8]) <= room.tokens and room.count(text) <= room.tokens


def plural(number: int, noun: str) -> str:
    """Example: plural(1, "line") -> "1 line"; plural(2400, "line") -> "2,400 lines" """
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{number:,} {noun}es"
    return f"{number:,} {noun[:-1] + 'ies' if noun.endswith('ry') else noun + 's'}"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, with neighbours as ranges. Example: 7, 12, 13, 14 -> "7,12-14" """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def least(room: Room, left_out: str) -> str:
    """The shortest honest text if nothing fits: the mark, a bare sign, or nothing."""
    for text in (room.mark(left_out), f"[… {left_out}]", "[…]", "…"):
        if room.count(text) <= room.tokens:
            return text
    return ""


def _no_indent(_first: int, _end: int) -> str:
    return ""


class Selection:
    """Pieces, which of them to keep, and their cost.

    `describe(first, end)` describes the pieces of a gap ("74 lines"); `indent` goes before its mark. `small` is the
    mark of all gaps except the one with the handle. If it has no number ("[…]"), `total` gives the sum of all gaps; if
    it is empty, `total` goes at the end for all of them.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        room: Room,
        describe: Describe,
        indent: Describe = _no_indent,
        small: str = "[… {}]",
        total: Callable[[list[tuple[int, int]]], str] | None = None,
    ) -> None:
        self.pieces = pieces
        self.room = room
        self.describe = describe
        self.indent = indent
        self.small = small
        self.total = total
        self.kept = bytearray(len(pieces))
        self.history: list[Bundle] = []
        self._sizes: dict[int, int] = {}
        self._whole = room.count(room.mark(describe(0, len(pieces)))) + 1
        self._gap = room.count("\n" + small.format(describe(0, max(1, len(pieces) // 2)))) if small else 0
        # An empty selection is one gap over everything, which has the handle.
        self.used = self._whole

    def size(self, index: int) -> int:
        found = self._sizes.get(index)
        if found is None:
            found = self._sizes[index] = self.room.count(self.pieces[index])
        return found

    def _new_gaps(self, index: int) -> int:
        """The number of gaps that keeping this piece adds: 1 inside a gap, 0 at its edge, -1 if it fills the gap."""
        left = index == 0 or self.kept[index - 1]
        right = index + 1 == len(self.pieces) or self.kept[index + 1]
        return 1 - bool(left) - bool(right)

    def cost(self, bundle: Bundle) -> int:
        """The size that keeping this bundle adds, including gaps."""
        total = 0
        for index in bundle:
            total += self.size(index) + self._gap * self._new_gaps(index)
            self.kept[index] = 1
        for index in bundle:
            self.kept[index] = 0
        return total

    def take(self, bundle: Bundle, limit: int) -> bool:
        """Keep the bundle if the total stays within the limit."""
        wanted = tuple([i for i in bundle if not self.kept[i]])
        if not wanted:
            return True
        # Don't count a bundle with more characters than ordinary text of this limit could have.
        if sum(len(self.pieces[i]) for i in wanted) > 64 * max(limit, 1) + 4096:
            return False
        cost = self.cost(wanted)
        if self.used + cost > limit:
            return False
        for index in wanted:
            self.kept[index] = 1
        self.used += cost
        self.history.append(wanted)
        return True

    def drop_last(self) -> None:
        bundle = self.history.pop()
        for index in bundle:
            self.kept[index] = 0
        # The same cost as when it was taken, because everything taken later is gone.
        self.used -= self.cost(bundle)

    def fill(self, order: Iterable[Bundle], limit: int, misses: int = _MISSES) -> None:
        """Take bundles in order until many in a row don't fit."""
        missed = 0
        for bundle in order:
            if self.take(bundle, limit):
                missed = 0
                continue
            missed += 1
            if missed > misses or self.used >= limit:
                return

    def gaps(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        at, end = 0, len(self.pieces)
        while at < end:
            first = self.kept.find(0, at)
            if first < 0:
                break
            last = self.kept.find(1, first)
            last = end if last < 0 else last
            found.append((first, last))
            at = last
        return found

    def render(self) -> str:
        gaps = self.gaps()
        if not gaps:
            return "".join(self.pieces)
        # Bare signs have no number, so one mark gives the total.
        in_all = self.total(gaps) if self.total else ""
        if not self.small:
            kept = "".join(piece for piece, is_kept in zip(self.pieces, self.kept, strict=True) if is_kept)
            return f"{kept}{'' if kept.endswith(chr(10)) or not kept else chr(10)}{self.room.mark(in_all)}"
        biggest = max(gaps, key=lambda gap: (gap[1] - gap[0], -gap[0])) if self.room.handle or in_all else None
        out: list[str] = []
        at = 0
        for first, end in gaps:
            out.extend(self.pieces[at:first])
            said = in_all or self.describe(first, end)
            mark = self.room.mark(said) if (first, end) == biggest else self.small.format(said)
            if not first or self.pieces[first - 1].endswith("\n"):
                mark = self.indent(first, end) + mark
            out.append(mark)
            if end < len(self.pieces) and self.pieces[end - 1].endswith("\n"):
                out.append("\n")
            at = end
        out.extend(self.pieces[at:])
        return "".join(out)

    def close_small_gaps(self, limit: int) -> None:
        """Fill gaps that cost no more than their marks."""
        for first, end in self.gaps():
            if end - first > 3:
                continue
            bundle = tuple(range(first, end))
            if self.cost(bundle) <= 0:
                self.take(bundle, limit)


def keep(
    pieces: Sequence[str],
    order: Callable[[], Iterable[Bundle]],
    room: Room,
    describe: Describe,
    indent: Describe = _no_indent,
    small: str = "[… {}]",
    total: Callable[[list[tuple[int, int]]], str] | None = None,
) -> str:
    """The pieces that fit, chosen by preference and shown in their own order with marks for the gaps.

    Example: keep(["a\\n", "b\\n", "c\\n"], lambda: [(0,), (2,)], room, say) -> "a\\n[… 1 line]\\nc\\n"
    """
    selection = Selection(pieces, room, describe, indent, small, total)
    limit = room.tokens
    best = ""
    best_size = 0
    for _ in range(_ROUNDS):
        selection.fill(order(), limit)
        selection.close_small_gaps(limit)
        text = selection.render()
        size = room.count(text)
        while size > room.tokens and selection.history:
            target = selection.used - (size - room.tokens)
            while selection.history and selection.used > target:
                selection.drop_last()
            text = selection.render()
            size = room.count(text)
        if size <= room.tokens and size >= best_size and selection.history:
            best, best_size = text, size
        # Pieces counted separately add up to more than together; the next round fills the difference.
        slack = room.tokens - size
        if slack <= max(2, room.tokens // 50) or not selection.gaps():
            break
        limit = selection.used + slack
    return best or least(room, describe(0, len(pieces)))


def shares(sizes: Sequence[int], total: int) -> list[int]:
    """A share of the total for each size: small ones get all they need, large ones get equal shares.

    Example: shares([10, 500, 900], 210) -> [10, 100, 100]
    """
    given = [0] * len(sizes)
    left = max(0, total)
    order = sorted(range(len(sizes)), key=lambda index: (sizes[index], index))
    for position, index in enumerate(order):
        given[index] = min(sizes[index], left // (len(order) - position))
        left -= given[index]
    return given
