"""A soak of the gateway: production arrival times, many streams at once, a kill in the middle.

    python bench/gateway_soak.py --data DIR --minutes 30

DIR/traffic/AzureLLMInferenceTrace_conv.csv gives arrival times and sizes. Conversations grow past an 8k window, so
requests are fitted all the time. Told at the end: errors, usage records against requests, memory when a third of the
time is over and what it did from there on, and, after `kill -9` and a restart on the same store, whether sessions went
on with the prefix they had. In a third of half an hour every cache that this load fills comes to its bound (3,000
requests do it); in shorter runs `--pace` does.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp

from brim.testing import FakeProvider, Say

WINDOW, MODEL = 8_000, "soak-model"
PIECES = 60
CHATS = 128
FLAT = 0.1


class Writer:
    """A stream writer that takes its time, as a model does."""

    def __init__(self, inner: asyncio.StreamWriter, provider: Provider) -> None:
        self._inner = inner
        self._provider = provider
        self.write, self.close, self.transport = inner.write, inner.close, inner.transport

    async def drain(self) -> None:
        await self._inner.drain()
        if self._provider.pause:
            await asyncio.sleep(self._provider.pause)


class Provider(FakeProvider):
    """The fake provider with so many seconds between the pieces of an answer."""

    pause = 0.0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await super()._serve(reader, Writer(writer, self))  # type: ignore[arg-type]


def arrivals(data: Path | None, pace: float = 1.0) -> Iterator[tuple[float, int]]:
    """Seconds since the first request, so many times faster than they were, and the tokens of its prompt."""
    if data is None:
        rng = random.Random(5)
        clock = 0.0
        while True:
            clock += rng.expovariate(8)
            yield clock / pace, rng.randrange(100, 900)
    with (data / "traffic" / "AzureLLMInferenceTrace_conv.csv").open() as rows:
        first = None
        for row in csv.DictReader(rows):
            at = datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp()
            first = at if first is None else first
            yield (at - first) / pace, int(row["ContextTokens"])


def memory(pid: int) -> int:
    """Resident kilobytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)  # none of a dead process


def start(folder: Path, upstream: str) -> tuple[subprocess.Popen[bytes], str]:
    config = folder / "brim.toml"
    config.write_text(f'[models.{MODEL}]\nwindow = {WINDOW}\nmax_output = 500\nfamily = "o200k"\n')
    command = [
        sys.executable,
        "-m",
        "brim.cli.service.serve",
        "--config",
        str(config),
        "--port",
        "0",
        "--upstream",
        upstream,
    ]
    env = {**os.environ, "BRIM_STORE_PATH": str(folder / "brim.db"), "HOME": str(folder)}
    with (folder / "log").open("ab") as log:
        before = log.tell()
        process = subprocess.Popen(command, stderr=log, env=env)
    for _ in range(400):
        told = (folder / "log").read_bytes()[before:]
        if b"Brim listens on" in told:
            return process, told.split(b"Brim listens on ")[1].split()[0].decode()
        time.sleep(0.05)
    raise SystemExit("the gateway did not start")


