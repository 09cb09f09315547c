"""The token counts that providers reported: kept by prefix, reused for the next count, and learned from.

The provider reports one number a request. Kept under the digest of the messages it covered, two such numbers
differ by exactly what was appended between them; and an edited or branched conversation still has every
number from before the edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import inf
from time import monotonic
from typing import Final, Literal, Protocol

from brim import incidents
from brim.sized_lru import SizedLru
from brim.tokens.calibration import MARGINS, Calibration, Source
from brim.tokens.observations import KEPT, Observation

__all__ = [
    "MARGINS",
    "Actuals",
    "ActualsStore",
    "Analytics",
    "Calibration",
    "ErrorStatistics",
    "InMemory",
    "Source",
    "UsageRecord",
]

# A store keeps 63-bit integers; two counts share one.
_BITS: Final = 31
_MOST: Final = (1 << _BITS) - 1
# Vocabularies whose calibration stays in memory; the store has the rest.
_HELD: Final = 256
# Seconds until a process notices that another one forgot a vocabulary.
_ASK_SECONDS: Final = 5.0
# A version number per set, because cached counts refer to it and Python reuses object ids.
_versions = count(1)


class ActualsStore(Protocol):
    """Where actuals are kept. Keys are digests; a store may forget."""

    def get_actual(self, key: bytes) -> int | None: ...

    def put_actual(self, key: bytes, tokens: int) -> None: ...


class InMemory:
    """A store that lives as long as its process and drops the least recently used entries."""

    def __init__(self, limit: int = 200_000) -> None:
        self._kept: SizedLru[bytes, int] = SizedLru(limit)

    def get_actual(self, key: bytes) -> int | None:
        return self._kept.get(key)

    def put_actual(self, key: bytes, tokens: int) -> None:
        self._kept.put(key, tokens)

    def __len__(self) -> int:
        return len(self._kept)


class Careful:
    """A store whose faults cost only the values it would have returned."""

    def __init__(self, store: ActualsStore) -> None:
        self._store = store

    def get_actual(self, key: bytes) -> int | None:
        try:
            return self._store.get_actual(key)
        except Exception as problem:
            incidents.note("store", problem)
            return None

    def put_actual(self, key: bytes, tokens: int) -> None:
        try:
            self._store.put_actual(key, tokens)
        except Exception as problem:
            incidents.note("store", problem)


class Actuals:
    """The provider's numbers for conversation prefixes, and what was learned of each vocabulary from them.

    `scope` says whose numbers they are: what one upstream or one tenant reported is never used for another.
    """

    def __init__(self, store: ActualsStore | None = None, scope: str = "") -> None:
        self.store: ActualsStore = Careful(store) if store is not None else InMemory()
        self.scope = scope
        self.version = next(_versions)
        self._families: SizedLru[str, tuple[int, Calibration]] = SizedLru(_HELD)
        self._ages: dict[str, tuple[int, float]] = {}

    def calibration(self, family: str) -> Calibration:
        """What this process, or an earlier one with the same store, learned about a vocabulary."""
        age = self._age(family)
        found = self._families.get(family)
        if found is None or found[0] != age:
            found = self._families.put(family, (age, self._kept(family)))
        return found[1]

    def forget(self, family: str) -> None:
        """Forget all reports about a vocabulary, in every scope, as if it had never been seen."""
        self.store.put_actual(_forgotten(family, self._age(family) + 1), 1)
        self._ages.clear()
        self.version = next(_versions)

    def _age(self, family: str) -> int:
        """How often a vocabulary was forgotten. It is part of every key, so older entries are no longer found.

        Another process may do it, so the store is asked now and then. Each time is a key of its own: a store may hold
        on to what it has read.
        """
        kin = family.partition("#")[0]
        age, asked = self._ages.get(kin, (0, -inf))
        now = monotonic()
        if now - asked > _ASK_SECONDS:
            while self.store.get_actual(_forgotten(kin, age + 1)) is not None:
                age += 1
            if len(self._ages) > _HELD:
                self._ages.clear()
            self._ages[kin] = age, now
        return age

    def _key(self, family: str, kind: bytes, digest: bytes) -> bytes:
        return b"\0".join((self.scope.encode(), family.encode(), b"%d" % self._age(family), kind, digest))

    def _kept(self, family: str) -> Calibration:
        found = Calibration()
        for kind, observations in (("whole", found.wholes), ("rest", found.rests)):
            number = self.store.get_actual(self._key(family, b"number", kind.encode())) or 0
            for n in range(max(0, number - KEPT), number):
                counted, charged = (self.store.get_actual(key) for key in self._slot(family, kind, n))
                if counted is not None and charged is not None:  # a store may forget
                    own, other, messages, actual = (*divmod(counted, _MOST + 1), *divmod(charged, _MOST + 1))
                    observations.add(Observation(own, other, messages, actual))
            observations.number = number
        return found

    def _slot(self, family: str, kind: str, number: int) -> tuple[bytes, bytes]:
        place = f"{kind} {number % KEPT}".encode()
        return self._key(family, b"counted", place), self._key(family, b"charged", place)

    def keys(
        self, family: str, line: str, chain: Sequence[bytes], messages: Sequence[tuple[str, bytes]]
    ) -> list[bytes]:
        """The keys that counting a conversation needs, and its family's calibration unless that is in memory."""
        age, kin = self._age(family), family.partition("#")[0]
        found = [_forgotten(kin, age + 1)]
        held = self._families.get(family)
        if held is None or not (held[1].wholes.number or held[1].rests.number):
            for kind in ("whole", "rest"):
                found.append(self._key(family, b"number", kind.encode()))
                found += [key for n in range(KEPT) for key in self._slot(family, kind, n)]
        if len(chain) > 1:
            found.append(self._key(line, b"begins", chain[1]))
            found += [self._key(line, b"prefix", digest) for digest in chain[1:]]
        return found + [self._key(kin, b"message", digest) for kin, digest in messages]

    def refresh(self, family: str) -> None:
        """Look in the store again for the calibration of a family that has none yet."""
        held = self._families.get(family)
        if held is None or held[1].wholes.number or held[1].rests.number:
            return
        kept = self._kept(family)
        if kept.wholes.number or kept.rests.number:
            self._families.put(family, (self._age(family), kept))
            self.version = next(_versions)

    def longest(self, family: str, chain: Sequence[bytes]) -> tuple[int, int]:
        """The number of messages and tokens of the longest known prefix; (0, 0) if there is none."""
        if len(chain) < 2 or self.store.get_actual(self._key(family, b"begins", chain[1])) is None:
            return 0, 0
        for k in range(len(chain) - 1, 0, -1):
            known = self.store.get_actual(self._key(family, b"prefix", chain[k]))
            if known is not None:
                return k, known
        return 0, 0

    def share(self, family: str, digest: bytes) -> int | None:
        """What a message took by itself, if a total could be divided that far."""
        return self.store.get_actual(self._key(family, b"message", digest))

    def keep(
        self,
        family: str,
        chain: Sequence[bytes],
        messages: Sequence[tuple[str, bytes]],
        sizes: Sequence[int],
        head: int,
        actual: int,
    ) -> None:
        """Keep the total of a conversation, and divide the new part of it among its messages.

        `messages` are families and digests. `head` is what stands around them: where no prefix is known, it has its
        share too.
        """
        if len(chain) < 2 or actual <= 0:
            return
        known, before = self.longest(family, chain[:-1])
        self.store.put_actual(self._key(family, b"begins", chain[1]), 1)
        self.store.put_actual(self._key(family, b"prefix", chain[-1]), actual)
        old = [self.share(kin, digest) for kin, digest in messages[known:]]
        fresh = [n for n, share in enumerate(old, known) if share is None]
        rest = actual - before - sum(share for share in old if share is not None)
        shares = shared_out(rest, [sizes[n] for n in fresh] + ([] if known else [head]))
        for n, share in zip(fresh, shares, strict=False):
            self.store.put_actual(self._key(messages[n][0], b"message", messages[n][1]), share)
        self.version = next(_versions)

    def save(self, family: str) -> None:
        """Save the latest calibration of a vocabulary for later processes."""
        learnt = self.calibration(family)
        for kind, observations in (("whole", learnt.wholes), ("rest", learnt.rests)):
            number_key = self._key(family, b"number", kind.encode())
            kept = self.store.get_actual(number_key) or 0
            for n in range(max(kept, observations.number - len(observations.seen)), observations.number):
                one = observations.seen[n - observations.number]
                counted, charged = self._slot(family, kind, n)
                self.store.put_actual(counted, (min(one.own, _MOST) << _BITS) + min(one.other, _MOST))
                self.store.put_actual(charged, (min(one.messages, _MOST) << _BITS) + min(one.actual, _MOST))
            if observations.number > kept:
                self.store.put_actual(number_key, observations.number)


def shared_out(total: int, sizes: Sequence[float]) -> list[int]:
    """Integers proportional to the sizes that sum to the total; empty if that is impossible.

    Example: shared_out(10, [1, 1, 1]) -> [3, 4, 3]
    """
    whole = sum(sizes)
    if total <= 0 or whole <= 0:
        return []
    ends = [0]
    reached = 0.0
    for size in sizes:
        reached += size
        ends.append(round(total * reached / whole))
    return [end - start for start, end in pairwise(ends)]


def _forgotten(family: str, times: int) -> bytes:
    return b"forgotten\0%b\0%d" % (family.encode(), times)


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """One request's numbers for analytics: the prediction and the outcome."""

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
    """The numbers of recent requests, and how good the estimates were."""

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
