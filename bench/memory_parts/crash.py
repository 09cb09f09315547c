"""What kill -9 does to a store: writers are killed at random points under load, then every turn is looked for.

Two processes write to one file, with small and large content, forks and deletions. A turn is acknowledged on
standard output when `commit` has returned; whatever was acknowledged has to be there afterwards, whole.

Run by itself: python bench/memory_parts/crash.py [KILLS]
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from brim.stores.protocol import Store, Turn, blob_digest
from brim.stores.resilient import open_store

WRITERS = 2


@dataclass(slots=True)
class Crashes:
    """What was found after the kills."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    corrupt: int = 0
    problems: list[str] = field(default_factory=list)


def rows(data_dir: Path, *, kills: int = 200) -> list[tuple[str, str, str]]:
    """Each metric with its value and its bar; no data is needed."""
    with tempfile.TemporaryDirectory() as folder:
        found = crash(Path(folder) / "brim.db", kills)
    label = f"crash, {found.kills} kill -9 of {WRITERS} writers"
    return [
        (f"{label}: corrupt stores", str(found.corrupt), "0"),
        (f"{label}: lost of {found.acknowledged:,} acknowledged turns", str(found.lost), "0"),
    ]


def crash(path: Path, kills: int, *, seed: int = 0) -> Crashes:
    """Kill writers so many times and look at the store after each."""
    found = Crashes()
    dice = random.Random(seed)
    while found.kills < kills:
        names = [f"{found.kills}-{number}" for number in range(WRITERS)]
        writers = [_start(path, name) for name in names]
        acknowledged = b""
        if dice.random() < 0.7:
            acknowledged = os.read(writers[0].stdout.fileno(), 1 << 16)  # type: ignore[union-attr]
        time.sleep(dice.uniform(0, 0.25))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        said = [writer.communicate()[0] for writer in writers]
        said[0] = acknowledged + said[0]
        found.kills += WRITERS
        _look(path, said, found)
    return found


def _start(path: Path, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "write", str(path), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def _look(path: Path, said: list[bytes], found: Crashes) -> None:
    """Compare what the writers acknowledged with what the store holds."""
    if not path.exists():
        return  # killed before there was one
    store = open_store(path)
    moved = [name for name in os.listdir(path.parent) if "corrupt" in name]
    if store.degraded or moved:
        found.corrupt += 1
        found.problems.append(f"degraded: {store.degraded}, moved aside: {moved}")
    with closing(sqlite3.connect(path)) as db:
        if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            found.corrupt += 1
            found.problems.append("integrity_check")
    for output in said:
        written: dict[str, int] = {}
        unsure: set[str] = set()
        for line in output.split(b"\n")[:-1]:
            what, session, *count = line.decode().split()
            if what == "turn":
                written[session] = int(count[0])
                found.acknowledged += 1
            else:
                unsure.add(session)
        for session, count in written.items():
            if session not in unsure:
                found.lost += _missing(store, session, int(count), found)
    store.close()


def _missing(store: Store, session: str, turns: int, found: Crashes) -> int:
    """How many acknowledged turns of a session are not there as they were written."""
    records = list(store.records(session))
    there = len(records) // 2
    wrong = [turn for turn in range(there) if records[2 * turn : 2 * turn + 2] != content(session, turn)]
    state = store.get_state(session)
    last = content(session, turns - 1)[0]
    whole = len(records) % 2 == 0 and state == b"%d" % there
    known = store.find_blob(blob_digest(last).hex()[:8], session) == last
    if wrong or not whole or not known or there < turns:
        found.problems.append(f"{session}: {there} of {turns} turns, wrong {wrong}, whole {whole}, blob {known}")
    return max(0, turns - there) + len(wrong) + (not whole) + (not known)


def content(session: str, turn: int) -> list[bytes]:
    """The two messages of a turn: small, and sometimes large enough to be shared."""
    dice = random.Random(f"{session}/{turn}")
    size = 9_000 if dice.random() < 0.05 else 300
    return [f"{session} {turn} ".encode() + dice.randbytes(size // 2).hex().encode() for _ in range(2)]


def write(path: Path, name: str) -> None:
    """Write turns until killed; say each when it is written, and a deletion before it begins."""
    store = open_store(path, timeout=30.0)
    dice = random.Random(name)
    turns: dict[str, int] = {}
    while store.degraded is None:
        session = f"{name}-{dice.randrange(6)}"
        turn = turns.get(session, 0)
        if turn > 40:
            os.write(1, f"delete {session}\n".encode())
            store.fork_session(session, f"{session}-fork", turn)
            store.delete_session(session)
            turns[session] = 0
            continue
        said = content(session, turn)
        prefix = (blob_digest(said[1]), 2 * turn + 2)
        store.put_actual(said[0], turn)
        store.commit(Turn(session, said, said[:1], b"%d" % (turn + 1), [prefix]))
        turns[session] = turn + 1
        os.write(1, f"turn {session} {turn + 1}\n".encode())


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]), sys.argv[3])
    for metric, value, bar in rows(Path(), kills=int(sys.argv[1]) if sys.argv[1:] else 200):
        print(f"{metric:<70} {value:>12} {bar}")
