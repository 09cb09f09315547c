"""What a proxy adds to a request: Brim's gateway, a bare pass-through, and the proxies of LiteLLM and headroom.

bench/gateway.py starts and measures them; it is run as a process of its own, which starts others.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import environments
import table
from peer import PeerProblem
from summary import BARE

from versus.ways import WHO, Field, Row

GATEWAY = Path(__file__).resolve().parent.parent / "gateway.py"


@dataclass(frozen=True)
class Proxy:
    """Another proxy: its environment in bench/peers/, the package whose version is told, and what tables call it."""

    peer: str
    package: str
    name: str


# By their command, which bench/gateway.py knows, too.
PROXIES = {
    "litellm": Proxy("litellm", "litellm", "LiteLLM proxy"),
    "headroom": Proxy("headroom_proxy", "headroom-ai", "headroom proxy"),
    "portkey": Proxy("portkey", "@portkey-ai/gateway", "Portkey gateway"),
}
NAMES = {"bare": BARE, "brim": "Brim gateway", **{name: proxy.name for name, proxy in PROXIES.items()}}
KINDS = {"json": "3 KB, continuing", "fresh": "3 KB, fresh", "stream": "stream of 100 chunks"}
# Of Brim's gateway, as a multiple of the bare pass-through.
BARS = {"json": "<= 1.2", "fresh": "<= 1.5", "stream": "<= 1.25"}
LESS = {"litellm": ">= 15", "headroom": ">= 8", "portkey": ""}  # times as much processor time as Brim
PATIENCE = 900.0
Found = Mapping[str, Any]


@dataclass
class Overhead:
    """One measurement of all proxies, made when it is first asked for; two tables show it."""

    field: Field
    flags: tuple[str, ...] = ()
    _found: Found | None = None
    _problems: dict[str, str] = field(default_factory=dict)

    def proxies(self) -> list[Row]:
        """Processor time of a request, as milliseconds and against the bare proxy, and what the median waits more."""
        found = self._measured()
        rows = [{WHO: said, **_row(found, name)} for name, said in NAMES.items() if name in found.get("json", {})]
        return [*rows, *({WHO: NAMES[name], "problem": said} for name, said in self._problems.items())]

    def own(self) -> list[dict[str, str]]:
        return table.judged(self._own())

    def _own(self) -> Iterator[table.Row]:
        found = self._measured()
        for kind, said in KINDS.items():
            for name, numbers in found.get(kind, {}).items():
                if name == "brim":
                    yield f"{said}: processor time ÷ that of a bare pass-through", numbers["x_bare"], BARS[kind]
                elif name in LESS and "problem" not in numbers:
                    times = numbers["cpu_ms"] / found[kind]["brim"]["cpu_ms"]
                    yield f"{said}: processor time of the {NAMES[name]} ÷ Brim's", times, LESS[name]
        large = found.get("large", {})
        for key, said, bar in (
            ("added_ms", "1 MB body, all but its last message known: ms added, median", "<= 12"),
            ("p90_ms", "1 MB body, all but its last message known: ms added, nine of ten", ""),
            ("cold_ms", "1 MB body, all of it new: ms added", ""),
        ):
            if key in large:
                yield said, large[key], bar

    def _measured(self) -> Found:
        if self._found is None:
            self._found = self._together()
        return self._found

    def _together(self) -> Found:
        """All in one run; where that fails, each of the others alone, so that one does not hide the next."""
        commands = dict(self._commands())
        try:
            return _run(commands, self.flags)
        except PeerProblem:
            if not commands:
                raise
        working = {name: command for name, command in commands.items() if self._starts(name, command)}
        return _run(working, self.flags)

    def _starts(self, name: str, command: str) -> bool:
        try:
            _run({name: command}, ("--rounds", "1", "--only", "json"))
        except PeerProblem as problem:
            self._problems[name] = str(problem)
            return False
        return True

    def _commands(self) -> Iterator[tuple[str, str]]:
        for name, proxy in PROXIES.items() if self.field.peers else ():
            environment = self.field.environment(proxy.peer)
            if environment.problem:
                self._problems[name] = environment.problem
                continue
            self.field.noted[proxy.package] = environments.version(environment, proxy.package)
            yield name, environments.command(environment, name)


def _row(found: Found, name: str) -> Row:
    row: Row = {}
    for kind, said in KINDS.items():
        numbers, bare = found[kind][name], found[kind]["bare"]
        if "problem" in numbers:
            row[f"{said}: CPU ms"] = numbers["problem"]
            continue
        row[f"{said}: CPU ms"] = numbers["cpu_ms"]
        row[f"{said}: × bare"] = numbers["x_bare"]
        row[f"{said}: p50 added, ms"] = numbers["p50_ms"] - bare["p50_ms"]
    return row | _alone(found.get("turn", {}).get(name))


def _alone(numbers: Found | None) -> Row:
    """What a proxy adds to one request at a time, against the upstream itself."""
    if numbers is None or "problem" in numbers:
        return {"one at a time: p50 added, ms": numbers["problem"]} if numbers else {}
    return {f"one at a time: {half} added, ms": numbers[f"{half}_added_ms"] for half in ("p50", "p95")}


def _run(commands: Mapping[str, str], flags: tuple[str, ...]) -> Found:
    """What bench/gateway.py found with these proxies. Raises PeerProblem with the last thing that it said."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gateway.json"
        peers = [word for name, command in commands.items() for word in ("--peer", f"{name}={command}")]
        started = subprocess.Popen(
            [sys.executable, str(GATEWAY), "--json", str(file), *flags, *peers],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            _, said = started.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)  # the proxies that it started, too
            started.communicate()
            raise PeerProblem(f"took more than {PATIENCE:.0f} s") from None
        if started.returncode or not file.exists():
            raise PeerProblem((said.strip().splitlines() or [f"ended with {started.returncode}"])[-1])
        found: Found = json.loads(file.read_text(encoding="utf-8"))
        return found
