"""How far off the counts of one vocabulary were, and the margin that this calls for.

What is known is what providers reported of late, as far as reports agree (`observations`). All else follows from
those: the factor from Brim's count to the provider's, the bound (the lowest concave line above what was seen, and some
headroom that shrinks with evidence), and which of two ways to count is the better one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Final, Literal

from brim.tokens.envelope import Envelope, around
from brim.tokens.observations import Observation, Observations
from brim.tokens.plausible import frames

Source = Literal["actual", "exact", "reconstructed", "estimated"]
# The margin of each source before anything was observed: 2, 5 or 10%.
MARGINS: dict[Source, float] = {"actual": 0.02, "exact": 0.05, "reconstructed": 0.05, "estimated": 0.10}
# Undocumented framing that a provider may add to a first request, in tokens.
UNTOLD: dict[Source, int] = {"actual": 0, "exact": 16, "reconstructed": 32, "estimated": 32}
# A few messages vary more than a whole request does, so their margin starts this many times larger.
FEW = 4
# After ENOUGH observations, a ruler POOR times worse than the other is ignored.
ENOUGH, POOR = 10, 3
# Weight of a factor's previous value when a new one is observed.
INERTIA = 0.7
# Roughly the framing of a message; errors of very short messages come from this.
FRAME = 16
# How many recent repeats to remember; one that differs by more than this share was a different prompt.
REPEATS: Final = 32
FARTHEST_REPEAT: Final = 0.12
# The count of some messages, and the second ruler's count if there is one.
SizeBand = tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class Ruler:
    """One way to count messages: the factor to the provider's numbers, and how well they agree."""

    factor: float
    rests: Envelope
    off: float


@dataclass(frozen=True, slots=True)
class Learnt:
    """The conclusions from the reports that agree."""

    own: Ruler
    other: Ruler
    wholes: Envelope
    settled: bool
    # What a message was too low by if that was not the prompt's own frame: so it seems until messages are measured.
    suspected: float
    longest: Observation | None = None


