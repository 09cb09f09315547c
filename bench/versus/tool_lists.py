"""What a tool list costs in every prompt: 527 tools as they are, through Brim's wrapper, and through mcp-compressor."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import environments
from mcp_parts import listing
from mcp_parts.rows import load
from peer import PeerProblem

from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens
from brim.mcp.tools.audit import measure
from brim.mcp.tools.tool_list import ToolList, tokens_of
from versus.ways import WHO, Field, Row

LEVELS = ("low", "medium", "high", "max")
PATIENCE = 60.0
BEGIN = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def table(field: Field, data: Path) -> list[Row]:
    """Tokens of what `tools/list` answers, and whether a tool can be called without asking for its schema first."""
    path = data / "mcp_tool_schemas.jsonl"
    if not path.exists():
        return [{WHO: "no data", "problem": f"no {path.name}: icip-cas/LiveMCPBench publishes it"}]
    by_owner: dict[str, list[dict[str, Any]]] = {}
    for row in load(path):
        by_owner.setdefault(row["server"], []).append({k: v for k, v in row.items() if k != "server" and v is not None})
    tools = ToolList(WrapperOptions(), count_tokens)
    tools.fill(list(by_owner.items()), prefixed=True)
    report = measure(tools)
    rows = [
        _row("as they are", report.tokens, report.tokens, "yes"),
        _row("Brim, shrunk", report.shrunk, report.tokens, "yes"),
        _row("Brim, behind meta-tools", report.grouped, report.tokens, "no"),
    ]
    return [*rows, *_others(field, path, report.tokens)] if field.peers else rows


def _others(field: Field, path: Path, whole: int) -> Iterator[Row]:
    environment = field.environment("mcp_compressor")
    for level in LEVELS:
        name = f"mcp-compressor, {level}"
        try:
            if environment.problem:
                raise PeerProblem(environment.problem)
            field.noted["mcp-compressor"] = environments.version(environment, "mcp-compressor")
            shown = _listed(environments.command(environment, "mcp-compressor"), level, path)
            yield _row(name, sum(tokens_of(tool, count_tokens) for tool in shown), whole, "no")
        except PeerProblem as problem:
            yield {WHO: name, "problem": str(problem)}


def _row(name: str, tokens: int, whole: int, directly: str) -> Row:
    return {WHO: name, "tokens": tokens, "of the tokens": tokens / whole, "callable without a look-up": directly}


def _listed(command: str, level: str, path: Path) -> list[dict[str, Any]]:
    """The tools that mcp-compressor shows in the place of those of a server."""
    server = [sys.executable, listing.__file__, str(path)]
    asked = [
        {"id": 1, "method": "initialize", "params": BEGIN},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    ]
    process = subprocess.Popen(
        [command, "-c", level, "--", *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for one in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **one}) + "\n")
            process.stdin.flush()
            if "id" in one:
                answer = _answer(process.stdout, one["id"])
        return list(answer["tools"])
    finally:
        for pipe in (process.stdin, process.stdout):
            pipe.close()
        process.terminate()
        process.wait(PATIENCE)


def _answer(lines: Any, number: int) -> dict[str, Any]:
    for line in lines:
        said = json.loads(line) if line.lstrip().startswith("{") else {}
        if said.get("id") == number:
            if "result" not in said:
                raise PeerProblem(str(said.get("error"))[:200])
            return dict(said["result"])
    raise PeerProblem("ended without an answer")
