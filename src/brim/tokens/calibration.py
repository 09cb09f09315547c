"""How far counts of one model family were off, and the margin that this asks for.

What was seen is a set of points: so many tokens a message were counted, so many charged. The bound is the lowest
concave line above them, and some headroom that shrinks with evidence. A concave line because messages are counted
together: the bound of their mean is then at least the mean of their bounds. Points below the line need not be kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Literal

Source = Literal["actual", "exact", "reconstructed", "estimated"]
# The margins that a source starts with, before anything was seen of a model: 2 / 5 / 10 %.
MARGINS: dict[Source, float] = {"actual": 0.02, "exact": 0.05, "reconstructed": 0.05, "estimated": 0.10}
# What a provider may put around a first request that nobody has told of, in tokens.
UNTOLD: dict[Source, int] = {"actual": 0, "exact": 16, "reconstructed": 32, "estimated": 32}
# A few messages vary more than a whole request does: their margin starts as so many times its share.
FEW = 4
# After so many observations a ruler that is so many times worse than another is not asked.
ENOUGH, POOR = 10, 3
# How much of a factor's last value stays when a new one is seen.
INERTIA = 0.7
# What stands around a message's text, roughly: errors of very short messages are errors of this.
FRAME = 16
# Below so many tokens a message, an error says more about framing than about the text.
SHORT = 120
Point = tuple[float, float]
# What messages are counted as, and by a second ruler where there is one.
Sizes = tuple[float, float | None]


@dataclass(slots=True)
class Envelope:
    """What messages took that were counted as so much: the most and the least, as lines above and below all points.

    Beyond the sizes that were seen, an error is taken as so many tokens or as such a share, whichever is more.
    """

    number: int = 0
    above: list[Point] = field(default_factory=list)
    below: list[Point] = field(default_factory=list)
    # What earlier processes saw: tokens that every message was too low by, and a share of long ones.
    frame: float = 0.0
    share: float = 0.0

    def add(self, counted: float, messages: int, actual: float) -> None:
        size, took = counted / messages, actual / messages
        self.number += 1
        self.above = _roof([*self.above, (size, took)])
        self.below = [(x, -y) for x, y in _roof([*((x, -y) for x, y in self.below), (size, -took)])]

    def most(self, size: float, factor: float) -> float:
        """The most that messages of a size took, and never less than what is counted for them."""
        counted = factor * size
        seen = counted + max(self.frame, self.share * counted)
        return max(seen, _height(self.above, size, factor)) if self.above else seen

    def spread(self, size: float, factor: float) -> float:
        """How far apart messages of a size were."""
        if not self.above:
            return 0.0
        return max(0.0, _height(self.above, size, factor) - _height(self.below, size, factor))

    def worst(self, factor: float) -> Point:
        """The tokens that short messages were too low by at most, and the share of long ones."""
        frame, share = self.frame, self.share
        for size, took in self.above if factor else ():
            if size < SHORT:
                frame = max(frame, took - factor * size)
            else:
                share = max(share, took / (factor * size) - 1)
        return frame, share


def _height(line: Sequence[Point], size: float, factor: float) -> float:
    """How high a line is at a size; beyond its ends it rises as steeply as an error can."""
    first, last = line[0], line[-1]
    if size <= first[0] or size >= last[0]:
        x, y = first if size <= first[0] else last
        error = y - factor * x
        return factor * size + max(error, error * size / x)
    after = bisect_left(line, (size,))
    (x0, y0), (x1, y1) = line[after - 1], line[after]
    return y0 + (y1 - y0) * (size - x0) / (x1 - x0)


def _roof(points: Sequence[Point]) -> list[Point]:
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
    return hull


@dataclass(slots=True)
class Ruler:
    """One way to count messages: the factor from its numbers to the provider's, and how well they agree."""

    factor: float = 1.0
    rests: Envelope = field(default_factory=Envelope)
    off: float = 1.0

    def correct(self, counted: float, actual: float) -> None:
        """Move the factor towards what was seen (0.7 old, 0.3 new)."""
        if counted > 0 and actual > 0:
            self.factor = INERTIA * self.factor + (1 - INERTIA) * actual / counted

    def learn(self, counted: float, messages: int, actual: float) -> None:
        self.rests.add(counted, messages, actual)
        off = abs(1 - self.factor * counted / actual)
        self.off = INERTIA * self.off + (1 - INERTIA) * off


