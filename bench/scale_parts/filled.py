"""A PostgreSQL store filled to millions of turns: what loading and committing take there, and how eviction keeps up.

    python bench/scale.py --only sessions --sessions 1000000

One real session is committed by the store itself; the others are copies of it with ids, prefixes and times of their
own, made inside the database. A copy is loaded and gone on with as any session is.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Iterable
from typing import Any

import table

from brim.stores.protocol import Limits, Turn, Wanted

OLD_DAYS, TURN_BYTES, STATE_BYTES = 30, 120, 2_000
# Sessions that one statement copies: its log is written at once, and no more than that waits in memory.
STEP = 50_000
# Of the prefixes of a long conversation those that eviction leaves: one in eight and the newest.
PREFIX_SHARE = 8
INDEXES = {
    "brim_sessions_touched": "CREATE INDEX brim_sessions_touched ON brim_sessions(touched)",
    "brim_handles_digest": "CREATE INDEX brim_handles_digest ON brim_handles(digest)",
    "brim_prefixes_session": "CREATE INDEX brim_prefixes_session ON brim_prefixes(session)",
}


def template(store: Any, turns: int, dice: random.Random) -> None:
    """One session as the store writes it."""
    name = "tenant~template"
    for number in range(turns):
        text = b"m" + dice.randbytes(TURN_BYTES // 2).hex().encode()
        turn = Turn(name, [text], [], dice.randbytes(STATE_BYTES), expected=number, owner="template",
                    meta={"model": "scale-model"} if not number else None)  # fmt: skip
        assert store.commit(turn) == number


def fill(store: Any, sessions: int, turns: int) -> float:
    """Copy the template so many times; the seconds it took. A quarter of the copies is too old to stay."""
    began = time.monotonic()
    template(store, turns, random.Random(1))

    def run(text: str) -> None:
        store.connections.at_leisure(lambda db: db.execute(text))

    for name in INDEXES:
        run(f"DROP INDEX {name}")
    for first in range(0, sessions, STEP):
        run(_copies(first, min(first + STEP, sessions)))
    for statement in INDEXES.values():
        run(statement)
    run("ANALYZE")
    return time.monotonic() - began


def _copies(first: int, last: int) -> str:
    """Sessions with these numbers, their turns and prefixes. Times go back evenly over four thirds of the age limit."""
    days = OLD_DAYS * 4 / 3
    return f"""
    WITH t AS (SELECT * FROM brim_sessions WHERE id = 'tenant~template'),
    made AS (
      INSERT INTO brim_sessions(key, id, meta, created, touched, records, size, length, owner, epoch, shown, state)
      SELECT sha256(('tenant~' || n)::bytea), 'tenant~' || n, t.meta, t.created, t.touched - 7200
             - 86400 * {days} * ((n::bigint * 7919) % 1000) / 1000.0, t.records, t.size, t.records, t.owner, t.epoch,
             t.shown, t.state
        FROM t, generate_series({first}, {last - 1}) n RETURNING no
    ), kept AS (
      INSERT INTO brim_prefixes(key, session, length)
      SELECT hashint8extended(made.no, x.first), made.no, x.first FROM made, brim_turns x
        WHERE x.session = (SELECT no FROM t) AND (x.first % {PREFIX_SHARE} = 0 OR x.first = (SELECT records - 1 FROM t))
      ON CONFLICT DO NOTHING
    )
    INSERT INTO brim_turns SELECT made.no, x.first, x.count, x.shared, x.data FROM made, brim_turns x
      WHERE x.session = (SELECT no FROM t)"""


def hot(store: Any, name: str) -> tuple[float, float]:
    """Milliseconds of a load, as a gateway does it that has not seen the session, and of the commit after it."""
    began = time.perf_counter()
    found = store.load(Wanted(name)).session
    loaded = time.perf_counter() - began
    known = (found.records, found.epoch) if found else (0, 0)
    dice = random.Random(name)
    prefixes = [(dice.randbytes(16), known[0] + 1)]
    turn = Turn(name, [dice.randbytes(TURN_BYTES)], [], dice.randbytes(STATE_BYTES), prefixes,
                expected=known[0], epoch=known[1], owner="me")  # fmt: skip
    began = time.perf_counter()
    assert store.commit(turn) == known[0]
    return loaded * 1e3, (time.perf_counter() - began) * 1e3


def _told(times: list[float]) -> tuple[float, float]:
    return round(statistics.median(times), 2), round(statistics.quantiles(times, n=100)[98], 2)


def rows(make_store: Any, sessions: int, turns: int, some: int = 2_000) -> Iterable[table.Row]:
    """Loading and committing by turns in a database with `some` sessions and in one with `sessions`; then eviction."""
    limits = Limits(max_bytes=1 << 50, max_age_days=OLD_DAYS)
    small, store = make_store("few", limits), make_store("many", limits)
    template(small, turns, random.Random(1))
    small.connections.at_leisure(lambda db: db.execute(_copies(0, some)))
    took = fill(store, sessions, turns)
    asked = "SELECT pg_database_size(current_database())"
    size = store.connections.at_leisure(lambda db: db.execute(asked).fetchone())[0]
    yield f"{sessions:,} sessions, {sessions * turns:,} turns: GB on disk", round(size / 1e9, 1), ""
    yield "seconds to fill it", round(took), ""
    chosen = random.Random(2).sample(range(sessions), some)
    few, many = [], []
    for small_one, large_one in enumerate(chosen):  # what else the machine does slows both
        few.append(hot(small, f"tenant~{small_one}"))
        many.append(hot(store, f"tenant~{large_one}"))
    for place, what in enumerate(("load", "commit")):
        before, after = ([one[place] for one in listed] for listed in (few, many))
        (p50_few, p99_few), (p50, p99) = _told(before), _told(after)
        yield f"{what} p50, ms, with {some:,} sessions; with {sessions:,}", f"{p50_few}; {p50}", ""
        yield f"{what} p99, ms, with {some:,} sessions; with {sessions:,}", f"{p99_few}; {p99}", ""
        yield f"{what} p99, with {sessions:,} sessions ÷ with {some:,}", round(p99 / p99_few, 2), "<= 2"
    yield from eviction(store, [f"tenant~{n}" for n in random.Random(3).sample(range(sessions), some)])
    small.close()
    store.close()


def eviction(store: Any, names: list[str]) -> Iterable[table.Row]:
    """How many old sessions go in half a minute, beside gateways that load and commit meanwhile."""
    taken: list[Any] = []
    seconds = 30.0
    thread = threading.Thread(target=lambda: taken.append(store._eviction.run(seconds)))
    thread.start()
    made: list[float] = []
    for name in names:
        if not thread.is_alive():
            break
        made.append(sum(hot(store, name)))
    during = _told(made)
    thread.join()
    yield "eviction: sessions deleted a second, beside load and commit", round(taken[0].sessions / seconds), ""
    yield "eviction: load and commit meanwhile, p50 ms", during[0], ""
    yield "eviction: load and commit meanwhile, p99 ms", during[1], ""
