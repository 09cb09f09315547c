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

import table
from peer import PeerProblem
from summary import BARE

from versus.ways import WHO, Field, Row, Way

GATEWAY = Path(__file__).resolve().parent.parent / "gateway.py"
# A way of each that shows that its environment works; the proxy is the command of the library's name.
PROXIES = (Way("litellm", "compress", "LiteLLM proxy"), Way("headroom", "compress", "headroom proxy"))
NAMES = {"bare": BARE, "brim": "Brim gateway", **{way.peer: way.name for way in PROXIES}}
KINDS = {"json": "3 KB JSON", "stream": "stream of 100 chunks"}
LESS = {"litellm": ">= 15", "headroom": ">= 8"}  # times as much processor time as Brim
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
                    yield f"{said}: processor time ÷ that of a bare pass-through", numbers["x_bare"], "<= 1.35"
                elif name in LESS:
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
        for way, worker in self.field.entered(PROXIES):
            try:
                worker.open(way.how)  # it tells its versions, too
            except PeerProblem as problem:
                self._problems[way.peer] = str(problem)
            else:
                worker.close()  # its process would stand beside the ones that are timed
                yield way.peer, str(Path(worker.environment.program[0]).parent / way.peer)


def _row(found: Found, name: str) -> Row:
    row: Row = {}
    for kind, said in KINDS.items():
        numbers, bare = found[kind][name], found[kind]["bare"]
        row[f"{said}: CPU ms"] = numbers["cpu_ms"]
        row[f"{said}: × bare"] = numbers["x_bare"]
        row[f"{said}: p50 added, ms"] = numbers["p50_ms"] - bare["p50_ms"]
    return row


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
