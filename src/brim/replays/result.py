"""The result of a replay, as data and as text, for the command, the chart and the tests."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from brim.replays.recorded import Problem

ChangeForm = Literal["compacted", "archived"]
# Timings to keep of any number of requests, which are enough for percentiles.
MOST_TIMES = 20_000


@dataclass(frozen=True, slots=True)
class Change:
    """An item that would have been sent in another form: its place, kind and tokens."""

    place: str
    item: str
    kind: str
    tool: str
    form: ChangeForm
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class KindUse:
    """All changes of one kind of content."""

    kind: str
    compacted: int = 0
    archived: int = 0
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The outcome of one policy at one budget. `budget` is None if each model's own limit applied.

    Tokens, reuse and money cover the requests that would have been sent, as they came (`_before`) and as Brim would
    have sent them (`_after`). Money is for the input, in USD; None if no request's prices are known.
    """

    policy: str
    budget: int | None
    requests: int
    over_before: int
    over_after: int
    refused: int
    changed: int
    compactions: int
    tokens_before: int
    tokens_after: int
    reused_before: int
    reused_after: int
    usd_before: float | None
    usd_after: float | None
    unpriced: int
    compacted: int
    archived: int
    kinds: tuple[KindUse, ...]
    largest: tuple[Change, ...]
    ms_p50: float
    ms_p95: float

    @property
    def sent(self) -> int:
        """The number of requests that would have been sent."""
        return self.requests - self.refused

    @property
    def reuse_before(self) -> float:
        """The share of tokens repeated from the start of the previous request, as the requests came."""
        return self.reused_before / self.tokens_before if self.tokens_before else 0.0

    @property
    def reuse_after(self) -> float:
        return self.reused_after / self.tokens_after if self.tokens_after else 0.0

    @property
    def tokens_saved(self) -> float:
        """The share of tokens saved. Example: 1,000 -> 400 gives 0.6"""
        return 1 - self.tokens_after / self.tokens_before if self.tokens_before else 0.0

    @property
    def usd_saved(self) -> float | None:
        """Money saved, net of cache effects; below 0 if lost cache hits cost more than the saved tokens."""
        if self.usd_before is None or self.usd_after is None:
            return None
        return self.usd_before - self.usd_after

    @property
    def label(self) -> str:
        """Example: "agent at 8,000", "rolling at the window" """
        return f"{self.policy} at {self.budget:,}" if self.budget is not None else f"{self.policy} at the window"

    def as_dict(self) -> dict[str, Any]:
        shares = {
            "reuse_before": round(self.reuse_before, 4),
            "reuse_after": round(self.reuse_after, 4),
            "tokens_saved": round(self.tokens_saved, 4),
            "usd_saved": self.usd_saved,
        }
        return asdict(self) | shares

    def __str__(self) -> str:
        parts = [
            f"{self.label}: {self.over_before:,} of {self.requests:,} requests over -> {self.over_after:,}",
            f"{self.tokens_before:,} -> {self.tokens_after:,} tokens",
            f"prefix reuse {self.reuse_before:.0%} -> {self.reuse_after:.0%}",
        ]
        if self.usd_before is not None and self.usd_after is not None:
            parts.append(f"${self.usd_before:,.2f} -> ${self.usd_after:,.2f}")
        if self.refused:
            parts.append(f"{self.refused:,} refused")
        return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay: an outcome for each policy and budget, and statistics on the input.

    `problems` has the first skipped records; `left_out` counts all of them.
    """

    outcomes: tuple[ReplayOutcome, ...]
    requests: int
    conversations: int
    models: dict[str, int]
    problems: tuple[Problem, ...]
    left_out: int
    count_ms_p50: float
    count_ms_p95: float
    seconds: float
    sessions: bool

    @property
    def held(self) -> bool:
        """Whether every request that would have been sent fits its limit."""
        return all(outcome.over_after == 0 for outcome in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self) | {"outcomes": [outcome.as_dict() for outcome in self.outcomes], "held": self.held}

    def __str__(self) -> str:
        head = f"{counted(self.requests, 'request')} of {counted(self.conversations, 'conversation')}"
        if self.left_out:
            head += f", {self.left_out:,} left out"
        return "\n".join([head, *map(str, self.outcomes)])


def counted(number: int, noun: str) -> str:
    """Example: (1, "request") -> "1 request"; (2000, "request") -> "2,000 requests" """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class Times:
    """Milliseconds of requests: all of them, or if there are very many, every second, fourth, eighth, …"""

    def __init__(self) -> None:
        self.kept = array("d")
        self._every = 1
        self._seen = 0

    @classmethod
    def joined(cls, several: Sequence[Times]) -> Times:
        """The times of several samples as one."""
        found = cls()
        found._every = max((one._every for one in several), default=1)
        for one in several:
            found.kept += one.kept[:: found._every // one._every]
        return found

    def add(self, ms: float) -> None:
        if self._seen % self._every == 0:
            self.kept.append(ms)
        self._seen += 1
        if len(self.kept) > MOST_TIMES:
            self.kept = self.kept[::2]
            self._every *= 2

    def percentile(self, share: float) -> float:
        return percentile(self.kept, share)


def percentile(values: Sequence[float], share: float) -> float:
    """Example: percentile([1, 2, 3, 4], 0.5) -> 2"""
    if not values:
        return 0.0
    order = sorted(values)
    return order[min(len(order) - 1, max(0, -int(-share * len(order) // 1) - 1))]
