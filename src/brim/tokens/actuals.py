"""What providers said their prompts took: kept by prefix, used for the next count, and learnt from.

The provider reports one number a request. Kept under the digest of the messages it covered, two such numbers
differ by exactly what was appended between them; and an edited or branched conversation still has every
number from before the edit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, Protocol

from brim.recent import Recent

Source = Literal["actual", "exact", "reconstructed", "estimated"]
# The margins that a source starts with, before anything was seen of a model (seed: 2 / 5 / 10 %).
MARGINS: dict[Source, float] = {"actual": 0.02, "exact": 0.05, "reconstructed": 0.05, "estimated": 0.10}
# How much of a factor's last value stays when a new one is seen.
INERTIA = 0.7
# How many of the last errors a margin must cover.
MEMORY = 50
# Below so many tokens a message, an error says more about framing than about the text.
SHORT = 120


class Store(Protocol):
    """Where actuals are kept. Keys are digests; a store may forget."""

    def get_actual(self, key: bytes) -> int | None: ...

    def put_actual(self, key: bytes, tokens: int) -> None: ...


class InMemory:
    """A store that lives as long as its process and forgets what was not used for long."""

    def __init__(self, limit: int = 200_000) -> None:
        self._kept: Recent[bytes, int] = Recent(limit)

    def get_actual(self, key: bytes) -> int | None:
        return self._kept.get(key)

    def put_actual(self, key: bytes, tokens: int) -> None:
        self._kept.put(key, tokens)


@dataclass(slots=True)
class Calibration:
    """What was seen of one model family: how far off its counts were, and by which factor on average.

    Errors of short texts are framing, so many tokens a message; errors of long ones are a share of the text.
    """

    factor: float = 1.0
    shares: dict[Source, deque[float]] = field(default_factory=dict)
    frames: dict[Source, deque[float]] = field(default_factory=dict)
    seen: dict[Source, int] = field(default_factory=dict)

    def margin(self, source: Source) -> float:
        """The share to add to a count: where it starts shrinks with evidence, what was seen stays."""
        worst = max(self.shares.get(source, ()), default=0.0)
        return max(worst, MARGINS[source] / (1 + self.seen.get(source, 0)) ** 2)

    def frame(self, source: Source) -> float:
        """The tokens to add for every message."""
        return max(self.frames.get(source, ()), default=0.0)

    def upper(self, source: Source, tokens: float, messages: int) -> int:
        """The most that a count of this source can be in truth, as far as is known."""
        return ceil(tokens * (1 + self.margin(source)) + self.frame(source) * messages)

    def learn(self, source: Source, counted: float, actual: int, messages: int) -> None:
        """Note that `counted` tokens in so many messages turned out to be `actual`."""
        if counted <= 0 or actual <= 0:
            return
        under = max(0.0, actual - counted)
        if counted < SHORT * max(1, messages):
            self.frames.setdefault(source, deque(maxlen=MEMORY)).append(under / max(1, messages))
        else:
            under = max(0.0, under - self.frame(source) * messages)
            self.shares.setdefault(source, deque(maxlen=MEMORY)).append(under / counted)
        self.seen[source] = self.seen.get(source, 0) + 1

    def correct(self, counted: float, actual: int) -> None:
        """Move the factor of a family that has no exact tokenizer towards what was seen (0.7 old, 0.3 new)."""
        if counted > 0 and actual > 0:
            self.factor = INERTIA * self.factor + (1 - INERTIA) * actual / counted


class Actuals:
    """The provider's numbers for prefixes of conversations, and what each model family's errors teach."""

    def __init__(self, store: Store | None = None) -> None:
        self.store: Store = store or InMemory()
        self.version = 0
        self._families: dict[str, Calibration] = {}

    def calibration(self, family: str) -> Calibration:
        return self._families.setdefault(family, Calibration())

    def longest(self, family: str, chain: Sequence[bytes]) -> tuple[int, int]:
        """How many messages the longest known prefix has, and what it took; (0, 0) if none is known."""
        for k in range(len(chain) - 1, 0, -1):
            known = self.store.get_actual(_key(family, b"prefix", chain[k]))
            if known is not None:
                return k, known
        return 0, 0

    def share(self, family: str, digest: bytes) -> int | None:
        """What a message took by itself, as far as a total could be shared out."""
        return self.store.get_actual(_key(family, b"message", digest))

    def keep(
        self, family: str, chain: Sequence[bytes], digests: Sequence[bytes], sizes: Sequence[int], actual: int
    ) -> None:
        """Keep the total of a whole conversation, and share what is new of it over its messages."""
        known, before = self.longest(family, chain[:-1])
        self.store.put_actual(_key(family, b"prefix", chain[-1]), actual)
        fresh = sum(sizes[known:])
        rest = actual - before
        if 0 < rest and 0 < fresh and known:
            for digest, size in zip(digests[known:], sizes[known:], strict=True):
                self.store.put_actual(_key(family, b"message", digest), round(rest * size / fresh))
        self.version += 1


def _key(family: str, kind: bytes, digest: bytes) -> bytes:
    return family.encode() + b"\0" + kind + b"\0" + digest


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """One request's numbers, for analytics: what was predicted and what came."""

    request: str
    at: float
    provider: str
    model: str
    estimated: int
    upper: int
    actual_in: int | None = None
    actual_out: int | None = None
    cached: int = 0
    status: Literal["pending", "success", "failed"] = "pending"

    @property
    def error(self) -> float | None:
        """How far the estimate was off. Example: estimated 103, actual 100 -> 0.03"""
        return None if not self.actual_in else self.estimated / self.actual_in - 1


@dataclass(frozen=True, slots=True)
class ErrorStatistics:
    """How estimates compared with what providers reported."""

    requests: int
    mean: float
    mean_absolute: float
    worst_under: float
    worst_over: float
    over_the_upper_bound: int


class Analytics:
    """The last requests' numbers and what they say about the estimates."""

    def __init__(self, limit: int = 10_000) -> None:
        self._records: dict[str, UsageRecord] = {}
        self._limit = limit

    def add(self, record: UsageRecord) -> None:
        """Keep a record; one with the same request id replaces the one before (pending, then success)."""
        self._records.pop(record.request, None)
        self._records[record.request] = record
        while len(self._records) > self._limit:
            del self._records[next(iter(self._records))]

    def records(self, model: str | None = None) -> list[UsageRecord]:
        return [record for record in self._records.values() if model in (None, record.model)]

    def statistics(self, model: str | None = None) -> ErrorStatistics:
        known = [record for record in self.records(model) if record.error is not None]
        errors = [record.error for record in known if record.error is not None]
        if not errors:
            return ErrorStatistics(0, 0.0, 0.0, 0.0, 0.0, 0)
        return ErrorStatistics(
            requests=len(errors),
            mean=sum(errors) / len(errors),
            mean_absolute=sum(map(abs, errors)) / len(errors),
            worst_under=min(0.0, *errors),
            worst_over=max(0.0, *errors),
            over_the_upper_bound=sum((record.actual_in or 0) > record.upper for record in known),
        )