class Soak:
    """Conversations that grow, each kept as its client keeps it."""

    def __init__(self, url: str, seed: int = 3) -> None:
        self.url = url
        self.rng = random.Random(seed)
        self.chats: list[list[dict[str, str]]] = [[] for _ in range(CHATS)]
        self.busy: set[int] = set()
        self.sent = self.errors = self.late = self.most = 0
        self.running: list[int] = []
        self.sent_at: list[int] = []  # requests at each look at the memory
        self.problems: list[str] = []

    def text(self, tokens: int) -> str:
        colours = ("red", "green", "blue")
        rng = self.rng
        return " ".join(f"unit{rng.randrange(10_000)} is {rng.choice(colours)}" for _ in range(max(1, tokens // 5)))

    async def turn(self, session: aiohttp.ClientSession, number: int, tokens: int) -> None:
        chat = self.chats[number]
        chat.append({"role": "user", "content": self.text(min(tokens, 1_500))})
        body = {"model": MODEL, "messages": chat, "stream": True, "stream_options": {"include_usage": True}}
        try:
            headers = {"x-brim-session": f"soak-{number}"}
            async with session.post(f"{self.url}/v1/chat/completions", json=body, headers=headers) as answer:
                data = await answer.read()
                if answer.status != 200 or b"[DONE]" not in data:
                    raise ValueError(f"{answer.status} {data[:200]!r}")
        except (aiohttp.ClientError, ValueError, TimeoutError) as problem:
            self.errors += 1
            self.problems.append(str(problem)[:200])
        chat.append({"role": "assistant", "content": "All right, noted."})
        if len(chat) > 120:
            chat.clear()
        self.busy.discard(number)

    async def run(self, seconds: float, data: Path | None, pid: int, pace: float = 1.0) -> list[int]:
        began, tasks, rss, next_look = time.monotonic(), set[asyncio.Task[None]](), [], 0.0
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session:
            for at, tokens in arrivals(data, pace):
                now = time.monotonic() - began
                if now > seconds:
                    break
                if now > next_look:
                    rss.append(memory(pid))
                    self.running.append(len(self.busy))
                    self.sent_at.append(self.sent)
                    print(f"{now:7.0f} s  {rss[-1] // 1024} MB  {len(self.busy)} streams  {self.sent} sent", flush=True)
                    next_look = now + max(2.0, seconds / 60)
                await asyncio.sleep(max(0.0, at - now))
                free = [number for number in range(len(self.chats)) if number not in self.busy]
                if not free:
                    self.late += 1
                    continue
                number = self.rng.choice(free)
                self.busy.add(number)
                self.most = max(self.most, len(self.busy))
                self.sent += 1
                task = asyncio.create_task(self.turn(session, number, tokens))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.gather(*tasks)
        return rss


def get(url: str, path: str) -> Any:
    return json.loads(subprocess.run(["curl", "-s", f"{url}{path}"], capture_output=True, check=True).stdout)


async def main(args: argparse.Namespace) -> int:
    folder = Path(tempfile.mkdtemp())
    data = Path(args.data) if args.data else None
    async with Provider(window=WINDOW, model=MODEL, default=Say("All right, noted. " * 12, pieces=PIECES)) as provider:
        process, url = start(folder, provider.url)
        soak = Soak(url)
        provider.pause = args.seconds / args.pace / PIECES
        rss = await soak.run(args.minutes * 60, data, process.pid, args.pace)
        provider.pause = 0.0
        await asyncio.sleep(1.5)
        live = await asyncio.to_thread(get, url, "/brim/v1/live")
        day = (await asyncio.to_thread(get, url, "/brim/v1/usage"))["days"]
        kept = sum(row["requests"] for row in day if row["model"] == MODEL)
        print(f"{soak.sent} requests, {soak.errors} errors {soak.problems[:3]}, {kept} usage records")
        print(f"{sum(soak.running) / len(soak.running):.0f} streams at once on average, {soak.most} at most, "
              f"{soak.late} arrivals found every conversation busy")  # fmt: skip
        flat = told_memory(rss, soak.sent_at)
        print({key: live[key] for key in ("fitted", "overflows_avoided", "refits", "over_upper", "cache_hit_share")})
        lost = kept != soak.sent or soak.errors > 0
        return int(await killed(soak, folder, provider, process) or lost or not flat)


def told_memory(rss: list[int], sent: list[int]) -> bool:
    """Print what memory did after warm-up, the first third of the time; whether it stayed within a tenth of that."""
    start = len(rss) // 3
    warm, later = rss[start], rss[start:]
    low, high = min(later) / warm - 1, max(later) / warm - 1
    print(
        f"memory: warm-up is the first third of the time ({sent[start]} of {sent[-1]} requests), {warm // 1024} MB at "
        f"its end; from there on {min(later) // 1024} to {max(later) // 1024} MB ({low:+.0%} to {high:+.0%}), "
        f"at the end {rss[-1] // 1024} MB ({rss[-1] / warm - 1:+.0%})"
    )
    return low >= -FLAT and high <= FLAT


async def killed(soak: Soak, folder: Path, provider: Provider, process: subprocess.Popen[bytes]) -> int:
    """`kill -9` under load, restart, and the same conversations go on."""
    loading = asyncio.create_task(soak.run(3, None, process.pid))
    await asyncio.sleep(2)
    process.send_signal(signal.SIGKILL)
    await loading
    process.wait()
    with sqlite3.connect(folder / "brim.db") as db:
        print("store after kill -9:", db.execute("PRAGMA integrity_check").fetchone()[0])
    process, soak.url = start(folder, provider.url)
    soak.errors, soak.sent = 0, 0
    long = sum(len(chat) > 40 for chat in soak.chats)
    await soak.run(8, None, process.pid)
    live = await asyncio.to_thread(get, soak.url, "/brim/v1/live")
    hits = live["cache_hit_share"]
    print(f"after the restart: {soak.sent} requests, {soak.errors} errors, {long} long sessions, cache hits {hits}")
    process.terminate()
    return int(process.wait(30) != 0 or soak.errors > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=12.0, help="how long each answer is streamed")
    parser.add_argument("--pace", type=float, default=1.0, help="so many times faster than production, answers too")
    sys.exit(asyncio.run(main(parser.parse_args())))
