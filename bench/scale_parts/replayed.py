"""`brim.replay` of a large recording: memory, and CPU for each request on several processes and on a Ray cluster.

python bench/scale.py --only replay --megabytes 1000
python bench/scale.py --only ray          in an environment with brim[batch]: a cluster of two nodes on this machine
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import table

from brim.replays import Progress, Replay, replay

BUDGETS = [4_000, 20_000]
TURNS, TOGETHER = 24, 8
_TICKS = os.sysconf("SC_CLK_TCK")


def recording(path: Path, megabytes: int) -> int:
    """Agent runs that take turns, each request with all that came before it; how many requests."""
    size = number = 0
    with path.open("w") as out:
        while size < megabytes * 1_000_000:
            runs = [_run(number // (TURNS * TOGETHER) * TOGETHER + n) for n in range(TOGETHER)]
            for turn in range(TURNS):
                for run in runs:
                    line = json.dumps({"model": "gpt-4o", "messages": run[: 2 * turn + 2]}) + "\n"
                    out.write(line)
                    size += len(line)
                    number += 1
    return number


def _run(number: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You look after the berths of a harbour. Check before you answer. " * 20},
        {"role": "user", "content": f"Ship {number} wants a berth for three days. Which may it use, and why?"},
    ]
    for turn in range(TURNS):
        call = {"name": "read_berths", "arguments": json.dumps({"pier": turn, "ship": number})}
        rows = [
            {"berth": f"{turn}-{n}", "depth_cm": number * 31 + n * 7919 % 1013, "free": n % 3 > 0} for n in range(12)
        ]
        messages += [
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": f"c{turn}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": json.dumps(rows)},
        ]  # fmt: skip
    return messages


def timeless(found: Replay) -> str:
    """All that was found, without what a clock said."""
    told = found.as_dict()
    for one in [told, *told["outcomes"]]:
        for name in ("seconds", "count_ms_p50", "count_ms_p95", "ms_p50", "ms_p95"):
            one.pop(name, None)
    return json.dumps(told)


class Watched:
    """CPU and memory of this process and of those whose command says that they replay."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._cpu: dict[int, float] = {}
        self.memory: list[float] = []
        self._next = 0.0
        self.progress = 0

    def __call__(self, done: Progress) -> None:
        self.progress += 1
        if time.monotonic() > self._next:
            self._next = time.monotonic() + 0.5
            self.look()

    def look(self) -> None:
        pids = [os.getpid(), *_marked(self._mark)]
        for pid in pids:
            self._cpu[pid] = max(self._cpu.get(pid, 0.0), _cpu(pid))
        self.memory.append(sum(map(_resident, pids)))

    @property
    def cpu(self) -> float:
        return sum(self._cpu.values())


def rows(megabytes: int, jobs: int = 2) -> Iterable[table.Row]:
    """A recording to its end on several processes, and an eighth of it on one and on several."""
    folder = Path(tempfile.mkdtemp(prefix="brim-replay-"))
    try:
        few = recording(folder / "few.jsonl", max(20, megabytes // 8))
        yield from _beside(folder / "few.jsonl", few, f"{jobs} processes", {"jobs": jobs}, "spawn_main")
        many = recording(folder / "many.jsonl", megabytes)
        watched, began = Watched("spawn_main"), time.monotonic()
        found = replay(str(folder / "many.jsonl"), budget=BUDGETS, jobs=jobs, on_progress=watched)
        name = f"{megabytes:,} MB replayed on {jobs} processes"
        yield f"{name}: requests", found.requests, f"= {many}"
        yield f"{name}: over after", sum(one.over_after for one in found.outcomes), "= 0"
        yield f"{name}: seconds by the clock, other load included", round(time.monotonic() - began), ""
        yield f"{name}: MB a second of CPU", round(megabytes / watched.cpu, 2), ""
        half = len(watched.memory) // 2
        yield f"{name}: memory of all processes at most, MB", round(max(watched.memory)), ""
        grown = max(watched.memory[half:]) / max(watched.memory[:half])
        yield f"{name}: memory of the second half ÷ the first", round(grown, 2), "<= 1.1"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _beside(file: Path, requests: int, name: str, given: dict[str, Any], mark: str) -> Iterator[table.Row]:
    """CPU for each request of others, beside one process, with the same result."""
    before = _own_cpu()
    alone = replay(str(file), budget=BUDGETS)
    one = _own_cpu() - before
    watched, before = Watched(mark), _own_cpu()
    shared = replay(str(file), budget=BUDGETS, on_progress=watched, **given)
    watched.look()
    others = watched.cpu - before
    yield f"replay, one process: CPU for each request, ms ({requests:,} requests)", round(1e3 * one / requests, 2), ""
    yield f"replay, {name}: CPU for each request, ms", round(1e3 * others / requests, 2), ""
    yield f"replay, {name} ÷ one process", round(others / one, 2), "<= 1.2"
    yield f"replay, {name}: same result", int(timeless(shared) == timeless(alone)), "= 1"


def on_ray(megabytes: int) -> Iterable[table.Row]:
    """The same on two nodes of a Ray cluster."""
    ray = import_module("ray")
    cluster = import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    folder = Path(tempfile.mkdtemp(prefix="brim-replay-"))
    try:
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        few = recording(folder / "few.jsonl", megabytes)
        given = {"ray": cluster.address}
        yield from _beside(folder / "few.jsonl", few, "two nodes of Ray", given, "ray::ReplayWork")
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _marked(mark: str) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes().decode(errors="replace")
            parents = (place / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if mark in command and ("ray" in mark or int(parents) == os.getpid()):
            yield int(place.name)


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _resident(pid: int) -> float:
    """MB in memory."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return 0.0


if __name__ == "__main__":
    for metric, value, bar in on_ray(int(sys.argv[1])):
        print(f"{metric:90} {value!s:>12}  {bar}", flush=True)
