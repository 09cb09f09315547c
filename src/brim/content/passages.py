"""A large text, or many files in one, by relevance to a question: matching passages, then the beginning of each file.

For texts far too large to count: sizes are estimated from a sample, and only chosen passages are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from brim.content.detect.blocks import elements, label
from brim.content.types import Room
from brim.relevance import query_match

# Number and length of the slices from which the size of a text is estimated.
SLICES, SLICE = 64, 400
# A passage ends at a blank line, or at the end of a line or a sentence after this many characters.
PASSAGE = 1_200
# Shares of the room for matching passages, including those beside the best ones, and for the beginnings of files.
MATCHING, BEGINNINGS = 0.6, 0.8
# The number of best passages to show with the passages beside them.
BEST = 8
# The tokens and the text of a mark for a gap.
GAP, SIGN = 3, "[…]"
# Largest share of the room for the names of omitted files.
NAMING = 0.02
# Attempts to fit the room, in case sizes were estimated too low or too high.
ATTEMPTS = 5
# An extract that fills less of its room than this is made again.
FULL = 0.97


def guessed_tokens(text: str, count: Callable[[str], int]) -> int:
    """The estimated tokens of a long text, from slices spread over it."""
    if len(text) <= SLICES * SLICE:
        return count(text)
    step = len(text) / SLICES
    slices = [text[int(n * step) : int(n * step) + SLICE] for n in range(SLICES)]
    return max(1, int(sum(map(count, slices)) * len(text) / sum(map(len, slices))))


@dataclass(frozen=True, slots=True)
class _PassageFile:
    """A file of the text: its tags and its passages. Text between files has no tags."""

    opening: str
    closing: str
    name: str
    first: int
    end: int


def extract(text: str, room: Room) -> str:
    """The passages that match `room.query` and the beginnings of files, in at most `room.tokens` tokens."""
    passages, files = _cut(text)
    share = guessed_tokens(text, room.count) / max(1, len(text))
    scores = query_match.scores(passages, room.query)
    wanted, best = float(room.tokens), ""
    for _ in range(ATTEMPTS):
        if wanted < 1:
            break
        made = _made(passages, files, scores, replace(room, tokens=int(wanted)), share)
        taken = room.count(made)
        if taken <= room.tokens:
            best = max(best, made, key=len)
            if taken >= FULL * room.tokens or len(made) >= len(text):
                break
        wanted *= min(1.5, room.tokens * 0.99 / max(1, taken))
    return best or room.mark("left out")


def _made(
    passages: Sequence[str], files: Sequence[_PassageFile], scores: dict[int, float], room: Room, share: float
) -> str:
    shown: set[int] = set()
    opened: set[int] = set()
    owner = [number for number, file in enumerate(files) for _ in range(file.first, file.end)]
    sizes = [len(passage) * share for passage in passages]
    tags = [(len(file.opening) + len(file.closing)) * share + GAP for file in files]
    left = room.tokens * (1 - NAMING) - GAP

    def take(wanted: Iterable[int], until: float) -> None:
        nonlocal left
        for number in wanted:
            cost = sizes[number] + GAP + (0 if owner[number] in opened else tags[owner[number]])
            if number not in shown and cost <= left - until:
                shown.add(number)
                opened.add(owner[number])
                left -= cost

    best = sorted(scores, key=lambda number: (-scores[number], number))
    whole = left
    take(_around(best, owner), whole * (1 - MATCHING))
    take((file.first for file in files if file.first < file.end), whole * (1 - BEGINNINGS))
    for number in sorted(range(len(files)), key=lambda number: (-_score(files[number], scores), number)):
        take(range(files[number].first, files[number].end), 0)
    return _written(passages, files, shown, room)


def _around(best: Sequence[int], owner: Sequence[int]) -> Iterator[int]:
    """The best passages with their neighbours, then the other matches."""
    for number in best[:BEST]:
        yield number
        for beside in (number - 1, number + 1):
            if 0 <= beside < len(owner) and owner[beside] == owner[number]:
                yield beside
    yield from best[BEST:]


def _score(file: _PassageFile, scores: dict[int, float]) -> float:
    return max((scores.get(number, 0.0) for number in range(file.first, file.end)), default=0.0)


def _written(passages: Sequence[str], files: Sequence[_PassageFile], shown: set[int], room: Room) -> str:
    """The chosen passages in order, each file between its tags, with gaps marked and omitted files named at the end."""
    out: list[str] = []
    left_out: list[str] = []
    for file in files:
        numbers = [number for number in range(file.first, file.end) if number in shown]
        if not numbers:
            left_out += [file.name] if file.name else []
            continue
        out.append(file.opening)
        before = file.first - 1
        for number in numbers:
            if number != before + 1:
                out.append(f"{SIGN}\n")
            passage = passages[number]
            out.append(passage if passage.endswith("\n") else passage + "\n")
            before = number
        if before != file.end - 1:
            out.append(f"{SIGN}\n")
        out.append(file.closing)
    hidden = len(passages) - len(shown)
    if not hidden:
        return "".join(passages) if not any(file.opening for file in files) else "".join(out)
    what = f"{hidden:,} passages left out"
    if left_out:
        names = ", ".join(left_out)
        most = int(NAMING * room.tokens * 2)
        what += f", all of {len(left_out):,} files: " + (names if len(names) <= most else names[:most] + "…")
    return "".join(out) + room.mark(what)


def _cut(text: str) -> tuple[list[str], list[_PassageFile]]:
    """Split a text into passages and their files, which are the outermost elements unless one contains everything."""
    passages: list[str] = []
    files: list[_PassageFile] = []

    def add(inside: str, opening: str = "", closing: str = "", name: str = "") -> None:
        first = len(passages)
        passages.extend(_passages(inside))
        if opening or len(passages) > first:
            files.append(_PassageFile(opening, closing, name, first, len(passages)))

    at = 0
    for start, end, name, attributes in _outermost(text):
        before = text.rfind("<" + name, at, start)
        if text[at:before].strip():
            add(text[at:before])
        line = text.find("\n", end)
        after = line + 1 if line >= 0 and not text[end + len(name) + 3 : line].strip() else end + len(name) + 3
        opening = text[before:start] + ("\n" if text[start : start + 1] == "\n" else "")
        add(text[start:end].strip("\n"), opening, f"</{name}>\n", label(name, attributes))
        at = after
    if text[at:].strip():
        add(text[at:])
    return passages, files


def _outermost(text: str) -> list[tuple[int, int, str, str]]:
    """The outermost elements, or those inside if a single one contains nearly everything."""
    every = sorted(elements(text))
    found: list[tuple[int, int, str, str]] = []
    for one in every:
        if not found or one[0] > found[-1][1]:
            found.append(one)
    return found


def _passages(text: str) -> Iterator[str]:
    """Pieces that end at blank lines; long ones at the end of a line, a sentence or a word."""
    at = 0
    while at < len(text):
        end = text.find("\n\n", at, at + PASSAGE)
        if end >= 0:
            end += 2
            while text[end : end + 1] == "\n":
                end += 1
        elif len(text) - at <= PASSAGE:
            end = len(text)
        else:
            cuts = (text.rfind(sign, at + 1, at + PASSAGE) + len(sign) for sign in ("\n", ". ", " "))
            end = next((cut for cut in cuts if cut > at + PASSAGE // 4), at + PASSAGE)
        yield text[at:end]
        at = end
