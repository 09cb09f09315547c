"""The recent usage reports of providers, and which of them agree.

The newest reports are kept, so that what no longer holds is forgotten. A report counts only while it lies near the
median of all of them: however far off one is, it moves nothing. Where most of them say something new, that is what
they agree on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median_high
from typing import Final, NamedTuple

from brim.tokens.plausible import frames

# How many recent reports to keep. A majority of them can change the consensus.
KEPT: Final = 64
# Reports that must agree before an unknown vocabulary counts as known.
AGREEING: Final = 3
# A known tokenizer starts as if this many reports had confirmed it.
CONFIRMED: Final = 3
# Reports differ by content; this many times their usual distance from the median still agrees. Four median
# deviations hold 99.3% of a normal distribution.
FAR: Final = 4.0
# The same content comes again with other tools or in another language: reports that lie together, away from the median,
# agree too if they are this many and this share of all.
TOGETHER: Final = 3
TOGETHER_SHARE: Final = 0.1
CLOSE: Final = 0.02
# Where reports are spread so far that their median tells nothing, this share of them that lie together does: of 3,000
# played sequences one had four true reports beside five absurd ones, and a fit moved by 6% of its window.
SAME_SHARE: Final = 0.4


class Reach(NamedTuple):
    """The shares of the median by which a report may differ: what always agrees, and what never does.

    A report on the low side that is left out costs nothing, one on the high side may have been true.
    """

    near: float
    above: float
    below: float


# An exact tokenizer misses by its framing. One that stands in for an unknown one misses by content too: on prose and
# code other vocabularies make 0.81 to 1.6 tokens of one of o200k (`scripts/measure-bands`).
EXACT: Final = Reach(0.03, 0.12, 0.12)
UNKNOWN: Final = Reach(0.10, 0.35, 0.25)


class Observation(NamedTuple):
    """One report: what some messages were counted as (`other`: by a second vocabulary, or 0) and charged as."""

    own: int
    other: int
    messages: int
    actual: int


@dataclass(frozen=True, slots=True)
class Consensus:
    """The ratio of charged to counted tokens that most reports agree on, and how far others may differ."""

    ratio: float
    share: float
    spread: float  # how far from it they usually lie: by it the better of two measures is told
    reach: Reach
    ratios: tuple[float, ...]  # of all reports, in order of size
    other: bool  # whether the second vocabulary is the better measure

    def tells(self, seen: Observation) -> bool:
        """Whether a report agrees by its ratio alone.

        Framing alone explains almost any charge for a short request: it may be true, and says nothing of a factor. One
        of these among the last moved a fit by 12% of its window.
        """
        likely = self.ratio * (seen.other if self.other else seen.own)
        return abs(seen.actual - likely) <= self.share * likely

    def holds(self, seen: Observation) -> bool:
        counted = seen.other if self.other else seen.own
        likely = self.ratio * counted
        # Framing is a matter of messages: of many short ones it may be most, of a long text it is nothing.
        off = abs(seen.actual - likely) - min(frames(seen.messages), frames(0) + 0.25 * likely)
        farthest = self.reach.above if seen.actual > likely else self.reach.below
        if off > farthest * likely:
            return False
        return off <= self.share * likely or self._together(seen.actual / counted)

    def _together(self, ratio: float) -> bool:
        near = bisect_right(self.ratios, ratio * (1 + CLOSE)) - bisect_left(self.ratios, ratio * (1 - CLOSE))
        return near >= max(TOGETHER, TOGETHER_SHARE * len(self.ratios))


@dataclass(slots=True)
class Observations:
    """The most recent reports of one kind, in order."""

    seen: list[Observation] = field(default_factory=list)
    number: int = 0  # how many there were in all

    def add(self, one: Observation) -> None:
        self.seen.append(one)
        del self.seen[:-KEPT]
        self.number += 1

    def settled(self) -> bool:
        return len(self.seen) >= AGREEING or not any(one.other for one in self.seen)

    def consensus(self) -> Consensus | None:
        """What they agree on; None while there are too few of an unknown vocabulary."""
        own = [one.actual / one.own for one in self.seen]
        other = [one.actual / one.other for one in self.seen if one.other]
        if not other:
            return _around(own + [1.0] * CONFIRMED, EXACT, other=False)
        if len(own) < AGREEING:
            return None
        both = [_around(own, UNKNOWN, other=False)]
        if len(other) == len(own):
            both.append(_around(other, UNKNOWN, other=True))
        return min(both, key=lambda found: found.spread)

    def agreeing(self) -> list[Observation]:
        """The reports that agree, in order."""
        found = self.consensus()
        return [] if found is None else [one for one in self.seen if found.holds(one)]

    def telling(self) -> list[Observation]:
        """The agreeing reports that determine the factor, in order."""
        found = self.consensus()
        return [] if found is None else [one for one in self.seen if found.holds(one) and found.tells(one)]


def _around(ratios: Sequence[float], reach: Reach, *, other: bool) -> Consensus:
    ordered = sorted(ratios)
    middle = median_high(ordered)
    deviation = median_high(abs(ratio - middle) for ratio in ordered) / middle
    share = max(FAR * deviation, reach.near)
    if share > reach.above and (same := _closest(ordered)):
        middle, share = median_high(same), reach.near
        deviation = CLOSE
    return Consensus(middle, min(share, reach.above), deviation, reach, tuple(ordered), other)


def _closest(ordered: Sequence[float]) -> Sequence[float]:
    """The most reports that say about the same; none where they are too few to be believed against the others."""
    runs = [ordered[at : bisect_right(ordered, ratio * (1 + CLOSE))] for at, ratio in enumerate(ordered)]
    longest = max(runs, key=len)
    return longest if len(longest) >= max(AGREEING, SAME_SHARE * len(ordered)) else ()
