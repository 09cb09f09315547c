"""The SQLite store: how many turns it takes a second, how small its file is, and what kill -9 does to it.

Sessions are made of real dialogues, cut into turns of two messages, written round robin as a gateway would.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from brim.stores.protocol import Turn
from brim.stores.sqlite import SqliteStore

SETS = ("mtbench101.jsonl", "tau_airline_gpt4o.jsonl")
SESSIONS, TURNS = 1_000, 100


def rows(data_dir: Path, *, sessions: int = SESSIONS, turns: int = TURNS) -> list[tuple[str, str, str]]:
    """Each metric with its value and its bar."""
    found: list[tuple[str, str, str]] = []
    for name in SETS:
        path = data_dir / name
        if not path.exists():
            found.append((f"store, {name}", "no data", ""))
            continue
        rate, wall, share = measure(_sessions(path, sessions, turns))
        label = f"store, {sessions:,} sessions × {turns} turns of {path.stem}"
        found.append((f"{label}: turns/s of one core", f"{rate:,.0f}", "≥ 2,000"))
        found.append((f"{label}: turns/s by the clock, other load included", f"{wall:,.0f}", ""))
        found.append((f"{label}: file ÷ raw JSON", f"{share:.1%}", "≤ 40%"))
    return found


def measure(sessions: list[list[list[bytes]]]) -> tuple[float, float, float]:
    """Turns a second of processor time and of the clock, and the file's size as a share of the messages' JSON."""
    raw = sum(len(message) for turns in sessions for turn in turns for message in turn)
    prefixes = [hashlib.sha256(str(number).encode()) for number in range(len(sessions))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "brim.db"
        store = SqliteStore(path)
        spent = clock = 0.0
        for number in range(len(sessions[0])):
            for which, turns in enumerate(sessions):
                for message in turns[number]:
                    prefixes[which].update(message)
                turn = Turn(
                    f"session-{which:06d}",
                    records=turns[number],
                    state=json.dumps({"low": 0, "high": number, "sent": list(range(number // 10))}).encode(),
                    prefixes=[(prefixes[which].digest(), 2 * number + 2)],
                )
                began, start = time.process_time(), time.perf_counter()
                store.commit(turn)
                spent += time.process_time() - began
                clock += time.perf_counter() - start
        began, start = time.process_time(), time.perf_counter()
        store.close()
        spent += time.process_time() - began
        clock += time.perf_counter() - start
        count = len(sessions) * len(sessions[0])
        return count / spent, count / clock, path.stat().st_size / raw


def _sessions(path: Path, count: int, turns: int) -> list[list[list[bytes]]]:
    """Sessions of the file's messages in their order, round and round; no two start at the same place."""
    messages = _messages(path)
    return [[list(itertools.islice(messages, 2)) for _ in range(turns)] for _ in range(count)]


def _messages(path: Path) -> Iterator[bytes]:
    with path.open(encoding="utf-8") as lines:
        dialogues = [json.loads(line)["messages"] for line in lines]
    said = [
        json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
        for dialogue in dialogues
        for message in dialogue
        if message["role"] != "system"
    ]
    return itertools.cycle(said)


if __name__ == "__main__":
    import sys

    for metric, value, bar in rows(Path(sys.argv[1])):
        print(f"{metric:<70} {value:>12} {bar}")
