"""The sums of a trial, over one part of the conversations or all; sums of parts are added in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from brim.planning.policies.policy import Policy
from brim.replays.result import Change, KindUse, ReplayOutcome, Times

# The number of largest changes to keep.
MOST = 10


@dataclass(slots=True)
class TrialSums:
    """One policy at one budget."""

    requests: int = 0
    over_before: int = 0
    over_after: int = 0
    refused: int = 0
    changed: int = 0
    compactions: int = 0
    unpriced: int = 0
    compacted: int = 0
    archived: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    reused_before: int = 0
    reused_after: int = 0
    usd_before: float = 0.0
    usd_after: float = 0.0
    kinds: tuple[KindUse, ...] = ()
    largest: tuple[Change, ...] = ()
    ms: Times = field(default_factory=Times)

    @classmethod
    def joined(cls, parts: Sequence[TrialSums]) -> TrialSums:
        found = cls(**{name: sum(getattr(part, name) for part in parts) for name in _NUMBERS})
        kinds: dict[str, KindUse] = {}
        for use in (use for part in parts for use in part.kinds):
            kinds[use.kind] = _added(kinds.get(use.kind, KindUse(use.kind)), use)
        found.kinds = by_room(kinds.values())
        found.largest = by_size(change for part in parts for change in part.largest)
        found.ms = Times.joined([part.ms for part in parts])
        return found

    def outcome(self, policy: Policy, budget: int | None) -> ReplayOutcome:
        priced = self.requests - self.refused > self.unpriced
        told = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in ("ms", "usd_before", "usd_after")
        }
        return ReplayOutcome(
            policy=policy.name,
            budget=budget,
            usd_before=self.usd_before if priced else None,
            usd_after=self.usd_after if priced else None,
            ms_p50=self.ms.percentile(0.5),
            ms_p95=self.ms.percentile(0.95),
            **told,
        )


_NUMBERS = [one.name for one in fields(TrialSums) if one.type in ("int", "float")]


def by_room(uses: Iterable[KindUse]) -> tuple[KindUse, ...]:
    """Changes by kind, those that saved most first."""
    return tuple(sorted(uses, key=lambda use: (use.after - use.before, use.kind)))


def by_size(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The largest changes, in descending order."""
    return tuple(sorted(changes, key=lambda one: (-one.before, one.place, one.item))[:MOST])


def _added(one: KindUse, other: KindUse) -> KindUse:
    return KindUse(
        one.kind,
        one.compacted + other.compacted,
        one.archived + other.archived,
        one.before + other.before,
        one.after + other.after,
    )
