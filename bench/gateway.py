"""What the gateway costs, in real processes on loopback: against a bare pass-through of the same stack.

    python bench/gateway.py                       the table
    python bench/gateway.py --peer litellm=/opt/litellm/bin/litellm --peer headroom=/opt/headroom/bin/headroom

Each number is the best of several rounds, taken in turns, so that a busy machine troubles all alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import aiohttp
from gateway_parts import peers as other_proxies

PARTS = Path(__file__).with_name("gateway_parts")
WORDS = [
    f"{a}{b}" for a in ("or", "in", "sta", "con", "re", "pay") for b in ("der", "voice", "tus", "tract", "ment", "al")
]


# What is sent, and how many of it in a round.
KINDS = {
    "json": ("3 KB JSON, a conversation that goes on", 400),
    "fresh": ("3 KB JSON, a conversation that nobody has seen", 400),
    "stream": ("stream of 100 chunks", 100),
}


OURS = ("bare", "brim")
IDLE = 20  # requests of each way before its times count


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def cpu_of(pid: int) -> float:
    """Seconds of processor time that a process has used, threads that have ended included."""
    return time.clock_gettime((~pid << 3) | 2)  # Linux's number for the clock of a process


def text(words: int, rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) + str(rng.randrange(100)) for _ in range(words))


def small_bodies(count: int, kind: str, rng: random.Random) -> list[bytes]:
    """Requests of 3 KB: a conversation whose last message is new each time, or, of the kind `fresh`, all of it."""

    def history() -> list[dict[str, str]]:
        return [{"role": ("user", "assistant")[n % 2], "content": text(40, rng)} for n in range(8)]

    shared = history()
    more = {"stream": True} if kind == "stream" else {}
    bodies = []
    for _ in range(count):
        before = history() if kind == "fresh" else shared
        body = {"model": "gpt-4o", "messages": [*before, {"role": "user", "content": text(30, rng)}], **more}
        bodies.append(json.dumps(body, separators=(",", ":")).encode())
    return bodies


def large_bodies(count: int, rng: random.Random) -> list[bytes]:
    """Bodies of 1 MB in 400 messages, known but for the last."""
    shared = [{"role": ("user", "assistant")[n % 2], "content": text(270, rng)} for n in range(400)]
    return [
        json.dumps({"model": "gpt-4.1", "messages": [*shared, {"role": "user", "content": text(60, rng)}]}).encode()
        for _ in range(count)
    ]


class WrongAnswer(Exception):
    """A proxy answered with an error: its status, and the beginning of what it said."""


class Proxy:
    """A proxy under test."""

    def __init__(self, name: str, url: str, pid: int, upstream: str) -> None:
        self.name, self.url, self.pid, self.upstream = name, url, pid, upstream
        self.headers = {"content-type": "application/json", "authorization": "Bearer bench"}
        self.headers |= {key: value.format(upstream=upstream) for key, value in other_proxies.HEADERS.items()}

    async def post(self, session: aiohttp.ClientSession, body: bytes) -> float:
        began = time.perf_counter()
        async with session.post(f"{self.url}/v1/chat/completions", data=body, headers=self.headers) as answer:
            data = await answer.read()
            if answer.status != 200:
                raise WrongAnswer(f"{self.name}: {answer.status} {data[:300].decode(errors='replace')}")
        return time.perf_counter() - began

    async def load(self, bodies: list[bytes], at_once: int) -> tuple[float, float]:
        """CPU seconds a request and the median latency."""
        waiting = list(bodies)
        times: list[float] = []

        async def worker(session: aiohttp.ClientSession) -> None:
            while waiting:
                times.append(await self.post(session, waiting.pop()))

        async with aiohttp.ClientSession() as session:
            before = cpu_of(self.pid)
            await asyncio.gather(*(worker(session) for _ in range(at_once)))
            return (cpu_of(self.pid) - before) / len(bodies), median(times)


async def wait_for(url: str, seconds: float = 20.0) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(int(seconds / 0.05)):
            try:
                async with session.get(url + "/v1/models"):
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
    raise SystemExit(f"{url} did not start")


def start(*command: str, **env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *command], env={**os.environ, **env})


async def compare(
    proxies: list[Proxy], rounds: int, count: int, kind: str, at_once: int
) -> tuple[dict[str, tuple[float, float]], dict[str, str]]:
    """The best of each proxy; and of another's that answers this kind with an error, what it says."""
    best: dict[str, tuple[float, float]] = {}
    wrong: dict[str, str] = {}
    rng = random.Random(7)
    for number in range(rounds + 1):
        for proxy in proxies if number % 2 else proxies[::-1]:
            if proxy.name in wrong:
                continue
            some = count if proxy.name in OURS else max(at_once, count // 4)
            bodies = small_bodies(some if number else 40, kind, rng)
            try:
                cpu, latency = await proxy.load(bodies, at_once)
            except WrongAnswer as problem:
                if proxy.name in OURS:
                    raise
                wrong[proxy.name] = str(problem)
                best.pop(proxy.name, None)
                continue
            known = best.get(proxy.name, (99.0, 99.0))
            if number:  # the first round warms up
                best[proxy.name] = (min(cpu, known[0]), min(latency, known[1]))
    return best, wrong


async def in_turn(proxies: list[Proxy], count: int) -> dict[str, Any]:
    """Milliseconds that each adds to one request at a time, all taking turns, as llm-gateway-bench measures.

    The 3 KB are new each time, and what the upstream takes without a proxy is subtracted.
    """
    upstream = proxies[0].upstream
    ways = [Proxy("direct", upstream, 0, upstream), *proxies]
    times: dict[str, list[float]] = {way.name: [] for way in ways}
    wrong: dict[str, str] = {}
    async with aiohttp.ClientSession() as session:
        for number, body in enumerate(small_bodies(count + IDLE, "fresh", random.Random(13))):
            for way in ways:
                if way.name in wrong:
                    continue
                try:
                    spent = await way.post(session, body)
                except WrongAnswer as problem:
                    wrong[way.name] = str(problem)
                    continue
                if number >= IDLE:
                    times[way.name].append(spent * 1e3)
    told: dict[str, Any] = {name: {"problem": said} for name, said in wrong.items()}
    print("\none request at a time, ms added to the upstream's own")
    for name in (proxy.name for proxy in proxies if proxy.name not in wrong):
        halves = [quantiles(times[way], n=20) for way in (name, "direct")]
        p50, p95 = (halves[0][place] - halves[1][place] for place in (9, 18))
        print(f"{name:10} p50 {p50:7.2f}  p95 {p95:7.2f}")
        told[name] = {"p50_added_ms": p50, "p95_added_ms": p95}
    return told


async def added(bare: Proxy, brim: Proxy, count: int) -> tuple[float, float, float]:
    """Milliseconds that Brim adds to a body of 1 MB: median, worst of nine in ten, and with everything new."""
    rng = random.Random(11)
    bodies = large_bodies(count, rng)
    async with aiohttp.ClientSession() as session:
        cold = await brim.post(session, bodies[0]) - await bare.post(session, bodies[0])
        differences = []
        for body in bodies[1:]:
            plain = await bare.post(session, body)
            differences.append(await brim.post(session, body) - plain)
    differences.sort()
    return differences[len(differences) // 2] * 1e3, differences[int(len(differences) * 0.9)] * 1e3, cold * 1e3


def table(title: str, found: dict[str, tuple[float, float]], wrong: dict[str, str]) -> dict[str, Any]:
    bare_cpu, bare_latency = found["bare"]
    print(f"\n{title}\n{'':10}{'CPU ms':>9}{'x bare':>8}{'p50 ms':>9}{'added':>8}")
    told: dict[str, Any] = {}
    for name, (cpu, latency) in found.items():
        times, more = cpu / bare_cpu, (latency - bare_latency) * 1e3
        print(f"{name:10}{cpu * 1e3:9.3f}{times:8.2f}{latency * 1e3:9.2f}{more:8.2f}")
        told[name] = {"cpu_ms": cpu * 1e3, "x_bare": times, "p50_ms": latency * 1e3, "p50_added_ms": more}
    for name, said in wrong.items():
        print(f"{name:10} {said}")
        told[name] = {"problem": said}
    return told


async def parts(args: argparse.Namespace, proxies: list[Proxy]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for kind, (title, count) in KINDS.items():
        if args.only in (None, kind):
            result[kind] = table(title, *await compare(proxies, args.rounds, count, kind, args.at_once))
    if args.only in (None, "turn"):
        result["turn"] = await in_turn(proxies, 25 * args.rounds)
    if args.only in (None, "large"):
        usual, slow, cold = await added(proxies[0], proxies[1], 40)
        print(f"\n1 MB body, all but the last message known: {usual:.1f} ms added (p90 {slow:.1f})")
        print(f"1 MB body, all of it new: {cold:.0f} ms added")
        result["large"] = {"added_ms": usual, "p90_ms": slow, "cold_ms": cold}
    return result


async def run(args: argparse.Namespace) -> None:
    ports = args.upstream_port or free_port(), free_port(), free_port()
    upstream = f"http://127.0.0.1:{ports[0]}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        started = [
            start(str(PARTS / "upstream.py"), str(ports[0])),
            start(str(PARTS / "bare.py"), str(ports[1]), upstream),
            start(
                "-m", "brim.cli.service.serve", "--port", str(ports[2]), "--upstream", upstream, *args.serve,
                BRIM_STORE_PATH=f"{folder}/brim.db", HOME=folder,
            ),
        ]  # fmt: skip
        try:
            urls = [f"http://127.0.0.1:{port}" for port in ports]
            for url in urls:
                await wait_for(url)
            bare, brim = (
                Proxy(name, urls[place], started[place].pid, upstream) for place, name in enumerate(("bare", "brim"), 1)
            )
            peers = [bare, brim]
            for peer in args.peer:
                name, _, command = peer.partition("=")
                port = free_port()
                started.append(other_proxies.start(name, command, port, upstream, Path(folder)))
                await wait_for(f"http://127.0.0.1:{port}", 120)
                peers.append(Proxy(name, f"http://127.0.0.1:{port}", started[-1].pid, upstream))
            result = await parts(args, peers)
            if args.json:
                Path(args.json).write_text(json.dumps(result, indent=1))
        finally:
            for process in started:
                process.send_signal(signal.SIGTERM)
            for process in started:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", metavar="FILE", help="write the numbers there")
    parser.add_argument("--serve", nargs="*", default=[], help="more flags for brim serve, such as --serve=--memory")
    parser.add_argument("--only", choices=("json", "fresh", "stream", "turn", "large"), help="one part of it")
    parser.add_argument("--at-once", type=int, default=32, help="requests in work at the same time")
    parser.add_argument("--upstream-port", type=int, default=0)
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=COMMAND", help="litellm, headroom or portkey"
    )
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
