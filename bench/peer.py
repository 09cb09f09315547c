"""Talks to a library's worker: Brim and the others are asked in the same way, each in a process of its own.

    with Worker(environment) as worker:
        worker.open("trim_messages")
        worker.fit(messages, 8_000).messages

A worker that ends, or takes too long, is started anew for the next question; its answer is the reason.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from environments import PEERS, Environment

PATIENCE = 120.0  # seconds of processor time
STARTING = 120.0
BUSY = 20  # times as long by the clock, on a busy machine


class PeerProblem(Exception):
    """A library that is not there, or could not do what it was asked; its text says why."""


def processor_time(pid: int) -> float | None:
    """Seconds of processor time that a process has used; None where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except FileNotFoundError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid: int) -> float | None:
    """The most megabytes that a process has had in memory; None where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)


@dataclass(frozen=True)
class Answer:
    """A fitted chat, and the processor seconds that it took."""

    messages: list[dict[str, Any]]
    seconds: float


@dataclass
class Worker:
    """One library in its own process, started with the first question."""

    environment: Environment
    more: dict[str, str] = field(default_factory=dict)  # of the process's environment
    versions: dict[str, str] = field(default_factory=dict)
    patience: float = PATIENCE
    _process: subprocess.Popen[bytes] | None = None
    _errors: Any = None
    _opened: str = ""

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self, how: str) -> None:
        """Begin a new conversation in one of the library's ways."""
        self._opened = how
        self.ask({"do": "open", "how": how})

    def fit(self, messages: list[dict[str, Any]], budget: int) -> Answer:
        """Raises PeerProblem where the library refuses."""
        if self._process is None:
            self.open(self._opened)
        found = self.ask({"do": "fit", "messages": messages, "budget": budget})
        return Answer(found["messages"], found["seconds"])

    def held(self, values: list[str]) -> list[bool] | None:
        """Which values the library's own retrieval gives back; None where it has none."""
        found = self.ask({"do": "held", "values": values})
        return found["held"] if found["can"] else None

    def peak_memory(self) -> float | None:
        """Megabytes, of the process that was asked last."""
        return peak_memory(self._process.pid) if self._process else None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        answer = self._read(self.patience)
        if "refused" in answer:
            raise PeerProblem(str(answer["refused"]))
        return answer

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._errors.close()

    def _start(self) -> subprocess.Popen[bytes]:
        if self.environment.problem:
            raise PeerProblem(self.environment.problem)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            self.environment.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env=self._surroundings(), cwd=PEERS,
        )  # fmt: skip
        self.versions = self._read(STARTING)["versions"]
        return self._process

    def _surroundings(self) -> dict[str, str]:
        """Nothing that would bring other modules in; what a library keeps at home it keeps in its own folder."""
        if self.environment.name == "brim":
            return {**os.environ, **self.more}
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return {**kept, "HOME": str(self.environment.folder), **self.more}

    def _read(self, patience: float) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        begun, before = time.monotonic(), processor_time(process.pid)
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            while not waiting.select(min(patience, 2.0)):
                now = processor_time(process.pid)
                spent = time.monotonic() - begun if now is None or before is None else now - before
                if spent > patience or time.monotonic() - begun > BUSY * patience:
                    process.kill()
                    self.close()
                    raise PeerProblem(f"took more than {patience:.0f} s")
        line = process.stdout.readline()
        if not line:
            raise self._ended()
        found: dict[str, Any] = json.loads(line)
        return found

    def _ended(self) -> PeerProblem:
        """The last thing that an ended worker wrote."""
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        self.close()
        return PeerProblem((lines or ["ended without a word"])[-1][:300])
