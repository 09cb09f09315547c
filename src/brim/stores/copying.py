"""Copies a store into another, row by row, and compares the two by digests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from brim.errors import BadInput, NotFound
from brim.stores.moving import Movable
from brim.stores.protocol import blob_digest
from brim.stores.resilient import is_address
from brim.stores.sqlite_moving import MovableSqlite
from brim.tokens.actuals import UsageRecord

# Usage records per batch.
USAGE = 10_000_000
BATCH = 1_000


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied, and what already existed under the same id."""

    sessions: int = 0
    skipped: int = 0
    blobs: int = 0
    sizes: int = 0
    usage: int = 0
    values: int = 0


def open_movable(place: str, *, new: bool = False) -> Movable:
    """The store at a path or address, without a buffer in front of it. Raises NotFound."""
    if is_address(place):
        opened: Movable = import_module("brim.stores.postgres.moving").MovablePostgres(place)
        return opened
    path = Path(place).expanduser()
    if not new and not path.is_file():
        raise NotFound(f"there is no store at {path}")
    return MovableSqlite(path)


def copy(source: Movable, target: Movable, told: Callable[[int], object] = lambda _: None) -> CopyReport:
    """Copy everything except what the target already has. `told` is called for every session."""
    taken = skipped = blobs = sizes = values = 0
    for number, session in enumerate(source.exported(), 1):
        kept = target.imported(session)
        taken, skipped = taken + kept, skipped + (not kept)
        told(number)
    for at, data in source.loose_blobs():
        target.put_loose_blob(at, data)
        blobs += 1
    for rows in source.size_rows():
        target.put_size_rows(rows)
        sizes += len(rows)
    for name, value in source.value_rows():
        target.claim_value(name, value)
        values += 1
    usage = source.usage(limit=USAGE)
    for start in range(0, len(usage), BATCH):
        target.add_usages(usage[start : start + BATCH])
    return CopyReport(taken, skipped, blobs, sizes, len(usage), values)


def differences(source: Movable, target: Movable) -> list[str]:
    """The differences between two stores as readable lines; empty if nothing is lost."""
    there = {session.record.id: session.digest for session in target.exported()}
    found = [
        f"session {session.record.id} " + ("differs" if session.record.id in there else "is missing")
        for session in source.exported()
        if there.get(session.record.id) != session.digest
    ]
    found += _missing("blob", {blob_digest(data) for _, data in source.loose_blobs()}, target, _loose)
    found += _missing("size", {row for rows in source.size_rows() for row in rows}, target, _sizes)
    found += _missing("usage record", set(source.usage(limit=USAGE)), target, _usage)
    known = dict(target.value_rows())
    return found + [f"value {name} differs" for name, value in source.value_rows() if known.get(name) != value]


def _missing(what: str, wanted: set[object], target: Movable, read: Callable[[Movable], set[object]]) -> list[str]:
    lacking = len(wanted - read(target)) if wanted else 0
    return [f"{lacking:,} {what}s are missing or differ"] if lacking else []


def _loose(store: Movable) -> set[object]:
    return {blob_digest(data) for _, data in store.loose_blobs()}


def _sizes(store: Movable) -> set[object]:
    return {row for rows in store.size_rows() for row in rows}


def _usage(store: Movable) -> set[object]:
    found: list[UsageRecord] = store.usage(limit=USAGE)
    return set(found)


def check_tenant(tenant: str) -> str:
    """Check a tenant's name. Raises BadInput for one that would match others too."""
    if not tenant or "~" in tenant:
        raise BadInput("tenant", f"{tenant!r} is no tenant: it is the part of a session's id before the ~")
    return tenant
