"""Items in pieces: how an item's tokens divide by what they are worth.

A short text is one piece: kept or not. A long one is worth most in its first share, since an extract keeps the
best of it. A result divides by its values: an identifier is worth more than a flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from brim.plan.items import WHOLE, Item

# What the first, the second, … share of a long text is worth above or below the item's weight.
SHARES = ((0.06, 0.8), (0.06, 0.5), (0.13, 0.2), (0.25, -0.2), (0.5, -0.6))

# What the words between the values of a result are worth above or below its weight.
REST = -3.5


class Piece(NamedTuple):
    """Some tokens of an item at one worth; `threshold` is what values must be worth to be in it."""

    worth: float
    tokens: int
    item: Item
    group: int
    threshold: float | None = None


def pieces(item: Item, group: int, floor: int, steps: Sequence[tuple[float, int]] | None) -> list[Piece]:
    """The pieces of an item beyond its floor, best first."""
    left = item.tokens - floor
    if left <= 0:
        return []
    if steps is not None:
        cut = [Piece(item.weight + worth, size, item, group, worth) for worth, size in steps]
        rest = left - sum(size for _, size in steps)
        # Beyond its values there is what stands between them.
        return [*cut, Piece(item.weight + REST, rest, item, group)] if rest > 0 else cut
    if item.whole or item.tokens <= WHOLE or item.fixed or item.kind in ("thinking", "media"):
        return [Piece(item.weight, left, item, group)]
    cut = [Piece(item.weight + worth, int(left * share), item, group) for share, worth in SHARES]
    return [piece for piece in cut if piece.tokens > 0]
