"""`brim store`: set up, check, copy and clean a gateway's store."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rich.console import Console

from brim.cli.terminal.named_store import place_of
from brim.cli.terminal.reading import apply_settings
from brim.errors import BadInput
from brim.settings.secrets import without_password
from brim.stores.copying import check_tenant, copy, differences, open_movable
from brim.stores.resilient import is_address
from brim.stores.retention import retain, retained

_EXAMPLES = """examples:
  brim store migrate --store postgresql://db.example/brim        set a database up, or bring it to this version
  brim store check                                               read everything, and say what cannot be read
  brim store copy ~/.local/share/brim/brim.db postgresql://db.example/brim
  brim store erase --tenant mzxw6ytboi4dkmjq                     delete all that a tenant has sent
  brim store retain --tenant mzxw6ytboi4dkmjq --days 7           keep what it sends for a week
"""
_TENANT = "the part of its sessions' ids before the ~"


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "store",
        help="set up, check, copy and clean what a gateway keeps",
        description="Set up, check, copy and clean what a gateway keeps: a SQLite file or a PostgreSQL database.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    _command(inner, "migrate", "bring the schema to this version", _migrate)
    _command(inner, "check", "read everything that is kept, and compare it with its digests", _check)
    copying = _command(inner, "copy", "copy a store into another, and compare them", _copy, named=False)
    copying.add_argument("source", metavar="SRC", help="a file or an address")
    copying.add_argument("target", metavar="DST", help="a file or an address; what it has already stays")
    erasing = _command(inner, "erase", "delete all that a tenant has sent, and look for what is left", _erase)
    erasing.add_argument("--tenant", required=True, help=_TENANT)
    retaining = _command(inner, "retain", "keep the sessions of a tenant for days of its own", _retain)
    retaining.add_argument("--tenant", help=f"{_TENANT}; without one those with days of their own are listed")
    retaining.add_argument(
        "--days", type=int, default=0, help="days after its last turn; 0: as store.max_age_days says"
    )


def _command(
    subparsers: Any, name: str, help: str, run: Callable[[argparse.Namespace], int], *, named: bool = True
) -> Any:
    parser = subparsers.add_parser(name, help=help, description=f"{help.capitalize()}.")
    if named:
        parser.add_argument("--store", metavar="STORE", help="the store (from the settings: store.path)")
    parser.set_defaults(run=run)
    return parser


def _migrate(args: argparse.Namespace) -> int:
    apply_settings()
    place = place_of(args.store)
    if is_address(place):
        before, after = import_module("brim.stores.postgres.schema").migrate_at(place)
        told = f"version {before} is now {after}" if before != after else f"version {after} already"
    else:
        open_movable(place).close()  # a file is migrated whenever it is opened
        told = "up to date"
    print(f"{without_password(place)}: {told}")
    return 0


def _check(args: argparse.Namespace) -> int:
    apply_settings()
    place = place_of(args.store)
    store = open_movable(place)
    try:
        sessions = records = size = 0
        for session in store.exported():  # reading compares content with its digest
            sessions, records = sessions + 1, records + len(session.records)
            size += sum(map(len, session.records)) + sum(map(len, session.blobs))
    finally:
        store.close()
    print(f"{without_password(place)}: {sessions:,} sessions with {records:,} records and {size:,} bytes can be read")
    return 0


def _copy(args: argparse.Namespace) -> int:
    apply_settings()
    if place_of(args.source) == place_of(args.target):
        raise BadInput("DST", "is the store that is to be copied")
    source = open_movable(args.source)
    try:
        target = open_movable(args.target, new=True)
        try:
            with Console(stderr=True).status("copying") as status:
                done = copy(source, target, lambda number: status.update(f"copying session {number:,}"))
                status.update("comparing")
                lacking = differences(source, target)
        finally:
            target.close()
    finally:
        source.close()
    print(
        f"copied {done.sessions:,} sessions, {done.blobs:,} blobs, {done.sizes:,} sizes, {done.usage:,} usage records "
        f"and {done.values:,} values; {done.skipped:,} sessions were there already"
    )
    for line in lacking:
        print(line)
    print("both keep the same" if not lacking else f"{len(lacking):,} differences")
    return 1 if lacking else 0


def _erase(args: argparse.Namespace) -> int:
    tenant, cache = check_tenant(args.tenant), apply_settings().cache_place
    store = open_movable(place_of(args.store))
    try:
        gone, left = store.erase(tenant), store.traces(tenant)
    finally:
        store.close()
    if cache:
        left |= _erase_counters(cache, tenant)
    print(f"{gone:,} sessions and values of {tenant} are deleted")
    for table, count in left.items():
        print(f"{count:,} rows of {table} still name it, or belong to no session")
    print("no table names it any more" if not left else "run it again while no gateway serves this tenant")
    return 1 if left else 0


def _erase_counters(cache: str, tenant: str) -> dict[str, int]:
    """Delete a tenant's counters in Valkey; returns how many are left."""
    counters = import_module("brim.stores.counters")

    async def erased() -> tuple[int, int]:
        shared = counters.SharedCounters(cache)
        try:
            found: tuple[int, int] = await shared.erase(tenant)
            return found
        finally:
            await shared.close()

    try:
        gone, left = asyncio.run(erased())
    except counters.FAULTS as problem:
        raise BadInput(
            "store.cache", f"cannot be reached ({type(problem).__name__}): its counters are not deleted"
        ) from None
    print(f"{gone:,} counters of {tenant} in Valkey are deleted")
    return {"counters in Valkey": left} if left else {}


def _retain(args: argparse.Namespace) -> int:
    apply_settings()
    store = open_movable(place_of(args.store))
    try:
        if args.tenant:
            retain(store, check_tenant(args.tenant), args.days)
        for tenant, days in retained(store).items():
            print(f"{tenant}: {days:,} days")
    finally:
        store.close()
    return 0
