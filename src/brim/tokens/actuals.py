"""What providers said their prompts took: kept by prefix, used for the next count, and learnt from.

The provider reports one number a request. Kept under the digest of the messages it covered, two such numbers
differ by exactly what was appended between them; and an edited or branched conversation still has every
number from before the edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Final, Literal, Protocol

from brim.recent import Recent
from brim.tokens.calibration import MARGINS, Calibration, Source

__all__ = [
    "MARGINS",
    "Actuals",
    "Analytics",
    "Calibration",
    "ErrorStatistics",
    "InMemory",
    "Source",
    "Store",
    "UsageRecord",
]

# A store keeps whole numbers: what is learnt goes in as millionths.
_MILLION: Final = 1_000_000
_LEARNT: Final = 10
# Told apart even where one set of actuals takes the memory of another: counts are remembered by it.
_versions = count(1)


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

    def __len__(self) -> int:
        return len(self._kept)


class Actuals:
    """The provider's numbers for prefixes of conversations, and what each model family's errors teach."""

    def __init__(self, store: Store | None = None) -> None:
        self.store: Store = store if store is not None else InMemory()
        self.version = next(_versions)
        self._families: dict[str, Calibration] = {}

    def calibration(self, family: str) -> Calibration:
        """What was learnt of a family, here or by an earlier process with the same store."""
        found = self._families.get(family)
        if found is None:
            found = self._families[family] = Calibration()
            kept = [self.store.get_actual(_key(family, b"learnt", bytes([n]))) for n in range(_LEARNT)]
            known = [value / _MILLION for value in kept if value is not None]
            if len(known) == _LEARNT:
                found.resume(known)
        return found

    def longest(self, family: str, chain: Sequence[bytes]) -> tuple[int, int]:
        """How many messages the longest known prefix has, and what it took; (0, 0) if none is known."""
        if len(chain) < 2 or self.store.get_actual(_key(family, b"begins", chain[1])) is None:
            return 0, 0
        for k in range(len(chain) - 1, 0, -1):
            known = self.store.get_actual(_key(family, b"prefix", chain[k]))
            if known is not None:
                return k, known
        return 0, 0

    def share(self, family: str, digest: bytes) -> int | None:
        """What a message took by itself, as far as a total could be shared out."""
        return self.store.get_actual(_key(family, b"message", digest))

    def keep(
        self,
        family: str,
        chain: Sequence[bytes],
        messages: Sequence[tuple[str, bytes]],
        sizes: Sequence[int],
        head: int,
        actual: int,
    ) -> None:
        """Keep the total of a whole conversation, and share what is new of it over its messages.

        `messages` are families and digests. `head` is what stands around them: where no prefix is known, it has its
        share too.
        """
        if len(chain) < 2 or actual <= 0:
            return
        known, before = self.longest(family, chain[:-1])
        self.store.put_actual(_key(family, b"begins", chain[1]), 1)
        self.store.put_actual(_key(family, b"prefix", chain[-1]), actual)
        old = [self.share(kin, digest) for kin, digest in messages[known:]]
        fresh = [n for n, share in enumerate(old, known) if share is None]
        rest = actual - before - sum(share for share in old if share is not None)
        shares = shared_out(rest, [sizes[n] for n in fresh] + ([] if known else [head]))
        for n, share in zip(fresh, shares, strict=False):
            self.store.put_actual(_key(messages[n][0], b"message", messages[n][1]), share)
        self.version = next(_versions)

    def save(self, family: str) -> None:
        """Put what was learnt of a family where a later process finds it."""
        for n, value in enumerate(self.calibration(family).kept()):
            self.store.put_actual(_key(family, b"learnt", bytes([n])), round(value * _MILLION))


def shared_out(total: int, sizes: Sequence[int]) -> list[int]:
    """Whole numbers in proportion to sizes whose sum is the total; none for a total that cannot be.

    Example: shared_out(10, [1, 1, 1]) -> [3, 4, 3]
    """
    whole = sum(sizes)
    if total <= 0 or whole <= 0:
        return []
    ends = [0]
    reached = 0
    for size in sizes:
        reached += size
        ends.append(round(total * reached / whole))
    return [end - start for start, end in pairwise(ends)]


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
