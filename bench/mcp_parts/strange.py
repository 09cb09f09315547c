"""Sessions that the wrapper's defaults were not chosen on: other code, other tools, other formats, by a seed.

46 calls on a package of Python's standard library: a listing, grep lines, code search hits as a hosting service gives
them, outlines as a language server gives them, numbered pages of files, histories and unified diffs of made-up edits.
What a call asks for stood in an earlier result, so the calls say which values have to stay in reach.
"""

from __future__ import annotations

import ast
import asyncio
import difflib
import hashlib
import json
import re
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens
from mcp_parts.replay import Step, kept, wrapped
from mcp_parts.rows import Row

_PACKAGES = ("email", "http", "xml", "logging", "importlib", "multiprocessing", "unittest", "concurrent")
_CALLS = 46
_NAMES = re.compile(r"^(?:class|def|    def) (\w{5,})", re.MULTILINE)


class Shop:
    """The tools of one session; what they have shown is what the next call can ask for."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.root = Path(sysconfig.get_paths()["stdlib"])
        package = _PACKAGES[seed % len(_PACKAGES)]
        paths = sorted((self.root / package).rglob("*.py"))
        self.files = {str(path.relative_to(self.root)): path.read_text("utf-8", "replace") for path in paths}
        self.paths: list[str] = []
        self.names: list[str] = []
        self.commits: list[str] = []
        self.steps: list[Step] = []

    def add(self, tool: str, arguments: dict[str, Any], result: object) -> None:
        text = result if isinstance(result, str) else json.dumps(result, indent=self.random.choice((None, 2)))
        self.steps.append((tool, arguments, text))
        self.paths += [path for path in self.files if path in text]
        self.names += _NAMES.findall(text)

    def listing(self) -> None:
        """A few of the files: the paths of the others are learnt from results."""
        few = sorted(self.random.sample(sorted(self.files), max(len(self.files) // 8, 2)))
        self.add("list_files", {}, "\n".join(f"-rw-r--r-- {len(self.files[path]):>8} {path}" for path in few))

    def page(self) -> None:
        path = self.random.choice(self.paths)
        lines = self.files[path].splitlines()
        first = self.random.randrange(max(len(lines) - 300, 1))
        shown = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines[first : first + 400], first + 1))
        self.add("read_file", {"path": path, "offset": first}, shown)

    def grep(self) -> None:
        name = self.random.choice(self.names or ["return"])
        found = [f"{path}:{n}:{line}" for path, n, line in self._lines(name)]
        self.add("grep", {"pattern": name}, "\n".join(found[:150]))

    def hits(self) -> None:
        name = self.random.choice(self.names or ["import"])
        items = [
            {
                "name": Path(path).name,
                "path": path,
                "sha": _sha(path),
                "url": f"https://api.example.com/repositories/81598961/contents/{path}?ref={_sha(name)}",
                "html_url": f"https://example.com/python/lib/blob/{_sha(name)}/{path}",
                "repository": {"id": 81598961, "full_name": "python/lib", "private": False, "fork": False},
                "score": 1.0,
                "text_matches": [
                    {"fragment": line.strip(), "matches": [{"text": name, "indices": [n, n + len(name)]}]}
                ],
            }
            for path, n, line in self._lines(name)
        ]
        self.add(
            "search_code", {"q": name}, {"total_count": len(items), "incomplete_results": False, "items": items[:30]}
        )

    def outline(self) -> None:
        path = self.random.choice(self.paths)
        self.add(
            "document_symbols",
            {"path": path},
            [_symbol(node) for node in ast.parse(self.files[path]).body if _named(node)],
        )

    def history(self) -> None:
        path = self.random.choice(self.paths)
        commits = [
            {
                "sha": _sha(f"{path} {number}"),
                "commit": {
                    "author": {"name": f"Writer {number % 7}", "email": f"writer{number % 7}@example.com"},
                    "message": f"Change {self.random.choice(self.names or ['it'])} in {path}\n\nSee #{1000 + number}.",
                    "comment_count": 0,
                },
                "parents": [{"sha": _sha(f"{path} {number + 1}")}],
            }
            for number in range(self.random.randrange(4, 25))
        ]
        self.commits += [str(commit["sha"]) for commit in commits]
        self.add("list_commits", {"path": path}, commits)

    def diff(self) -> None:
        commit = self.random.choice(self.commits or ["HEAD~1"])
        parts: list[str] = []
        for path in self.random.sample(sorted(self.files), min(3, len(self.files))):
            old = self.files[path].splitlines(keepends=True)
            new = [self._edited(line) for line in old]
            parts += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
        self.add("show_commit", {"sha": commit}, "".join(parts))

    def _edited(self, line: str) -> str:
        chance = self.random.random()
        if chance > 0.02 or not line.strip():
            return line
        return line.replace("self", "this") if "self" in line else f"{line.rstrip()}  # checked\n"

    def _lines(self, name: str) -> Iterator[tuple[str, int, str]]:
        for path, text in self.files.items():
            for number, line in enumerate(text.splitlines(), 1):
                if name in line:
                    yield path, number, line


def _sha(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


def _named(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)


def _symbol(node: Any) -> dict[str, Any]:
    """A symbol as a language server tells it."""
    place = {
        "start": {"line": node.lineno - 1, "character": node.col_offset},
        "end": {"line": (node.end_lineno or node.lineno) - 1, "character": node.end_col_offset or 0},
    }
    return {
        "name": node.name,
        "detail": "",
        "kind": 5 if isinstance(node, ast.ClassDef) else 12,
        "deprecated": False,
        "range": place,
        "selectionRange": place,
        "children": [_symbol(child) for child in node.body if _named(child)],
    }


def other_session(seed: int) -> list[Step]:
    shop = Shop(seed)
    shop.listing()
    work: list[Callable[[], None]] = [shop.page] * 12 + [shop.grep, shop.hits] * 8 + [shop.outline] * 6
    work += [shop.history] * 5 + [shop.diff] * 6
    shop.random.shuffle(work)
    for step in work[: _CALLS - 1]:
        step()
    return shop.steps


def other_sessions() -> Iterator[Row]:
    for seed in (11, 12, 13):
        steps = other_session(seed)
        texts, archive = asyncio.run(wrapped(steps, WrapperOptions()))
        raw = sum(count_tokens(text) for _, _, text in steps)
        sent = sum(count_tokens(text) for text in texts)
        total, seen, reachable = kept(steps, texts, archive)
        yield f"another session of {len(steps)} calls, seed {seed}, tokens", f"{raw:,} -> {sent:,}", ""
        yield "  saved", f"{1 - sent / raw:.1%}", ">= 50%"
        yield f"  {total} values of later calls: still there", f"{seen / max(total, 1):.1%}", ""
        yield "  still there or one recall away", f"{reachable / max(total, 1):.1%}", ">= 100%"
        archive.close()
