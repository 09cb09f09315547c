"""Two processes that share a port beside one: CPU for each request, and what they share."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import table

from brim.testing import FakeProvider, Say

# Requests in a round, and rounds in which the two take turns.
REQUESTS, ROUNDS = 300, 4
KINDS = {"kept": "a connection for each conversation", "scattered": "a connection for each request"}
_TICKS = os.sysconf("SC_CLK_TCK")


class Served:
    """A `brim serve` with so many processes."""

    def __init__(self, folder: Path, workers: int, upstream: str) -> None:
        folder.mkdir()
        (folder / "brim.toml").write_text('[models.scale-model]\nwindow = 4000\nmax_output = 300\nfamily = "o200k"\n')
        words = [
            "--config",
            str(folder / "brim.toml"),
            "--port",
            "0",
            "--workers",
            str(workers),
            "--upstream",
            upstream,
        ]
        env = {**os.environ, "HOME": str(folder), "BRIM_STORE_PATH": str(folder / "brim.db")}
        command = [sys.executable, "-m", "brim.cli.service.serve", *words, "--upstream", upstream]
        log = folder / "log"
        with log.open("wb") as told:
            self.process = subprocess.Popen(command, env=env, stderr=told)
        while b"listens on" not in (lines := log.read_bytes()):
            assert self.process.poll() is None, lines
            time.sleep(0.05)
        self.url = lines.split(b"listens on ")[1].split()[0].decode()
        self.port = int(self.url.rsplit(":", 1)[1])
        self.cpu: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def spent(self) -> list[float]:
        """Seconds of CPU of each process that serves."""
        pids = [self.process.pid, *_children(self.process.pid)]
        return [_cpu(pid) for pid in pids]

    def round(self, first: int, kind: str) -> None:
        """Ask so often: conversations of twenty turns that outgrow their window, each on a connection of its own.

        As `scattered`, each request has a new connection, so that conversations go from process to process.
        """
        before = sum(self.spent())
        connection = None
        for number in range(first, first + REQUESTS):
            chat, turn = divmod(number, 20)
            said = [f"{n}: " + f"unit{chat * 31 + n} is red " * 60 for n in range(turn + 1)]
            messages = [{"role": "user", "content": text} for text in said]
            if connection is None or not turn or kind == "scattered":
                if connection is not None:
                    connection.close()
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            body = json.dumps({"model": "scale-model", "messages": messages})
            headers = {"content-type": "application/json", "x-brim-session": f"{kind}-{chat}"}
            connection.request("POST", "/v1/chat/completions", body, headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
        assert connection is not None
        connection.close()
        self.cpu[kind] += sum(self.spent()) - before
        self.asked[kind] += REQUESTS

    def told(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=30) as answer:
            return json.loads(answer.read())

    def counted(self) -> int:
        """The requests that `/metrics` tells of."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return sum(int(line.split()[-1]) for line in lines if line.startswith("brim_requests_total{"))


@contextmanager
def _both() -> Iterator[tuple[Served, Served]]:
    folder = Path(tempfile.mkdtemp(prefix="brim-workers-"))
    made: list[Served] = []
    with FakeProvider(window=4_000, model="scale-model", default=Say("All right, noted.")) as provider:
        try:
            made += [Served(folder / f"{number}", number, provider.url) for number in (1, 2)]
            yield made[0], made[1]
        finally:
            for one in made:
                one.process.terminate()
                one.process.wait(60)
            shutil.rmtree(folder, ignore_errors=True)


def rows() -> Iterable[table.Row]:
    with _both() as (one, two):
        began = two.spent()
        for served in (one, two):
            served.round(0, "scattered")  # each process loads its vocabulary, and makes its first plans
            served.cpu.clear()
        for kind in KINDS:
            for place in range(1, ROUNDS + 1):
                for served in (one, two) if place % 2 else (two, one):
                    served.round(place * REQUESTS, kind)
        ended = two.spent()
        for _ in range(120):
            if two.counted() == two.asked.total():
                break
            time.sleep(0.25)
        for kind, told in KINDS.items():
            ms = [1e3 * served.cpu[kind] / (ROUNDS * REQUESTS) for served in (one, two)]
            yield f"{told}: CPU for each request with one process, ms", round(ms[0], 2), ""
            yield f"{told}: CPU for each request with two, ms", round(ms[1], 2), ""
            yield f"{told}: two processes ÷ one", round(ms[1] / ms[0], 2), "<= 1.1" if kind == "kept" else ""
        shares = [after - before for before, after in zip(began[1:], ended[1:], strict=True)]
        yield "two processes: the smaller share of the work", round(min(shares) / sum(shares), 2), ">= 0.2"
        yield (
            "two processes: requests that /metrics tells of, whichever is asked",
            two.counted(),
            f"= {two.asked.total()}",
        )
        listed = {len(two.told("/brim/v1/sessions?limit=500")["sessions"]) for _ in range(8)}
        yield (
            "two processes: sessions listed, asked 8 times",
            ", ".join(map(str, sorted(listed))),
            f"= {two.asked.total() // 20}",
        )


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found if b"--share-port" in Path(f"/proc/{one}/cmdline").read_bytes()]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
