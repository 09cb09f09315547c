"""A coding session of 46 calls of Brim's own tools on a repository."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens
from brim.mcp.server.own_tools import Tools
from mcp_parts.replay import Step, kept, wrapped
from mcp_parts.rows import Row


def code_session(root: Path) -> list[Step]:
    """46 calls of a coding session: maps, searches, reads and diffs, each led to by what came before."""
    tools = Tools(root, root, root)
    steps: list[Step] = []

    def add(tool: str, arguments: dict[str, Any], value: Any) -> Any:
        text = value if isinstance(value, str) else json.dumps(value, indent=2)
        steps.append((tool, arguments, text))
        return value

    def hits(query: str, mode: Any, limit: int = 20) -> list[dict[str, Any]]:
        found = add("search", {"query": query, "mode": mode}, tools.search(query, mode, limit, "full"))
        results: list[dict[str, Any]] = found["results"]
        return results

    def read(path: str) -> None:
        add("read_source", {"path": path}, (root / path).read_text(encoding="utf-8", errors="replace"))

    whole = add("map_repo", {}, tools.map_repo("", "full"))
    folder = max((c for c in whole["tree"]["children"] if c["is_dir"]), key=lambda c: c["file_count"])["path"]
    add("map_repo", {"path": folder}, tools.map_repo(folder, "full"))
    add("semantic_diff", {"base": "HEAD~3", "target": "HEAD"}, tools.semantic_diff("HEAD~3", "HEAD", "full"))
    add("semantic_diff", {"base": "HEAD~1", "target": "HEAD"}, tools.semantic_diff("HEAD~1", "HEAD", "full"))
    names = most_used(tools, folder)
    for name in names[:6]:
        found = hits(name, "definitions")
        read(found[0]["path"])
        used = hits(name, "references", 40)
        if used:
            read(used[-1]["path"])
    for name in names[6:]:
        add("search_def_and_refs", {"symbol": name}, tools.search_def_and_refs(name, 30, "full"))
        hits(name, "lexical", 30)
    for back in range(1, 12):
        diff = subprocess.run(
            ["git", "-C", str(root), "diff", f"HEAD~{back}", f"HEAD~{back - 1}"], capture_output=True, check=True
        )
        add("git_diff", {"commit": f"HEAD~{back}"}, diff.stdout.decode("utf-8", "replace"))
    return steps[:46]


def most_used(tools: Tools, folder: str) -> list[str]:
    counts: dict[str, int] = {}
    repository = tools.repository
    for path in repository.files():
        if path.startswith(folder + "/"):
            for symbol in repository.symbols(path):
                if len(symbol.name) > 4 and not symbol.name.startswith("_"):
                    counts[symbol.name] = counts.get(symbol.name, 0) + 1
    alone = [name for name, times in counts.items() if times == 1]
    return sorted(alone, key=lambda name: (-len(name), name))[:60:5]


def session(root: Path) -> Iterator[Row]:
    steps = code_session(root)
    texts, archive = asyncio.run(wrapped(steps, WrapperOptions()))
    raw = sum(count_tokens(text) for _, _, text in steps)
    sent = sum(count_tokens(text) for text in texts)
    total, seen, reachable = kept(steps, texts, archive)
    yield f"{len(steps)}-call session of map, search, read and diff, tokens", f"{raw:,} -> {sent:,}", ""
    yield "  saved", f"{1 - sent / raw:.1%}", ">= 50%"
    yield f"  {total} values of later calls: still there", f"{seen / max(total, 1):.1%}", ""
    yield "  still there or one recall away", f"{reachable / max(total, 1):.1%}", "100%"
    for level in ("standard", "compact", "minimal"):
        texts, archive = asyncio.run(wrapped(steps, WrapperOptions(level=level)))
        sent = sum(count_tokens(text) for text in texts)
        yield f"  saved at level {level} throughout", f"{1 - sent / raw:.1%}", ""
