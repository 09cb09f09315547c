"""A tool list of any size as an MCP server on standard input and output: `python listing.py SCHEMAS.jsonl`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def tools_of(path: Path) -> list[dict[str, Any]]:
    """The tools of all servers, each with its server's name before its own."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = {key: value for key, value in json.loads(line).items() if value is not None}
        found.append({**row, "name": f"{row.pop('server')}__{row['name']}"})
    return found


def answer(asked: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any]:
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"name": "listing", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    return {"tools": tools} if asked["method"] == "tools/list" else {}


def main() -> None:
    tools = tools_of(Path(sys.argv[1]))
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked, tools)}), flush=True)


if __name__ == "__main__":
    main()
