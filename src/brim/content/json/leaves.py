"""The values of a result, each scored by how likely a later step needs it word for word.

Values that come back are identifiers, numbers, codes, paths, e-mail addresses and dates; plain words, prose
and URLs hardly do. Position in a long list and length count against a value, weakly.

Example: leaves({"id": "4WQ150", "status": "available"}) -> id 4WQ150 (high), status available (low)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from typing import Any

from brim.content.json.identifiers import names_something, words_of

PROSE = 120  # a longer text with blanks in it is prose: of it only the identifiers count
# What identifiers under a naming key are worth is more than this; a plain word there is worth less.
NAMING = 0.6
_DATED = frozenset("date time at dob day month year timestamp created updated deadline due since until".split())
_MATTERS = frozenset(
    "phone address zip amount price cost fee fare rate balance total quantity count version port host ip url uri "
    "command query".split()
)
_WHOLE = re.compile(
    r"(?P<url>[a-z][a-z0-9+.-]{1,9}://)"
    r"|(?P<email>[\w.+-]{1,64}@[\w-]+\.[\w.-]+\Z)"
    r"|(?P<date>\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d.{0,12})?\Z|\d\d?:\d\d(?::\d\d)?(?:\+\d)?\Z)"
    r"|(?P<path>(?:\.{0,2}|~|[A-Za-z]:)[/\\][^\s]*\Z|[^\s/]+/[^\s]*\Z)"
    r"|(?P<file>[\w@+-][\w.@+-]{0,79}\.[A-Za-z][A-Za-z0-9]{0,5}\Z)"
    r"|(?P<tag>(?=[A-Z0-9]{0,11}[A-Z])(?=[A-Z0-9]{0,11}[0-9])[A-Z0-9]{4,12}\Z)"
    r"|(?P<code>[A-Z][A-Z0-9_-]{1,11}\Z)"
    r"|(?P<mixed>(?=\S{0,80}[\d_@#$-])[^\s]{2,80}\Z)"
)
_WHOLE_SCORES = {
    "url": -2.0,
    "email": 2.0,
    "date": 0.9,
    "path": 1.6,
    "file": 1.6,
    "tag": 2.4,
    "code": 1.4,
    "mixed": 1.6,
}
# A text without breaks is one long word: what may fail in it is tried at the start of words, and only so far.
_INSIDE = re.compile(
    r"(?P<pair>(?m:^)[ \t]*(?:[-*•][ \t]+)?[\"']?(?P<key>[^\W\d_][\w ()/-]{0,30}?)[\"']?[ \t]*[:=：][ \t]*"
    r"(?P<value>[^\s:|][^\n|]{0,79})(?=$|\||\n))"
    r"|(?P<link>(?<=\]\()[a-z]{2,9}://[^\s\"'<>)\]]+)"
    r"|(?P<url>[a-z]{2,9}://[^\s\"'<>)\]]+)"
    r"|(?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64})"
    r"|(?P<date>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?)"
    # A backslash alone is more often an escape inside a string than a path: "files.\nUse".
    r"|(?P<path>(?<!<)(?:\.{1,2}|~)?/[\w.@+-]+(?:/[\w.@+-]*)*|(?<!\w)[A-Za-z]:[/\\]+[\w.@+-]{2,}(?:[/\\]+[\w.@+-]*)*"
    r"|(?<!\w)\w[\w.@+-]{0,99}(?:/[\w.@+-]+)+)"
    # What is followed by a colon is a key.
    r"|(?P<quoted>\"[^\"\n]{1,80}\"(?![ \t]*:)|`[^`\n]{1,80}`|'[^'\n]{2,80}'(?![\w:]))"
    # Lines that were joined without a break: the next label begins where a number ends, "Price: $50Shipping: $4".
    r"|(?P<joined>(?:(?<=[:=] )|(?<=[:=]))[A-Z]{0,3}\d[\d,.]{0,30}(?=[A-Z][a-z]{1,30}(?: [A-Z][a-z]{1,30})?[ \t]?[:=]))"
    r"|(?P<amount>[$€£][ \t]?\d[\d,]*(?:\.\d+)?)"
    r"|(?P<mixed>(?<![A-Za-z_])[A-Za-z_][\w-]{0,99}[\d_][\w-]*(?:\.[\w-]+)*|(?<!\d)\d[\w-]{0,99}[A-Za-z_-][\w-]*"
    r"|(?<![A-Za-z_])[A-Za-z_]\w{0,99}\.[A-Za-z_]\w*(?:\.\w+)*)"
    r"|(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)*)"
    r"|(?P<code>\b[A-Z][A-Z0-9]{1,9}\b)"
)
_INSIDE_SCORES = {
    "url": -2.0,
    "link": 2.2,  # what a list of hits is read for
    "email": 2.0,
    "date": 0.9,
    "path": 1.4,
    "quoted": 0.3,
    "mixed": 1.3,
    "joined": 0.3,
    "amount": 0.9,
    "number": 0.3,
    "code": 0.4,
}
_KEY_BEFORE = re.compile(r"([^\W\d_][\w-]{0,30})[\"']?[ \t]*([:=#(]?)[ \t]*[\"'$€£]?\Z")
# A label may be of several words, each with a capital letter: these stand before its last one.
_LABEL_BEFORE = re.compile(r"(?<![\w-])(?:[A-Z][\w-]{0,20} ){1,3}\Z")
# The value that a label was joined to when the line before it lost its break.
_JOINED_TO = re.compile(r"\A[\w -]*\d(?=[A-Z][a-z])")
_MOST_INSIDE = 20_000


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value: where it stands, under which key, as it is printed, and how much it is worth."""

    path: tuple[str | int, ...]
    key: str
    text: str
    score: float


