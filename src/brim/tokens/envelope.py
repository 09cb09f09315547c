"""The most and the least that was charged for counts of each size: lines above and below all observations.

The line above is concave because messages are counted together: the bound of their mean is then at least the mean of
their bounds. Beyond the sizes that were seen, an error is taken as so many tokens, or as the share that it was beyond
what framing explains: a short message that took twice its count says nothing about a long one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]
# An observation at one size says something about sizes up to this many times as large.
REACH = 8
# From this size on, errors grow with the text and its framing.
LONG = 1_000
# From this size on, content rather than framing decides the ratio of charge to count.
SOLID = 256


@dataclass(frozen=True, slots=True)
class Envelope:
    """What messages of each count took. Made by `around`."""

    above: tuple[Point, ...] = ()
    below: tuple[Point, ...] = ()
    sizes: tuple[float, ...] = ()  # in order
    share: float = 0.0
    steepest: float = 0.0  # the highest charge per counted token, where content decides it

    def near(self, size: float) -> int:
        """How many observations say something about a size."""
        return len(self.sizes) - bisect_left(self.sizes, size / REACH)

    def most(self, size: float, factor: float) -> float:
        """The most that messages of a size took, and never less than their count."""
        counted = max(factor, self.steepest) * size
        return max(counted, self._height(self.above, size, factor)) if self.above else counted

    def spread(self, size: float, factor: float) -> float:
        """How much messages of a size varied."""
        if not self.above:
            return 0.0
        return max(0.0, self._height(self.above, size, factor) - self._height(self.below, size, factor))

    def _height(self, line: Sequence[Point], size: float, factor: float) -> float:
        first, last = line[0], line[-1]
        if first[0] < size < last[0]:
            after = bisect_left(line, (size,))
            (x0, y0), (x1, y1) = line[after - 1], line[after]
            return y0 + (y1 - y0) * (size - x0) / (x1 - x0)
        x, y = first if size <= first[0] else last
        error = y - factor * x
        return factor * size + max(error, min(self.share * factor * size, error * size / x))


def around(points: Sequence[tuple[float, float, float]], factor: float, contents: Sequence[Point] = ()) -> Envelope:
    """The envelope of counted sizes, what they took, and the tokens of that which framing may explain.

    Where content decides the ratio, what is kept of a request may be all of the kind that takes most: `contents` are
    sizes of such, and what they took.
    """
    if not points:
        return Envelope()
    above = _roof([(size, took) for size, took, _ in points])
    below = tuple((size, -took) for size, took in _roof([(size, -took) for size, took, _ in points]))
    beyond = [
        (took - factor * size - (framing if size < LONG else 0.0)) / (factor * size)
        for size, took, framing in points
        if factor
    ]
    steepest = [took / size for size, took in contents if size >= SOLID]
    sizes = tuple(sorted(size for size, _, _ in points))
    return Envelope(above, below, sizes, max([0.0, *beyond]), max([0.0, *steepest]))


def _roof(points: Sequence[Point]) -> tuple[Point, ...]:
    """The upper hull of points. Example: (1, 0), (2, 5), (3, 1), (3, 2) -> (1, 0), (2, 5), (3, 2)"""
    hull: list[Point] = []
    for x, y in sorted(points):
        if hull and hull[-1][0] == x:
            hull.pop()
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if (y1 - y0) * (x - x0) > (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append((x, y))
    return tuple(hull)
