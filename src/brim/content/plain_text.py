"""Any text: its head and tail, and the lines that match the query, with marks in between.

All other compactors fall back on this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from brim.content.selection import Bundle, fits, keep, lines, plural
from brim.content.types import Room
from brim.relevance import query_match

# Share of the room for lines that match the query, before the head and tail.
_QUERY_SHARE = 0.5
_HEAD_SHARE = 0.6
_WINDOW = 65_536
# Characters at each end of a line to estimate tokens per character from, and the most that words have.
_SAMPLE = 500
_DENSE = 0.5


def extract(text: str, room: Room) -> str:
    """Head and tail of the text within the room, the lines matching the query before them.

    Example: "1\\n2\\n…\\n100\\n" in 12 tokens -> "1\\n2\\n[… 96 lines]\\n99\\n100\\n"
    """
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    pieces = cut(text, room)
    starts = [0, *accumulate(len(piece) for piece in pieces)]

    def describe(first: int, end: int) -> str:
        return left_out(text, starts[first], starts[end])

    wanted = _matching(pieces, room)
    return keep(pieces, lambda: _order(pieces, wanted), room, describe)


def left_out(text: str, start: int, end: int) -> str:
    """The size of a gap, in lines if it consists of whole lines, else in characters."""
    whole = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end - 1] == "\n")
    if not whole:
        return plural(end - start, "character")
    number = text.count("\n", start, end) + (end > start and text[end - 1] != "\n")
    return plural(number, "line")


def cut(text: str, room: Room) -> list[str]:
    """Split the text into pieces: lines, chunks of long lines, and blocks in the middle of a huge text.

    Only lines near the ends or matching the query can be kept, so only these are split finely.
    """
    window = max(_WINDOW, room.tokens * 16)
    if len(text) <= 8 * window:
        return _fine(text, room)
    head = text.find("\n", window, 2 * window) + 1 or window
    tail = text.rfind("\n", len(text) - 2 * window, len(text) - window) + 1 or len(text) - window
    pieces = _fine(text[:head], room)
    at = head
    for start, end in _query_lines(text, head, tail, room):
        if start > at:
            pieces.append(text[at:start])
        pieces.extend(_fine(text[start:end], room))
        at = end
    if tail > at:
        pieces.append(text[at:tail])
    pieces.extend(_fine(text[tail:], room))
    return pieces


def _query_lines(text: str, start: int, end: int, room: Room) -> list[tuple[int, int]]:
    """The lines in the middle of a huge text with words of the query, rarest words first, in order."""
    wanted = query_match.terms(room.query)
    if not wanted:
        return []
    low = query_match.lowered(text[start:end])
    found = sorted((query_match.hits(low, term) for term in wanted), key=len)
    most = room.tokens * 8
    spans: dict[int, int] = {}
    taken = 0
    for places in found:
        for place in places:
            first = max(low.rfind("\n", 0, place) + 1, place - 500)
            last = low.find("\n", place, place + 500) + 1 or min(place + 500, len(low))
            if first not in spans:
                spans[first] = last
                taken += last - first
            if taken > most:
                break
        if taken > most:
            break
    merged: list[tuple[int, int]] = []
    for first in sorted(spans):
        first_after = max(first, merged[-1][1] - start) if merged else first
        if spans[first] > first_after:
            merged.append((start + first_after, start + spans[first]))
    return merged


def _fine(text: str, room: Room) -> list[str]:
    """Lines; one that would take a quarter of the room is cut into chunks, at spaces if there are any."""
    longest = max(80, room.tokens)
    pieces: list[str] = []
    for line in lines(text):
        if len(line) <= longest and (line.isascii() or len(line) * 4 <= longest):
            pieces.append(line)
            continue
        grain = _grain(line, room)
        if len(line) <= min(longest, 5 * grain):
            pieces.append(line)
            continue
        at = 0
        while at < len(line):
            end = at + grain
            if end < len(line):
                space = line.rfind(" ", at + grain // 2, end)
                end = space + 1 if space >= 0 else end
            pieces.append(line[at:end])
            at = end
    return pieces


def _grain(line: str, room: Room) -> int:
    """The length of a chunk of a long line, about a twentieth of the room."""
    sample = line[:_SAMPLE] + line[-_SAMPLE:]
    share = room.count(sample) / len(sample)
    # Ideographs and emoji take a token or more each, so chunks need fewer characters or the room would stay empty.
    return max(16, room.tokens // 5) if share <= _DENSE else max(4, int(room.tokens / (20 * share)))


def _matching(pieces: Sequence[str], room: Room) -> list[int]:
    """The best matching pieces up to their share of the room, by length (four characters to a token)."""
    most = room.tokens * 4 * _QUERY_SHARE
    found: list[int] = []
    for index in query_match.ranked(pieces, room.query):
        most -= len(pieces[index])
        if most < 0:
            break
        found.append(index)
    return found


def _order(pieces: Sequence[str], wanted: Sequence[int]) -> Iterator[Bundle]:
    for index in wanted:
        yield (index,)
    yield from head_and_tail([len(piece) for piece in pieces])


def head_and_tail(sizes: Sequence[int], head_share: float = _HEAD_SHARE) -> Iterator[Bundle]:
    """Indices from both ends inwards, so that the head always has its share of the size."""
    first, last = 0, len(sizes) - 1
    head = tail = 0
    while first <= last:
        if head * (1 - head_share) <= tail * head_share:
            head += sizes[first]
            yield (first,)
            first += 1
        else:
            tail += sizes[last]
            yield (last,)
            last -= 1