@dataclass(slots=True)
class Calibration:
    """What was seen of one model family: how far off its counts were, and by which factor on average.

    Counts go in as the tokenizer (or the estimate) gives them; the factor is applied here. A family without a
    tokenizer of its own has a second ruler for what follows a known prefix: a vocabulary that is known divides
    content as other vocabularies do, while the estimate is on the high side of them all, here more and there less.
    """

    own: Ruler = field(default_factory=Ruler)
    other: Ruler = field(default_factory=lambda: Ruler(factor=0.0, off=0.5))
    wholes: Envelope = field(default_factory=Envelope)
    repeats: int = 0
    worst_repeat: float = 0.0
    # What a message was too low by if that was not the prompt's own frame: so it seems until messages are measured.
    _suspected: float = 0.0

    @property
    def factor(self) -> float:
        return self.own.factor

    def margin(self, source: Source) -> float:
        """The share that is added to a long count: it starts at 2, 5 or 10 %, and shrinks to what was seen."""
        if source == "actual":
            return max(self.worst_repeat, MARGINS["actual"] / (1 + self.repeats))
        return max(self.wholes.worst(self.factor)[1], MARGINS[source] / sqrt(1 + self.wholes.number))

    def upper(self, source: Source, tokens: float, messages: int = 0) -> int:
        """The most that a whole request can take, as far as is known."""
        if source == "actual":
            return ceil(tokens * (1 + self.margin("actual")))
        start = MARGINS[source] * self.factor * tokens + UNTOLD[source]
        headroom = max(start, self.wholes.spread(tokens, self.factor)) / sqrt(1 + self.wholes.number)
        return ceil(self.wholes.most(tokens, self.factor) + headroom)

    def rest(self, tokens: Sizes) -> float:
        """What messages after a known prefix take, most likely."""
        ruler, counted = self._better(tokens)
        return ruler.factor * counted

    def upper_rest(self, source: Source, tokens: Sizes, messages: int, before: float) -> float:
        """The most that messages can take after a prefix that took `before`, by the rulers that hold."""
        if not messages:
            return 0.0
        bounds = [
            self._bound(ruler, counted / messages, source, (before + ruler.factor * counted) / messages)
            for ruler, counted in zip((self.own, self.other), tokens, strict=True)
            if counted is not None and ruler.factor and self._holds(ruler)
        ]
        return messages * max(bounds)

    def _holds(self, ruler: Ruler) -> bool:
        """Whether a ruler is about as good as the better one, or too little is seen to say."""
        rival = self.other if ruler is self.own else self.own
        return not rival.factor or ruler.rests.number < ENOUGH or ruler.off <= POOR * rival.off

    def _bound(self, ruler: Ruler, size: float, source: Source, whole: float) -> float:
        """The most that a message of this size can take; `whole` is its part of the request."""
        counted, rests = ruler.factor * size, ruler.rests
        start = min(FEW * MARGINS[source] * (counted + FRAME), MARGINS[source] * whole)
        headroom = max(start, rests.spread(size, ruler.factor)) / sqrt(1 + rests.number)
        return max(rests.most(size, ruler.factor), counted + self._suspected / (1 + rests.number)) + headroom

    def _better(self, tokens: Sizes) -> tuple[Ruler, float]:
        """The ruler that was closer of late, and what it counts."""
        own, other = tokens
        if other is None or not self.other.factor or self.own.off < self.other.off:
            return self.own, own
        return self.other, other

    def learn_whole(self, tokens: Sizes, messages: int, actual: int) -> None:
        """Note that a whole request that was counted as so much took `actual`.

        A second count comes with families that have no exact tokenizer: they have factors to correct.
        """
        own, other = tokens
        if own <= 0 or actual <= 0:
            return
        if other is not None:
            self.own.correct(own, actual)
            self.other.factor = self.other.factor or actual / other
            self.other.correct(other, actual)
        self.wholes.add(own, 1, actual)
        self._suspected = max(self._suspected, (actual - self.factor * own) / max(1, messages))

    def learn_rest(self, tokens: Sizes, messages: int, actual: int) -> None:
        """Note that messages after a known prefix took `actual`."""
        self.repeats += 1
        own, other = tokens
        if own <= 0 or messages <= 0 or actual <= 0:
            return
        self.own.learn(own, messages, actual)
        if other is not None:
            self.other.learn(other, messages, actual)

    def learn_repeat(self, before: int, actual: int) -> None:
        """Note that a prompt whose number was known was charged again, as so much."""
        self.repeats += 1
        self.worst_repeat = max(self.worst_repeat, actual / before - 1)

    def kept(self) -> tuple[float, ...]:
        """What a later process should start from."""
        rulers = (self.own, self.other)
        found = [(ruler.factor, ruler.off, *ruler.rests.worst(ruler.factor)) for ruler in rulers]
        return (*found[0], *found[1], *self.wholes.worst(self.factor))

    def resume(self, kept: Sequence[float]) -> None:
        """Start from what an earlier process saw."""
        for ruler, (factor, off, frame, share) in zip((self.own, self.other), (kept[:4], kept[4:8]), strict=True):
            ruler.factor, ruler.off, ruler.rests.frame, ruler.rests.share = factor, off, frame, share
        self.wholes.frame, self.wholes.share = kept[8:]
