"""Gateways as processes on one store, conversations that are led through them, and what the store has kept of those."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import aiohttp

from brim.sessions.session import Session

WINDOW, MODEL = 4_000, "scale-model"
# Conversations at work at a time: the two cores are shared with the load and the database.
AT_ONCE = 8
# Tries of a client whose gateway is gone; SDKs make two or three within some seconds.
TRIES, PAUSE = 8, 0.5


class Reached(Protocol):
    """Whoever takes requests: gateways, or a balancer before them."""

    urls: list[str]


@dataclass
class Outcome:
    """What clients and the provider saw."""

    answered: int = 0
    failed: list[str] = field(default_factory=list)
    again: int = 0
    over: int = 0
    tokens: int = 0
    cached: int = 0
    slowest: float = 0.0

    @property
    def reuse(self) -> float:
        return self.cached / max(1, self.tokens)


class Gateways:
    """Gateways on one database, each a process."""

    def __init__(self, folder: Path, stores: list[str], upstream: str, cache: str = "") -> None:
        self._folder, self._stores, self._upstream = folder, stores, upstream
        told = f'[models.{MODEL}]\nwindow = {WINDOW}\nmax_output = 300\nfamily = "o200k"\n'
        told += "[gateway]\ndrain_notice = 2.5\n"  # as deploy/brim.toml has it
        if cache:  # limits that nobody reaches, so that it is asked with every request
            told += 'tenant_rate = "100M/day"\ntenant_budget = "100G/month"\ntenant_requests = 10000\n'
            told += f'[store]\ncache = "{cache}"\n'
        (folder / "brim.toml").write_text(told)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.urls: list[str] = []
        for name in range(len(stores)):
            process, url = self._start(name, 0)
            self.processes.append(process)
            self.urls.append(url)

    def _start(self, name: int, port: int) -> tuple[subprocess.Popen[bytes], str]:
        place, log = self._folder / f"home-{name}", self._folder / f"log-{name}"
        place.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "brim.cli.service.serve", "--config", str(self._folder / "brim.toml")]
        command += ["--port", str(port), "--upstream", self._upstream]
        store = {"BRIM_STORE_ADDRESS_ENV": "SCALE_STORE", "SCALE_STORE": self._stores[name]}
        env = {**os.environ, **store, "HOME": str(place)}
        with log.open("ab") as told:
            before = told.tell()
            process = subprocess.Popen(command, stderr=told, env=env)
        for _ in range(2_400):
            lines = log.read_bytes()[before:]
            if b"Brim listens on" in lines:
                return process, lines.split(b"Brim listens on ")[1].split()[0].decode()
            time.sleep(0.05)
        raise RuntimeError(f"the gateway did not start: {log.read_text()[-500:]}")

    def kill(self, name: int, how: signal.Signals = signal.SIGKILL) -> None:
        """End one, at once or as `how` says, and start it again at the same place."""
        self.processes[name].send_signal(how)
        self.processes[name].wait()
        self.processes[name], self.urls[name] = self._start(name, int(self.urls[name].rsplit(":", 1)[1]))

    def pause(self, name: int, seconds: float) -> None:
        self.processes[name].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.processes[name].send_signal(signal.SIGCONT)

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(60)


class Load:
    """Conversations whose requests go to gateways by chance."""

    def __init__(self, gateways: Reached, conversations: int, turns: int, seed: int) -> None:
        self.gateways = gateways
        self.outcome = Outcome()
        self.chats: list[list[dict[str, str]]] = [[] for _ in range(conversations)]
        self._turns, self._dice = turns, random.Random(seed)
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        limits = aiohttp.TCPConnector(limit=100)
        async with aiohttp.ClientSession(connector=limits, timeout=aiohttp.ClientTimeout(total=20)) as client:
            await asyncio.gather(*(self._converse(client, number) for number in range(len(self.chats))))

    async def _converse(self, client: aiohttp.ClientSession, number: int) -> None:
        dice = random.Random(number)
        for turn in range(self._turns):
            async with self._free:
                said = " ".join(f"unit{dice.randrange(10_000)} is {dice.choice(('red', 'blue'))}" for _ in range(40))
                self.chats[number].append({"role": "user", "content": f"{turn}: {said}"})
                await self._ask(client, number)
                self.chats[number].append({"role": "assistant", "content": "All right, noted."})

    async def _ask(self, client: aiohttp.ClientSession, number: int) -> None:
        body, began = {"model": MODEL, "messages": self.chats[number]}, time.monotonic()
        headers = {"x-brim-session": f"scale-{number}", "authorization": "Bearer of-all"}
        problem = url = ""
        for left in reversed(range(TRIES)):
            url = self._dice.choice([one for one in self.gateways.urls if one != url] or [url])
            try:
                async with client.post(f"{url}/v1/chat/completions", json=body, headers=headers) as answer:
                    told: Any = await answer.json(content_type=None)
                    if answer.status == 200:
                        usage = told["usage"]
                        self.outcome.answered += 1
                        self.outcome.tokens += usage["prompt_tokens"]
                        self.outcome.cached += usage["prompt_tokens_details"]["cached_tokens"]
                        self.outcome.slowest = max(self.outcome.slowest, time.monotonic() - began)
                        return
                    problem = f"{answer.status} {str(told)[:200]}"
                    if "context_length" in problem:
                        self.outcome.over += 1
            except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
                problem = repr(fault)[:200]
            self.outcome.again += 1
            if left:
                await asyncio.sleep(PAUSE)
        self.outcome.failed.append(problem)


def kept(address: str, chats: list[list[dict[str, str]]]) -> tuple[int, int]:
    """Turns that a store has lost, and those that it has twice or that nobody said, over all conversations."""
    lost = twice = 0
    told: list[str] = []
    store = brim_store(address)
    try:
        ids: dict[str, list[str]] = {}
        for one in store.sessions(10_000):
            ids.setdefault(one.id.rpartition("~")[2].partition(".")[0], []).append(one.id)
        for number, chat in enumerate(chats):
            said = [message["content"] for message in chat[:-1]]  # the last answer was never sent back
            logs = [[m.text for m in Session.load(id, store=store).log] for id in ids.get(f"scale-{number}", [])]
            best = max(logs, key=len, default=[])
            gone = [text.partition(":")[0] for text in said if text not in best and not text.startswith("All right")]
            lost += len(gone)
            if gone:
                told.append(f"{number}: turns {', '.join(gone)} of {len(chat) // 2}, {len(logs)} sessions")
            twice += sum(len(log) for log in logs if log is not best) + max(0, len(best) - len(said))
    finally:
        store.close()
    for one in told:
        print(f"lost of conversation {one}", file=sys.stderr)
    return lost, twice


def brim_store(address: str, **given: Any) -> Any:
    """The store at an address; its driver is an extra."""
    return import_module("brim.stores.postgres.store").PostgresStore(address, **given)
