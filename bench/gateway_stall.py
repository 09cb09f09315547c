"""How long a tiny request waits while the worst bodies are handled, and what memory stays behind.

    python bench/gateway_stall.py
    python bench/gateway_stall.py --only "20 MB" --rounds 3 --json stall.json

A process of its own sends tiny requests one after the other throughout. Before each worst body they are alone for a
while: their longest wait then is what the one beside the body is held against, at most three times that or 20 ms.
With --together each body comes from so many tenants at once. Memory is that of the gateway and of all its processes,
before the first body and after each one has been let go; tiny requests alone fill what remembers them before it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
from gateway import PARTS, free_port, start, wait_for
from gateway_parts.worst import WORST, Worst

# What a tiny request may wait beside a worst body: the longer one of these.
MOST_SECONDS, MOST_TIMES = 0.020, 3.0
# What memory may stay, as a share of that before, so many seconds later at the latest.
MOST_MEMORY, REST = 1.3, 25.0
CONFIG = """
[upstreams.tiny]
base_url = "http://127.0.0.1:{}/v1"
models = ["gpt-4o"]

[upstreams.worst]
base_url = "http://127.0.0.1:{}/v1"
models = ["gpt-4.1"]
"""


def family(pid: int) -> list[int]:
    """A process and all that it has started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += family(int(child))
    return found


def memory(pid: int) -> int:
    """Bytes that a process and its children hold, what they share counted once."""
    total = 0
    for one in family(pid):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it has just ended
        total += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


async def quiet(pid: int, seconds: float, enough: float = 0.0) -> int:
    """The memory of a process when it has come to rest: the least that it held in so many seconds."""
    least = memory(pid)
    for _ in range(int(seconds / 0.5)):
        if least <= enough:
            break
        await asyncio.sleep(0.5)
        least = min(least, memory(pid))
    return least


async def post(url: str, worst: Worst, body: bytes, tenant: int) -> tuple[str, float, float]:
    """The status, and when it began and ended."""
    headers = {"content-type": "application/json", "authorization": f"Bearer worst-{tenant}", **worst.headers}
    timeout = aiohttp.ClientTimeout(total=300)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        began = time.monotonic()
        try:
            async with session.post(f"{url}/v1/chat/completions", data=body, headers=headers) as answer:
                await answer.read()
                status = str(answer.status)
        except aiohttp.ClientError as problem:
            status = type(problem).__name__
        return status, began, time.monotonic()


def longest(times: list[list[float]], begin: float, end: float) -> float:
    """The longest wait of those that were under way in a time."""
    return max((took for began, took in times if began + took >= begin and began <= end), default=0.0)


def held(gaps: list[list[float]], begin: float, end: float) -> float:
    """The most processor time that the gateway took between two beats of its loop in a time."""
    return max((min(gap, cpu) for at, gap, cpu, _ in gaps if begin <= at <= end), default=0.0)


async def measure(args: argparse.Namespace, url: str, port: int, pid: int) -> list[dict[str, Any]]:
    tiny = subprocess.Popen(
        [sys.executable, str(PARTS / "tiny.py"), str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    rows: list[dict[str, Any]] = []
    try:
        await asyncio.sleep(args.settle)
        before = await quiet(pid, 6)
        for worst in [one for one in WORST if args.only in one.name] * args.rounds:
            body = worst.body()
            idle = time.monotonic()
            await asyncio.sleep(args.idle)
            told = await asyncio.gather(*(post(url, worst, body, tenant) for tenant in range(args.together)))
            status = "/".join(sorted({one[0] for one in told}))
            began, ended = min(one[1] for one in told), max(one[2] for one in told)
            await asyncio.sleep(0.3)  # what is done after the answer counts too
            rows.append({"body": worst.name, "bytes": len(body), "status": status, "idle": idle, "at": (began, ended)})
            rows[-1]["memory"] = await quiet(pid, REST, MOST_MEMORY * before) / before
            print(f"{worst.name}: {status}, {ended - began:.2f} s", file=sys.stderr, flush=True)
        waited, _ = await asyncio.to_thread(tiny.communicate, b"\n")
    finally:
        tiny.kill()
    times = json.loads(waited)
    for row in rows:
        began, ended = row["at"]
        alone = longest(times, row.pop("idle"), began - 0.05)
        beside = longest(times, began, ended + 0.3)
        row |= {"seconds": ended - began, "alone": alone, "beside": beside}
        row["holds"] = beside <= max(MOST_SECONDS, MOST_TIMES * alone) and row["memory"] <= MOST_MEMORY
    return rows


def table(rows: list[dict[str, Any]]) -> None:
    print(f"{'':42}{'bytes':>11}{'status':>8}{'took s':>8}{'alone ms':>10}{'beside ms':>11}{'held ms':>9}{'memory':>8}")
    for row in rows:
        print(
            f"{row['body']:42}{row['bytes']:11,}{row['status']:>8}{row['seconds']:8.2f}{row['alone'] * 1e3:10.1f}"
            f"{row['beside'] * 1e3:11.1f}{row['held'] * 1e3:9.1f}{row['memory']:7.2f}x"
            f"{'' if row['holds'] else '  too much'}"
        )


async def run(args: argparse.Namespace) -> bool:
    ports = free_port(), free_port(), free_port()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder, "brim.toml").write_text(CONFIG.format(*ports[:2]))
        beats = Path(folder, "beats.json")
        serving = [sys.executable, str(PARTS / "watched.py"), str(beats), "--port", str(ports[2])]
        env = {**os.environ, "BRIM_STORE_PATH": f"{folder}/brim.db", "HOME": folder}
        started = [
            *(start(str(PARTS / "upstream.py"), str(port)) for port in ports[:2]),
            subprocess.Popen(serving, env=env, cwd=folder),
        ]
        try:
            url = f"http://127.0.0.1:{ports[2]}"
            await wait_for(url)
            rows = await measure(args, url, ports[2], started[2].pid)
        finally:
            for process in started:
                process.send_signal(signal.SIGTERM)
            for process in started:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
        heart = json.loads(beats.read_text())
    for row in rows:
        began, ended = row.pop("at")
        row["held"] = held(heart["gaps"], began, ended + 0.3)
        row["gaps"] = [one for one in heart["gaps"] if began <= one[0] <= ended + 0.3]
        row["collections"] = [one for one in heart["gc"] if began <= one[0] <= ended + 0.3]
        row["stacks"] = [one for one in heart["stacks"] if began <= one[0] <= ended + 0.3]
    table(rows)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1))
    return all(row["holds"] for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="bodies whose name holds this")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--together", type=int, default=1, help="tenants that send each body at once")
    parser.add_argument("--settle", type=float, default=60.0, help="seconds of tiny requests before memory is measured")
    parser.add_argument("--idle", type=float, default=4.0, help="seconds in which tiny requests are alone, each time")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there")
    sys.exit(0 if asyncio.run(run(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
