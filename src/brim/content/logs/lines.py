"""Logs: one verbatim line of every shape, warnings and errors first, with the number of its occurrences.

Lines that differ only in numbers and ids have the same shape. The value of a line is the information it adds to the
lines taken before (new words and word pairs) relative to its cost, so rare and different lines come first, and the
thousandth heartbeat last. Test runs and traces have kinds of their own.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from brim.content import mixed
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.logs import line_shapes
from brim.content.selection import fits, least
from brim.content.types import Room
from brim.count_text import CountText

dense = line_shapes.dense
decode = line_shapes.decode

_DIGITS_AS_ZERO = bytes(ord("0") if chr(code).isdigit() and code < 128 else code for code in range(256))
_SAID = 400  # characters of a line that determine its shape
_PAYLOADS = 0.6  # share of the room for JSON on separate lines
_MOST_SHAPES, _FEWEST_SHAPES = 6_000, 500
# Weekdays and months before a number; ids: hexadecimal numbers, words of letters and digits. Digits are already zeros.
_ID = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?= +0| [A-Z][a-z]{2} +0)"
    r"|\b0x[0-9a-fA-F]+\b|(?<![0-9A-Za-z])[A-Za-z]{0,16}0[0-9A-Za-z]*"
)
_NUMBERS = re.compile(r"0+")
_WORD = re.compile(r"[^\W\d_]+")
SEVERE = re.compile(
    r"\b(?:WARN(?:ING)?|ERR(?:OR)?|FATAL|CRIT(?:ICAL)?|SEVERE|ALERT|EMERG(?:ENCY)?|PANIC"
    r"|[Ww]arn(?:ing)?|[Ee]rror|[Ff]atal|[Cc]rit(?:ical)?|[Pp]anic|Traceback)\b|(?:Exception|Error)\b"
    r"|\d\s{1,4}[WEFAC]\s|^[WEF]\d{4}\s|^<[0-4]>"
)
_HINTS = ("error", "warn", "fatal", "critical", "severe", "panic", "exception")
_TIME = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?[T ]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?:[A-Z][a-z]{2} +){1,2}\d{1,2} \d\d:\d\d:\d\d(?: \d{4})?"
    r"|\d\d?/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d"
    r"|\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{6} \d{6}|\d\d:\d\d:\d\d(?:[.,]\d+)?"
)


@dataclass(slots=True)
class LineShape:
    """Lines that differ only in numbers: their count, and the first, last and shortest of them."""

    words: str
    count: int
    first: int
    last: int
    shortest: int
    severe: bool = False


def extract(text: str, room: Room) -> str:
    """One line of each shape, severe and rare ones first, then counts, then more lines of the rare shapes.

    Example: 2,000 lines -> "[2,000 lines of 14 shapes, …]\\n<line>\\n×314\\n<line>\\n…\\n[… 1,986 …]"
    """
    if fits(text, room):
        return text
    if len(text) <= room.tokens * 16:
        form = dense(text)
        if form is not None and fits(form, room):
            return form
    if room.tokens < 8:
        return least(room, f"{text.count(chr(10)) + 1:,} lines")
    lines = text.split("\n")
    opened = _open_payloads(lines, room)
    shapes = find_shapes(text, lines)
    order = by_news(shapes, lines, room.count, room.tokens)
    more = _more_lines(shapes, lines)
    tiers = [
        matching(lines, room),
        Tier([shape.shortest for shape in order]),
        Tier([0, _last_said(lines)]),
        Tier(more),
    ]
    head, notes = _head(lines, shapes), _counts(order, room.tokens)
    return pack(lines, tiers, room, head=head, gap="", notes=notes, longest=_PAYLOADS if opened else 0.25)


def _open_payloads(lines: list[str], room: Room) -> bool:
    """Replace JSON on separate lines, such as a response in `curl -v`, with an extract if it takes most of the room."""
    large = [at for at, line in enumerate(lines) if len(line) > max(2_000, 2 * room.tokens) and line[:1] in "{["][:3]
    for at in large:
        line = lines[at]
        end = max(line.rfind("}"), line.rfind("]")) + 1  # a message may follow on the same line
        share = int(_PAYLOADS * room.tokens) // len(large) - room.count(line[end : end + _SAID])
        lines[at] = mixed.inner(line[:end], room.inside(max(0, share)), "json") + line[end : end + _SAID]
    return bool(large)


def find_shapes(text: str, lines: Sequence[str]) -> list[LineShape]:
    """The shapes of all lines, in order of first occurrence. Blank lines have none."""
    rough: dict[bytes, LineShape] = {}
    masked = text.encode("utf-8", "surrogatepass").translate(_DIGITS_AS_ZERO).split(b"\n")
    for index, key in enumerate(masked):
        shape = rough.get(key)
        if shape is None:
            rough[key] = LineShape("", 1, index, index, index)
        else:
            shape.count += 1
            shape.last = index
    shapes: dict[str, LineShape] = {}
    for key, found in _manageable(rough, lines):
        words = key[: _SAID * 2].decode("utf-8", "replace")[:_SAID]
        words = _NUMBERS.sub("0", _ID.sub("0", words)).strip()
        if not words:
            continue
        shape = shapes.get(words)
        if shape is None:
            found.words = words
            shapes[words] = found
            continue
        shape.count += found.count
        shape.first = min(shape.first, found.first)
        shape.last = max(shape.last, found.last)
        if len(lines[found.shortest]) < len(lines[shape.shortest]):
            shape.shortest = found.shortest
    for shape in shapes.values():
        shape.severe = is_severe(lines[shape.first])
    return list(shapes.values())


def _manageable(rough: dict[bytes, LineShape], lines: Sequence[str]) -> Iterator[tuple[bytes, LineShape]]:
    """All shapes; if there are very many, the severe ones and an even sample of the others."""
    if len(rough) <= 2 * _MOST_SHAPES:
        yield from rough.items()
        return
    step = len(rough) // _MOST_SHAPES + 1
    severe = 0
    for number, (key, shape) in enumerate(rough.items()):
        if number % step == 0:
            yield key, shape
        elif severe < _MOST_SHAPES:
            # A substring test is ten times faster than the pattern, and good enough for a sample.
            start = lines[shape.first][:120].lower()
            if any(hint in start for hint in _HINTS):
                severe += 1
                yield key, shape


def is_severe(line: str) -> bool:
    """Whether a line is marked as a warning or an error at its beginning."""
    return SEVERE.search(line, 0, 120) is not None


def by_news(shapes: Sequence[LineShape], lines: Sequence[str], count: CountText, tokens: int) -> list[LineShape]:
    """The shapes by how much each adds to those before it, relative to its cost.

    A shape's value can only shrink as others are taken, so a shape that is still the best when reevaluated is the
    best of all, and no other needs to be checked.
    """
    most = min(_MOST_SHAPES, max(_FEWEST_SHAPES, tokens // 2))  # at ten tokens a line, five times what can be shown
    if len(shapes) > most:
        shapes = sorted(shapes, key=lambda shape: (not shape.severe, shape.count, shape.first))[:most]
    said: set[str] = set()
    news: list[set[str]] = []
    weights: list[float] = []
    costs: list[int] = []
    heap: list[tuple[float, int]] = []
    for number, shape in enumerate(shapes):
        words = _WORD.findall(shape.words)
        news.append({*words, *map(" ".join, pairwise(words))})
        line = lines[shape.shortest]
        cost = count(line) + 1 if len(line) < 4_000 else len(line) // 3
        costs.append(cost)
        weights.append(_weight(line, shape.severe) / cost)
        heap.append((-1.02 * weights[-1], number))
    heapq.heapify(heap)
    order: list[LineShape] = []
    left = tokens
    while heap and left > 0:
        worth, number = heapq.heappop(heap)
        mine = news[number]
        fresh = len(mine - said)
        now = -(fresh / (len(mine) or 1) + 0.02) * weights[number]
        if now > worth + 1e-12:
            heapq.heappush(heap, (now, number))
            continue
        said.update(mine)
        order.append(shapes[number])
        left -= costs[number]
    return order


def _weight(line: str, severe: bool) -> float:
    """Warnings and errors count double; continuation lines, such as frames of a trace, count little."""
    if line[:1].isspace():
        return 0.3
    return 2.0 if severe else 1.0


def _counts(order: Sequence[LineShape], tokens: int) -> dict[int, str]:
    """Notes like "×314" for the most common shapes, as many as fit in a sixteenth of the room."""
    often = sorted((shape for shape in order if shape.count > 1), key=lambda shape: (-shape.count, shape.first))
    return {shape.shortest: f"×{shape.count}" for shape in often[: tokens // 64]}


def _head(lines: Sequence[str], shapes: Sequence[LineShape]) -> str:
    times = [found.group() for found in map(_TIME.search, (lines[0][:200], lines[_last_said(lines)][:200])) if found]
    span = f", {times[0]} to {times[1]}" if len(times) == 2 else ""
    return f"[{len(lines):,} lines of {len(shapes):,} shapes{span}; below a line, ×n: n lines of its shape]"


def _last_said(lines: Sequence[str]) -> int:
    """The number of the last line that isn't blank."""
    return next((index for index in range(len(lines) - 1, 0, -1) if lines[index].strip()), 0)


def _more_lines(shapes: Sequence[LineShape], lines: Sequence[str]) -> Iterator[int]:
    """More lines to show: the first and last of each shape, rare ones first, then both ends of the log."""
    for shape in sorted(shapes, key=lambda shape: (not shape.severe, shape.count, shape.first)):
        yield shape.first
        yield shape.last
    yield from head_and_tail(lines)
