"""Mutations of a document. Each takes the text and a random source, and keeps to its source alone."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Mutation = Callable[[str, random.Random], str]
# No mutation makes a text larger than this: the work for one document stays bounded.
LARGEST = 48_000
ODD = (
    "\ufeff",
    "\u2028",
    "\u200b",
    "\ud800",
    "\udfff",
    "\x1b[31m",
    "\x85",
    "é",
    "漢字",
    "👩‍👩‍👧",
    "مرحبا",
    "\u0301" * 50,
)
SIGNS = (
    '"""',
    '"',
    "'",
    "`",
    "```",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    "</",
    "<!--",
    "\\",
    "%",
    "#brim json ",
    "…",
    "|",
    "$A",
    "~",
    "@@",
)
RUNS = (
    "a", "A", "0", " ", "\n", "\t", "-", "=", ".", "\\", '"', "[", "(", "{", "<", "#", "/", "漢",
    "a ", "a\n", '"",', "(,", "[]", "\\n", "a.", "`",
)  # fmt: skip
NUMBERS = ("NaN", "Infinity", "-0", "1e999", "1.50", "9" * 30, "9" * 5000, "0.1e-400", "-0.0", "1E5", "007")


def truncate(text: str, source: random.Random) -> str:
    start = source.randrange(len(text) // 2 + 1) if source.random() < 0.3 else 0
    return text[start : start + 1 + source.randrange(len(text) + 1)]


def splice(text: str, source: random.Random) -> str:
    """Pieces of the text in another order, some of them twice."""
    cuts = sorted(source.randrange(len(text) + 1) for _ in range(source.randint(2, 8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    source.shuffle(pieces)
    return "".join(pieces + source.sample(pieces, 1))


def nest(text: str, source: random.Random) -> str:
    """The text deep inside lists and objects: as the value that it is, or as a string."""
    try:
        inner = json.dumps(json.loads(text)) if source.random() < 0.8 else json.dumps(text)
    except (ValueError, RecursionError):
        inner = json.dumps(text)
    depth = source.choice((1, 2, 5, 20, 60, 140, 149, 200, 500, 1_200))
    opening, closing = source.choice(
        (("[", "]"), ('{"a":', "}"), ('{"a":[', "]}"), ('[{"id":1,"b":', "}]"), ('{"x y":1,"z":', "}"))
    )
    return opening * depth + inner + closing * depth


def quote(text: str, source: random.Random) -> str:
    """The text as a JSON string in a JSON string, and so on."""
    value: Any = text[:20_000]
    for _ in range(source.randint(1, 5)):
        value = json.dumps({"text": value, "n": 1} if source.random() < 0.7 else [value])
    return str(value)


def widen(text: str, source: random.Random) -> str:
    """Objects with many keys, or lines with many columns, made of the text's own words."""
    words = text.split()[:600] or ["x"]
    number = source.choice((50, 400, 2_000, 5_000))
    if source.random() < 0.6:
        pairs = [(f"{source.choice(words)[:40]}{at}", source.choice(words)[:80]) for at in range(number)]
        wide = dict(pairs)
        if source.random() < 0.5:
            return json.dumps(
                {
                    key: {word: value, "n": at}
                    for at, (key, value) in enumerate(pairs)
                    for word in [source.choice(words)[:20]]
                }
            )
        return json.dumps([wide] * source.randint(1, 3) if source.random() < 0.5 else wide)
    sign = source.choice((",", "\t", ";", "|", " "))
    row = sign.join(source.choice(words)[:20] for _ in range(number))
    return "\n".join([row] * source.randint(2, 5))


def repeat(text: str, source: random.Random) -> str:
    piece = text[: source.choice((1, 3, 10, 100, 1_000, len(text)))] or "x"
    return piece * max(2, source.randint(2, max(2, source.choice((2_000, 20_000, 80_000)) // len(piece))))


def repeat_lines(text: str, source: random.Random) -> str:
    lines = text.split("\n")
    at = source.randrange(len(lines))
    lines[at:at] = [lines[at]] * source.choice((2, 50, 1_000))
    return "\n".join(lines)


def surrogates(text: str, source: random.Random) -> str:
    """Escapes of lone surrogates where letters stood, as JSON may have them."""
    return _replaced(
        text,
        source,
        lambda: source.choice(("\\ud800", "\\udc00", "\\ud83d", "\\ud83d\\ude00", "\\u0000", "\\", "\\x41")),
    )


def odd_characters(text: str, source: random.Random) -> str:
    return _replaced(text, source, lambda: source.choice(ODD))


def signs(text: str, source: random.Random) -> str:
    return _replaced(text, source, lambda: source.choice(SIGNS) * source.choice((1, 1, 2, 30)))


def numbers(text: str, source: random.Random) -> str:
    """Numbers that not every reader holds, where digits stood."""
    places = [at for at, sign in enumerate(text[:LARGEST]) if sign.isdigit()]
    return _put(text, source.sample(places, min(len(places), 4)), lambda: source.choice(NUMBERS))


def nul(text: str, source: random.Random) -> str:
    return _replaced(text, source, lambda: "\0" * source.choice((1, 1, 40)))


def long_lines(text: str, source: random.Random) -> str:
    return text.replace("\n", source.choice(("", " ", "\\n", "\r", "\x0b")))


def one_letter(text: str, source: random.Random) -> str:
    at = source.randrange(len(text) + 1)
    run = source.choice(RUNS)
    many = run * source.choice((300, 3_000, 20_000))
    return source.choice((many, text[:at] + many + text[at:], many + text, text + many))


def crlf(text: str, source: random.Random) -> str:
    return text.replace("\n", source.choice(("\r\n", "\r\n", "\r\r\n", "\n\r")))


def indent(text: str, source: random.Random) -> str:
    blank = source.choice((" ", "\t", "\u00a0", "\u3000")) * source.choice((1, 4, 239, 241, 500))
    share = source.choice((0.02, 1.0))
    return "\n".join(blank + line if source.random() < share else line for line in text.split("\n")[:400])


def shuffle_lines(text: str, source: random.Random) -> str:
    lines = text.split("\n")
    source.shuffle(lines)
    return "\n".join(lines)


def equal_keys(text: str, source: random.Random) -> str:
    """A JSON object with one of its keys twice."""
    at = text.find("{")
    key = source.choice(("a", "id", "x"))
    return f'{text[: at + 1]}"{key}": 1, "{key}": {{}},{text[at + 1 :]}' if at >= 0 else f'{{"{key}": 1, "{key}": 2}}'


MUTATIONS: dict[str, Mutation] = {
    "truncate": truncate,
    "splice": splice,
    "nest": nest,
    "quote": quote,
    "widen": widen,
    "repeat": repeat,
    "repeat lines": repeat_lines,
    "surrogates": surrogates,
    "odd characters": odd_characters,
    "signs": signs,
    "numbers": numbers,
    "nul": nul,
    "long lines": long_lines,
    "one letter": one_letter,
    "crlf": crlf,
    "indent": indent,
    "shuffle lines": shuffle_lines,
    "equal keys": equal_keys,
}


def mutate(text: str, name: str, mutation: str, seed: int) -> str:
    """The text after a mutation: the same for the same document, mutation and seed, on any machine."""
    return MUTATIONS[mutation](text, random.Random(f"{seed}/{mutation}/{name}"))[:LARGEST]


def chosen(name: str, number: int, seed: int) -> list[str]:
    """Which mutations a document goes through: a few of all, in turn by its name."""
    return random.Random(f"{seed}/{name}").sample(sorted(MUTATIONS), min(number, len(MUTATIONS)))


def _replaced(text: str, source: random.Random, new: Callable[[], str]) -> str:
    number = source.choice((1, 3, 20))
    return _put(text, [source.randrange(len(text)) for _ in range(number)] if text else [], new)


def _put(text: str, places: list[int], new: Callable[[], str]) -> str:
    pieces: list[str] = []
    at = 0
    for place in sorted(set(places)):
        pieces += [text[at:place], new()]
        at = place + 1
    return "".join([*pieces, text[at:]])
