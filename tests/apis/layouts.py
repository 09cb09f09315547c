"""The many ways in which one JSON value may be written."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Write = Callable[[Any], bytes]


def spaced(value: Any) -> bytes:
    return b"\n \t" + json.dumps(value, indent="\t", separators=(" ,", " :  ")).encode() + b"\r\n "


def escaped(value: Any) -> bytes:
    """Every non-ASCII character, and every slash, as an escape."""
    return json.dumps(value, ensure_ascii=True).replace("/", "\\/").encode()


def plain(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def shuffled(value: Any) -> bytes:
    """Keys in another order, at every level."""
    order = random.Random(7)

    def turn(inner: Any) -> Any:
        if isinstance(inner, dict):
            keys = sorted(inner)
            order.shuffle(keys)
            return {key: turn(inner[key]) for key in keys}
        return [turn(item) for item in inner] if isinstance(inner, list) else inner

    return json.dumps(turn(value)).encode()


def doubled(value: Any) -> bytes:
    """Each top-level key twice: the last one holds."""
    pairs = [f'"{key}": 0' for key in value] + [f'"{key}": {json.dumps(inner)}' for key, inner in value.items()]
    return ("{" + ", ".join(pairs) + "}").encode()


LAYOUTS: dict[str, Write] = {
    "spaced": spaced,
    "escaped": escaped,
    "plain": plain,
    "shuffled": shuffled,
    "doubled": doubled,
}