def leaves(value: Any) -> list[Leaf]:
    """Return the values of a JSON value in their order; of prose only the identifiers in it."""
    return list(_walk(value, (), "", 0))


def text_leaves(text: str, path: tuple[str | int, ...] = (), key: str = "") -> list[Leaf]:
    """Return the identifiers, numbers, paths, addresses, dates, quoted texts and `key: value` pairs of a text.

    Example: text_leaves("Order: A-17 shipped to ./out/a.txt") -> "A-17 shipped to ./out/a.txt" under Order, …
    """
    found = []
    for match in _INSIDE.finditer(text):
        kind = match.lastgroup or ""
        if match["pair"] is not None:
            said, name, at = match["value"].rstrip(), match["key"].strip(), match.start("value")
            if len(bare := said.rstrip(",").strip("\"'")) >= 2 and said[0] in "\"'":
                said, at = bare, at + 1
            found.append(Leaf((*path, at), name, said, score(name, said) + 0.4))
            found.extend(_parts(said, at, path, name))
        else:
            found.append(_part(match, kind, match.start(), path, key, text))
        if len(found) >= _MOST_INSIDE:
            break
    return found


def score(key: str, value: Any, place: int = 0) -> float:
    """Say how much a value is worth; `place` is its number in the list that it stands in."""
    worth = _key_worth(key)
    if value is None or value is True or value is False or value == "":
        worth -= 2.5
    elif isinstance(value, str):
        worth += _text_worth(value) - 0.012 * min(len(value), 200)
        if worth < NAMING and " " not in value and names_something(key):
            worth += 1.0  # a plain word that names something: "server_name": "filesystem"
    else:
        worth += 0.7
    if place > 7:
        worth -= min(1.0, 0.12 * log2(place / 4))
    return worth


def _key_worth(key: str) -> float:
    if names_something(key):
        return 1.5
    words = words_of(key)
    if words and (words[-1] in _DATED or words[-1] in _MATTERS):
        return 1.0
    return 0.0


def _text_worth(text: str) -> float:
    match = _WHOLE.match(text)
    if match is not None and match.lastgroup:
        return _WHOLE_SCORES[match.lastgroup]
    if len(text) > PROSE:
        return -3.0
    if any(char.isdigit() for char in text):
        return -0.2
    return -1.6


def _walk(value: Any, path: tuple[str | int, ...], key: str, place: int) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(item, (*path, name), name, place)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _walk(item, (*path, at), key, at)
    elif isinstance(value, str) and len(value) > PROSE and " " in value:
        yield from text_leaves(value, path, key)
    else:
        yield Leaf(path, key, printed(value), score(key, value, place))


def printed(value: Any) -> str:
    """Return a value as it stands in a skeleton: texts as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _parts(said: str, offset: int, path: tuple[str | int, ...], key: str) -> Iterator[Leaf]:
    """The identifiers inside the value of a pair, unless the value is one itself."""
    for match in _INSIDE.finditer(said):
        if match["pair"] is None and len(match[0]) < len(said):
            yield _part(match, match.lastgroup or "", offset + match.start(), path, key, said)


def _part(match: re.Match[str], kind: str, at: int, path: tuple[str | int, ...], key: str, text: str) -> Leaf:
    found = match[0].strip("\"'`") if kind == "quoted" else match[0].rstrip(".,;:")
    name = _key_before(text, match.start())
    worth = _INSIDE_SCORES.get(kind, 0.0) + _key_worth(name or key) * 0.6 - 0.012 * min(len(found), 200)
    return Leaf((*path, at), name, found, worth)


def _key_before(text: str, at: int) -> str:
    """The key of what stands at a place of a text; empty for none.

    Example: "Her Total Score: 96" at the number -> "Her Total Score"
    """
    found = _KEY_BEFORE.search(text, max(0, at - 34), at)
    if found is None:
        return ""
    labels = found[2] in {":", "=", "#"} and found[1][0].isupper()
    more = _LABEL_BEFORE.search(text, max(0, found.start() - 64), found.start()) if labels else None
    start, name = (found.start(), found[1]) if more is None else (more.start(), more[0] + found[1])
    joined = labels and text[max(0, start - 4) : start].rstrip(" \t").endswith((":", "="))
    return _JOINED_TO.sub("", name) if joined else name
