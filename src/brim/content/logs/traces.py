"""Stack traces: keeps exception lines and the chain of causes, then the user's own frames, then those of libraries.

Reads Python, JavaScript, Java and Kotlin, Go, Rust and C#. Repeated frames (recursion) are shown once with their count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.logs import repeated_lines
from brim.content.selection import fits, least
from brim.content.types import Room

dense = repeated_lines.dense
decode = repeated_lines.decode

_MESSAGE = re.compile(
    r"[\s|+-]*(?:Caused by: |Suppressed: |Uncaught |Unhandled [Ee]xception\.? ?|\[cause\]: |---> |\(node:\d+\) "
    r"|Exception in thread \"[^\"]{0,200}\" |E\s+)*"
    r"(?:(?:[A-Za-z_$][\w$]{0,80}(?:\.|::|/)){0,16}[A-Za-z_$][\w$`]{0,80}(?:Error|Exception|Exit|Interrupt|Warning|Failure|Panic|Fault"
    r"|Group|Throwable|Timeout)(?:\d{0,3})(?: \[\w+\])?(?:: |:$|$| \()"
    r"|panic: |thread '.{0,200}' (?:\(\d+\) )?panicked at |fatal error: |runtime error: |signal SIG|\[signal )"
)
_CHAIN = re.compile(
    r"\s*(?:\|\s)?(?:During handling of the above exception|The above exception was the direct cause"
    r"|Caused by: |Suppressed: |\[cause\]: |---> |--- End of inner|The above error occurred)"
)
_OPENING = re.compile(
    r"[\s|+-]*Traceback \(most recent call last\)|goroutine \d+ \[|stack backtrace:|\s+\.\.\. \d+ (?:more|common)"
)
_PYTHON_FRAME = re.compile(r"[\s|]*File \"(.{1,400}?)\", line \d+")
_AT_FRAME = re.compile(r"\s+at (?:async )?(\S.{0,600})")
_GO_PLACE = re.compile(r"\t(\S{1,400}\.(?:go|s)):\d+")
_RUST_FRAME = re.compile(r"\s{0,8}\d{1,4}: (?:0x[0-9a-f]+ - )?(\S.{0,400})")
_MORE_OF_FRAME = re.compile(r"[ |]{4,}\S|\s+\^")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python\d|\\lib\\|<frozen |<__array|node_modules|node:|\(internal/|internal/"
    r"|^(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|jakarta|groovy)\."
    r"|^org\.(?:springframework|apache|junit|eclipse|hibernate|gradle|jetbrains)\.|^(?:io\.netty|reactor)\."
    r"|/usr/(?:local/)?(?:lib|go)/|/go/pkg/mod/|/libexec/|^(?:runtime|net/http|testing|reflect|sync)\.|/vendor/"
    r"|/rustc/|^<?(?:core|std|alloc|tokio|rust_begin|__rust|backtrace)\b|\.cargo/registry|^(?:System|Microsoft)\.|<anonymous>$"
)
_MOST_LINES = 120_000


@dataclass(slots=True)
class Piece:
    """A frame with the lines that belong to it, or another single line."""

    text: str
    role: str  # message, chain, opening, own, library, other
    lines: int = 1


def extract(text: str, room: Room) -> str:
    """Exception lines and causes, then the user's frames from the error outwards, then the rest.

    Example: 300 frames -> "Traceback …\\n…\\n  File \\"app.py\\", line 3, in f\\n…\\nValueError: bad\\n[… 590 of …]"
    """
    if fits(text, room):
        return text
    if len(text) <= room.tokens * 200:
        form = dense(text)
        if form is not None and fits(form, room):
            return form
    if room.tokens < 8:
        return least(room, f"{text.count(chr(10)) + 1:,} lines")
    pieces = split(text)
    texts = [piece.text for piece in pieces]
    roles: dict[str, list[int]] = {role: [] for role in ("message", "chain", "opening", "own", "library", "other")}
    first, counts = _first_of_repeats(pieces)
    for index in first:
        roles[pieces[index].role].append(index)
    # The frame of the error is the last one in Python, and the first one in other languages.
    inwards = -1 if any("Traceback" in pieces[index].text for index in roles["opening"]) else 1
    tiers = [
        Tier(_ends_first(roles["message"]), 0.7),
        Tier(roles["chain"], 0.2),
        matching(texts, room, 0.25),
        Tier(roles["own"][::inwards], 0.7),
        Tier(roles["opening"], 0.3),
        Tier(_near(roles["message"], pieces), 0.4),
        Tier(roles["library"][::inwards]),
        Tier(head_and_tail(texts, room.tokens)),
    ]
    notes = {index: f"  [×{count}]" for index, count in counts.items() if pieces[index].role in ("own", "library")}
    return pack(texts, tiers, room, gap="", notes=notes, sizes=[piece.lines for piece in pieces])


def split(text: str) -> list[Piece]:
    """The text split into frames, messages and other lines; only both ends of a huge text are read closely."""
    lines = text.split("\n")
    if len(lines) <= 2 * _MOST_LINES:
        return list(_pieces(lines))
    middle = lines[_MOST_LINES:-_MOST_LINES]
    far = Piece("\n".join(middle), "other", len(middle))
    return [*_pieces(lines[:_MOST_LINES]), far, *_pieces(lines[-_MOST_LINES:])]


def _pieces(lines: Sequence[str]) -> Iterator[Piece]:
    at = 0
    while at < len(lines):
        line = lines[at][:1200]
        end = at + 1
        role = "other"
        following = lines[end][:600] if end < len(lines) else ""
        if frame := _PYTHON_FRAME.match(line):
            role = _whose(frame.group(1))
            indent = len(line) - len(line.lstrip(" |"))
            while end < len(lines) and end < at + 8 and _belongs(lines[end], indent):
                end += 1
        elif frame := _AT_FRAME.match(line):
            role = _whose(frame.group(1))
        elif place := _GO_PLACE.match(following):
            role = "library" if "library" in (_whose(place.group(1)), _whose(line)) else "own"
            end += 1
        elif (frame := _RUST_FRAME.match(line)) and (place := _AT_FRAME.match(following)):
            role = "library" if "library" in (_whose(place.group(1)), _whose(frame.group(1))) else "own"
            end += 1
        elif _CHAIN.match(line):
            role = "message" if _MESSAGE.match(line) else "chain"
        elif _MESSAGE.match(line):
            role = "message"
        elif _OPENING.match(line):
            role = "opening"
        yield Piece("\n".join(lines[at:end]), role, end - at)
        at = end


def _belongs(line: str, indent: int) -> bool:
    """Whether a line is the source or the carets under a Python frame."""
    if not line or _PYTHON_FRAME.match(line[:600]):
        return False
    return len(line) - len(line.lstrip(" |")) > indent and not line.lstrip(" |").startswith("[Previous line")


def _whose(place: str) -> str:
    return "library" if _LIBRARY.search(place) else "own"


def _first_of_repeats(pieces: Sequence[Piece]) -> tuple[list[int], dict[int, int]]:
    """Numbers of the pieces without repetitions, and the counts of the repeated ones."""
    seen: dict[str, int] = {}
    counts: dict[int, int] = {}
    first: list[int] = []
    for index, piece in enumerate(pieces):
        earlier = seen.get(piece.text)
        if earlier is None:
            seen[piece.text] = index
            first.append(index)
        else:
            counts[earlier] = counts.get(earlier, 1) + 1
    return first, counts


def _ends_first(order: Sequence[int]) -> list[int]:
    """The first and the last, which are the outermost error and the root cause, then those between them."""
    if len(order) < 3:
        return list(order)
    return [order[0], order[-1], *order[1:-1]]


def _near(messages: Sequence[int], pieces: Sequence[Piece]) -> Iterator[int]:
    """The lines right after a message, which continue it, and the line before it."""
    for index in messages:
        for other in (*range(index + 1, index + 6), index - 1):
            if 0 <= other < len(pieces) and pieces[other].role == "other" and pieces[other].text.strip():
                yield other
            elif other > index:
                break