@dataclass(slots=True)
class Calibration:
    """The observations of one vocabulary: how far off its counts were, and by what factor on average.

    Counts go in as the tokenizer (or the estimate) gives them; the factor is applied here. A family without a
    tokenizer of its own has a second ruler for what follows a known prefix: a vocabulary that is known divides
    content as other vocabularies do, while the estimate is on the high side of them all, here more and there less.
    """

    wholes: Observations = field(default_factory=Observations)
    rests: Observations = field(default_factory=Observations)
    repeats: list[float] = field(default_factory=list)
    _learnt: Learnt | None = None

    @property
    def learnt(self) -> Learnt:
        """The conclusions from all reports so far, computed on first use."""
        if self._learnt is None:
            self._learnt = _follows(self.wholes, self.rests)
        return self._learnt

    @property
    def factor(self) -> float:
        return self.learnt.own.factor

    def margin(self, source: Source) -> float:
        """The share that is added to a long count: it starts at 2, 5 or 10 %, and shrinks to what was seen."""
        if source == "actual":
            # A known number that messages were appended to, as counted, is confirmed like one that was charged again.
            confirmed = len(self.repeats) + len(self.learnt.own.rests.sizes)
            return max(max(self.repeats, default=0.0), MARGINS["actual"] / (1 + confirmed))
        wholes = self.learnt.wholes
        return max(wholes.share, MARGINS[source] / sqrt(1 + len(wholes.sizes)))

    def upper(self, source: Source, tokens: float, messages: int = 0) -> int:
        """The most that a whole request can take, according to what is known."""
        if source == "actual":
            return ceil(tokens * (1 + self.margin("actual")))
        learnt = self.learnt
        factor = learnt.own.factor if learnt.settled else max(1.0, learnt.own.factor)
        start = MARGINS[source] * factor * tokens + UNTOLD[source]
        if not learnt.settled:
            return ceil(factor * tokens + start)
        wholes = learnt.wholes
        # What content does to an estimate is never all seen: of 48 played sequences two passed the window by 2% where
        # this margin shrank too. A conversation whose beginning is known has the smaller one of `upper_rest`.
        evidence = 1.0 if source == "estimated" else sqrt(1 + wholes.near(tokens))
        headroom = max(start, wholes.spread(tokens, factor)) / evidence
        most = max(wholes.most(tokens, factor), factor * tokens + self._framing(tokens, messages, source))
        return ceil(most + headroom)

    def _framing(self, tokens: float, messages: int, source: Source) -> float:
        """What stands around so many messages, where the longest request that was seen had fewer.

        Framing grows with the messages: one of 3,900 played sequences passed the window by 0.3% where it did not. It is
        never taken as more than the share that is added before anything was seen.
        """
        longest, factor = self.learnt.longest, self.learnt.own.factor
        if longest is None or longest.other or tokens <= longest.own or messages <= longest.messages:
            return 0.0
        each = (longest.actual - factor * longest.own) / longest.messages
        return min(each * messages, MARGINS[source] * factor * tokens)

    def believes(self, seen: Observation) -> bool:
        """Whether a report that is kept agrees with what is known: what it was recorded by may have been wrong."""
        found = self.wholes.consensus()
        return found is None or found.holds(seen)

    def rest(self, tokens: SizeBand) -> float:
        """What messages after a known prefix take, most likely."""
        ruler, counted = self._better(tokens)
        return ruler.factor * counted

    def upper_rest(self, source: Source, tokens: SizeBand, messages: int, before: float) -> float:
        """The most that messages can take after a prefix that took `before`, by the rulers that hold."""
        if not messages:
            return 0.0
        learnt = self.learnt
        bounds = [
            self._bound(ruler, counted / messages, source, (before + ruler.factor * counted) / messages)
            for ruler, counted in zip((learnt.own, learnt.other), tokens, strict=True)
            if counted is not None and ruler.factor and self._holds(ruler)
        ]
        return messages * max(bounds)

    def _holds(self, ruler: Ruler) -> bool:
        """Whether a ruler is about as good as the better one, or too little is seen to say."""
        learnt = self.learnt
        rival = learnt.other if ruler is learnt.own else learnt.own
        return not rival.factor or len(ruler.rests.sizes) < ENOUGH or ruler.off <= POOR * rival.off

    def _bound(self, ruler: Ruler, size: float, source: Source, whole: float) -> float:
        """The most that a message of this size can take; `whole` is its part of the request."""
        counted, rests = ruler.factor * size, ruler.rests
        number = len(rests.sizes)
        start = min(FEW * MARGINS[source] * (counted + FRAME), MARGINS[source] * whole)
        headroom = max(start, rests.spread(size, ruler.factor)) / sqrt(1 + number)
        return max(rests.most(size, ruler.factor), counted + self.learnt.suspected / (1 + number)) + headroom

    def _better(self, tokens: SizeBand) -> tuple[Ruler, float]:
        """The ruler that was closer of late, and what it counts."""
        (own, other), learnt = tokens, self.learnt
        if other is None or not learnt.other.factor or learnt.own.off < learnt.other.off:
            return learnt.own, own
        return learnt.other, other

    def learn_whole(self, tokens: SizeBand, messages: int, actual: int) -> None:
        """Learn that a whole request with this count took `actual`.

        A second count comes with families that have no exact tokenizer: they have factors to correct.
        """
        self._learn(self.wholes, tokens, messages, actual)

    def learn_rest(self, tokens: SizeBand, messages: int, actual: int) -> None:
        """Learn that messages after a known prefix took `actual`."""
        self._learn(self.rests, tokens, messages, actual)

    def _learn(self, kind: Observations, tokens: SizeBand, messages: int, actual: int) -> None:
        own, other = tokens
        if own > 0 and messages > 0 and actual > 0:
            kind.add(Observation(round(own), round(other or 0), messages, actual))
            self._learnt = None

    def learn_repeat(self, before: int, actual: int) -> None:
        """Learn what a prompt with a known number was charged when it was sent again."""
        off = actual / before - 1
        if abs(off) <= FARTHEST_REPEAT:
            self.repeats.append(max(0.0, off))
            del self.repeats[:-REPEATS]


def _follows(wholes: Observations, rests: Observations) -> Learnt:
    seen, parts = wholes.agreeing(), rests.agreeing()
    unknown = any(one.other for one in seen)
    telling = wholes.telling() or seen
    factor = _factor(((one.own, one.actual) for one in telling), 1.0) if unknown else 1.0
    second = _factor(((one.other, one.actual) for one in telling), 0.0) if unknown else 0.0
    contents = [(one.own, one.actual) for one in seen] if unknown else []
    return Learnt(
        own=_ruler([(one.own, one) for one in parts], factor, 1.0),
        other=_ruler([(one.other, one) for one in parts if one.other], second, 0.5),
        wholes=around([(one.own, one.actual, frames(one.messages)) for one in seen], factor, contents),
        settled=wholes.settled(),
        suspected=max([0.0, *((one.actual - factor * one.own) / one.messages for one in seen)]),
        longest=max(seen, key=lambda one: one.own, default=None),
    )


def _factor(seen: Iterable[tuple[float, float]], start: float) -> float:
    """Move a factor towards each observation in turn (0.7 old, 0.3 new)."""
    factor = start
    for counted, actual in seen:
        factor = INERTIA * (factor or actual / counted) + (1 - INERTIA) * actual / counted
    return factor


def _ruler(parts: Sequence[tuple[int, Observation]], factor: float, off: float) -> Ruler:
    for counted, one in parts if factor else ():
        off = INERTIA * off + (1 - INERTIA) * abs(1 - factor * counted / one.actual)
    each = [(counted / one.messages, one.actual / one.messages, float(FRAME)) for counted, one in parts]
    return Ruler(factor, around(each, factor), off)
