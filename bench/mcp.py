"""Measure the MCP wrapper, its tool lists and the document search.

    python bench/mcp.py --data DIR [--repo DIR] [--only schemas,search,session,others,runs,latency,docs]

DIR holds `mcp_tool_schemas.jsonl` and `livemcp_sonnet4.jsonl` (LiveMCPBench, Apache-2.0,
https://github.com/icip-cas/LiveMCPBench). What needs them is skipped when they are not there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from mcp_parts.coding import session
from mcp_parts.latency import latency
from mcp_parts.replay import runs
from mcp_parts.rows import Row
from mcp_parts.strange import other_sessions
from mcp_parts.tools import schemas, tool_search

from brim.docsearch import search as search_docs

__all__ = ["documents", "latency", "other_sessions", "runs", "schemas", "session", "tool_search"]


def documents() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for i in range(1_000):
            path = root / f"area{i % 20}" / f"feature-{i}.md"
            path.parent.mkdir(exist_ok=True)
            body = " ".join(f"word{(i * k) % 500}" for k in range(400))
            path.write_text(f"# Feature {i}\n\n{body}\n\n## Notes\n\nThe chat history of area {i % 20}.\n")
        for rank in ("keywords", "bm25"):
            cold = _timed(partial(search_docs, root, ["chat", "word17"], rank=rank))
            warm = min(_timed(partial(search_docs, root, ["history", "word33"], rank=rank)) for _ in range(9))
            yield (
                f"document search, 1,000 files, {rank}: warm (cold)",
                f"{warm * 1e3:.0f} ({cold * 1e3:.0f}) ms",
                "<= 50 ms",
            )


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repo", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--only", default="schemas,search,session,others,runs,latency,docs")
    args = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "schemas": lambda: schemas(args.data),
        "search": lambda: tool_search(args.data),
        "session": lambda: session(args.repo),
        "others": other_sessions,
        "runs": lambda: runs(args.data),
        "latency": latency,
        "docs": documents,
    }
    for name in args.only.split(","):
        try:
            for metric, value, bar in parts[name]():
                print(f"{metric:<66} {value:>28}  {bar}", flush=True)
        except FileNotFoundError as error:
            print(f"{name}: {error.filename} is not there; it is published with LiveMCPBench")
    return 0


if __name__ == "__main__":
    sys.exit(main())
