"""What the wrapper adds to a call, over stdio."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brim.mcp.transport.json_rpc import dump
from mcp_parts.rows import Row

_BLOCKS = 5

_ECHO = """
import json, sys
texts = {}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        info = {"name": "e", "version": "1"}
        r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "text", "inputSchema": {"type": "object"}}]}
    else:
        n = m["params"]["arguments"]["n"]
        if n not in texts:
            texts[n] = "\\n".join("line %d of a log, value %d" % (i, i * 37 % 1000) for i in range(n // 25))[:n]
        r = {"content": [{"type": "text", "text": texts[n]}]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}) + "\\n")
    sys.stdout.flush()
"""


class Pipe:
    """A server process that is asked one thing at a time."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=1 << 20)
        self._id = 0

    def ask(self, method: str, params: dict[str, Any]) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._id += 1
        body = dump({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        began = time.perf_counter()
        self._process.stdin.write(body + b"\n")
        self._process.stdin.flush()
        self._process.stdout.readline()
        return time.perf_counter() - began

    def cpu(self) -> float:
        """Seconds of CPU that the process has used, as far as the system tells."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self._process.communicate()


def latency() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        server = Path(folder) / "server.py"
        server.write_text(_ECHO)
        direct = [sys.executable, str(server)]
        wrap = [sys.executable, "-m", "brim.cli.mcp", "wrap"]
        off = ["--no-compact", "--no-shrink", "--grouping", "off", "--no-repeat"]
        commands = {"direct": direct, "off": [*wrap, *off, "--", *direct], "on": [*wrap, "--", *direct]}
        pipes: dict[str, Pipe] = {}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        starts: dict[str, float] = {}
        for name, command in commands.items():
            began = time.perf_counter()
            pipes[name] = Pipe(command)
            pipes[name].ask("initialize", hello)
            starts[name] = time.perf_counter() - began
            pipes[name].ask("tools/list", {})
        yield "added at start", f"{starts['on'] - starts['direct']:.2f} s", ""
        for size, rounds, bar in ((1_000, 60, "<= 2 ms"), (1_000_000, 12, "<= 10 ms")):
            before = {name: pipes[name].cpu() for name in ("off", "on")}
            blocks = [_block(pipes, size, rounds) for _ in range(_BLOCKS)]
            best = {name: min(block[name] for block in blocks) for name in pipes}
            for name, said in (("off", "passed on"), ("on", "compacted where it must")):
                added = (best[name] - best["direct"]) * 1e3
                yield f"added p50, {size:,} bytes, {said}, best of {_BLOCKS} blocks", f"{added:.2f} ms", bar
                spent = (pipes[name].cpu() - before[name]) / (_BLOCKS * rounds) * 1e3
                yield "  CPU of the wrapper a call", f"{spent:.2f} ms", ""
        for one in pipes.values():
            one.close()


def _block(pipes: dict[str, Pipe], size: int, rounds: int) -> dict[str, float]:
    """The median of each way, asked in turn: other work on the machine meets all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in pipes}
    for _ in range(rounds):
        for name, one in pipes.items():
            times[name].append(one.ask("tools/call", {"name": "text", "arguments": {"n": size}}))
    return {name: statistics.median(found) for name, found in times.items()}
