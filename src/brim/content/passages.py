"""A large text, or many files in one, by what a question is about: the passages that match, then how each file begins.

For texts that are far too large to count: sizes are guessed from a sample of it, and only what is chosen is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from brim.content.detect.blocks import elements, label
from brim.content.types import Room
from brim.relevance import query_match

# The size of a text is guessed from so many slices of it, of so many characters.
SLICES, SLICE = 64, 400
# A passage ends at a blank line, or at the end of a line or a sentence after so many characters.
PASSAGE = 1_200
# The shares of the room for passages that match, with those beside the best of them, and for beginnings of files.
MATCHING, BEGINNINGS = 0.6, 0.8
# The best of them are shown with the passages beside them.
BEST = 8
# A gap costs its sign; a file costs its tags.
GAP, SIGN = 3, "[…]"
# Names of files that are left out: at most this share of the room.
NAMING = 0.02
# Attempts to meet the room, where sizes were guessed too low or too high.
ATTEMPTS = 5
# A text with more of its room unused is made again.
FULL = 0.97


def guessed_tokens(text: str, count: Callable[[str], int]) -> int:
    """About how many tokens a long text has, by slices that are spread over it."""
    if len(text) <= SLICES * SLICE:
        return count(text)
    step = len(text) / SLICES
    slices = [text[int(n * step) : int(n * step) + SLICE] for n in range(SLICES)]
    return max(1, int(sum(map(count, slices)) * len(text) / sum(map(len, slices))))


@dataclass(frozen=True, slots=True)
class _PassageFile:
    """A file of the text: its tags, and which passages are its own. Text between files has no tags."""

    opening: str
    closing: str
    name: str
    first: int
    end: int


def extract(text: str, room: Room) -> str:
    """What of a text speaks of `room.query`, and how its files begin, in at most `room.tokens` tokens."""
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
    """The best passages with those beside them, then the others that match."""
    for number in best[:BEST]:
        yield number
        for beside in (number - 1, number + 1):
            if 0 <= beside < len(owner) and owner[beside] == owner[number]:
                yield beside
    yield from best[BEST:]


def _score(file: _PassageFile, scores: dict[int, float]) -> float:
    return max((scores.get(number, 0.0) for number in range(file.first, file.end)), default=0.0)


def _written(passages: Sequence[str], files: Sequence[_PassageFile], shown: set[int], room: Room) -> str:
    """What is shown in its order, each file between its tags, gaps signed, and what is left out named at the end."""
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
    """A text in passages, and the files that they are of: the outermost elements, unless one holds all of it."""
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
    """The outermost elements; those inside, where a single one holds nearly everything."""
    every = sorted(elements(text))
    found: list[tuple[int, int, str, str]] = []
    for one in every:
        if not found or one[0] > found[-1][1]:
            found.append(one)
    return found


def _passages(text: str) -> Iterator[str]:
    """Pieces that end at blank lines, or where they are long at the end of a line, a sentence or a word."""
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
