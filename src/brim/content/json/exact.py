"""Reads JSON text without losing anything, and removes its whitespace.

msgspec parses fastest, but keeps the last of two equal keys, and a number's value rather than its digits.
`load` notices by comparing lengths and then reads again, slowly, with every number's own digits.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

_INK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^ \t\r\n"]+|"', re.DOTALL)


class NotExact(ValueError):
    """The text is JSON, but a Python value can't represent all of it (two equal keys, NaN, a lone surrogate)."""


class Digits(float):
    """A float that keeps its spelling: `1.50` stays `1.50`."""

    __slots__ = ("text",)
    text: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A JSON text as `value`, and without whitespace.

    `proof` is the value's canonical encoding, which tells 1 from 1.0 and keeps key order.
    """

    value: Any
    proof: bytes
    minified: str

    def proves(self, other: Any) -> bool:
        try:
            return msgspec.json.encode(other) == self.proof
        except (TypeError, UnicodeEncodeError, RecursionError):
            return False


def load(text: str) -> Loaded:
    """Parse `text`. Raises NotExact if something would be lost, ValueError if it isn't JSON."""
    try:
        value = msgspec.json.decode(text)
        proof = msgspec.json.encode(value)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return _load_slowly(text)
    canonical = proof.decode()
    if _inked(text) == _inked(canonical) and text.count('"') == canonical.count('"'):
        return Loaded(value, proof, canonical)
    return _load_slowly(text)


def minify(text: str) -> str:
    """Return `text` without whitespace between its tokens; every token keeps its spelling."""
    return "".join(_INK.findall(text))


def _inked(text: str) -> int:
    return len(text) - text.count(" ") - text.count("\n") - text.count("\t") - text.count("\r")


def _load_slowly(text: str) -> Loaded:
    try:
        plain = json.loads(text, object_pairs_hook=_without_equal_keys, parse_constant=_refuse)
        proof = msgspec.json.encode(plain)
        value = json.loads(text, parse_float=_with_digits, parse_int=_whole)
    except (UnicodeEncodeError, RecursionError) as error:
        raise NotExact(str(error)) from error
    return Loaded(value, proof, minify(text))


def _without_equal_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise NotExact("two equal keys in one object")
    return built


def _refuse(name: str) -> float:
    raise NotExact(f"{name} is not a JSON number")


def _with_digits(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise NotExact(f"{text} is beyond a float")
    if repr(value) == text:
        return value
    spelled = Digits(value)
    spelled.text = text
    return spelled


def _whole(text: str) -> int:
    if text == "-0":
        raise NotExact("-0 would become 0")
    return int(text)
