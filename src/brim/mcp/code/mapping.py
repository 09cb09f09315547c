"""A map of a repository: languages, tree, dependencies and test locations."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from brim.mcp.code.languages import language_of
from brim.mcp.code.repository import Repository, is_test
from brim.mcp.transport.json_rpc import RpcObject

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+(?:static[ \t]+)?\(?[\"']?([\w./@-]+)|"
    rb"use[ \t]+([\w:]+)|#include[ \t]*[<\"]([\w./]+)|.*?(?:require\(|from[ \t]+)[\"']([\w./@-]+)[\"'])",
    re.MULTILINE,
)
_MOST_DEPENDENCIES = 40


def map_repo(repository: Repository, path: str = "", depth: int | None = None, *, lines: bool = True) -> RpcObject:
    """The map in full form, of the whole repository or of one folder, with or without the lines of each file.

    Example: {"languages": [{"language": "python", "files": 3}], "tree": {"path": "src", "is_dir": true, …}}
    """
    inside = path.strip("/")
    files = [name for name in repository.files() if not inside or name == inside or name.startswith(inside + "/")]
    found: RpcObject = {"files": len(files), "languages": _languages(repository, files)}
    found["tree"] = _tree(repository, inside or ".", files, depth, lines)
    dependencies = _dependencies(repository, files)
    if dependencies:
        found["dependencies"] = dependencies
    tests = [name for name in files if is_test(name)]
    if tests:
        found["test_layout"] = {"files": [_tests_of(repository, name) for name in tests]}
    return found


def _languages(repository: Repository, files: list[str]) -> list[RpcObject]:
    counts: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for name in files:
        language = language_of(name)
        if language:
            counts[language] += 1
            lines[language] += repository.data(name).count(b"\n")
    ranked = sorted(counts, key=lambda language: (-counts[language], language))
    return [{"language": one, "files": counts[one], "lines": lines[one]} for one in ranked]


def _tree(repository: Repository, root: str, files: list[str], depth: int | None, lines: bool) -> RpcObject:
    prefix = "" if root == "." else root + "/"
    below: dict[str, list[str]] = {}
    children: list[Any] = []
    for name in files:
        first, mark, _ = name[len(prefix) :].partition("/")
        if mark:
            below.setdefault(first, []).append(name)
    for folder, names in below.items():
        if depth is not None and depth <= 1:
            children.append({"path": prefix + folder, "is_dir": True, "file_count": len(names)})
        else:
            inner = None if depth is None else depth - 1
            children.append(_tree(repository, prefix + folder, names, inner, lines))
    for name in files:
        if "/" not in name[len(prefix) :]:
            counted = {"line_count": repository.data(name).count(b"\n")} if lines else {}
            children.append({"path": name, "is_dir": False, **counted})
    return {"path": root, "is_dir": True, "file_count": len(files), "children": children}


def _dependencies(repository: Repository, files: list[str]) -> list[RpcObject]:
    """The modules that the code imports most, with the number of files that do."""
    counts: Counter[str] = Counter()
    for name in files:
        if language_of(name):
            found = _IMPORT.findall(repository.data(name))
            modules = {next(part for part in parts if part).decode("utf-8", "replace") for parts in found}
            counts.update(_top(module) for module in sorted(modules) if not module.startswith("."))
    ranked = sorted(counts, key=lambda module: (-counts[module], module))
    return [{"module": module, "files": counts[module]} for module in ranked[:_MOST_DEPENDENCIES]]


def _top(module: str) -> str:
    if module.startswith("@"):
        return "/".join(module.split("/")[:2])
    return re.split(r"[./:]", module, maxsplit=1)[0]


def _tests_of(repository: Repository, path: str) -> RpcObject:
    names = [symbol.name for symbol in repository.symbols(path) if symbol.name.lower().startswith("test")]
    return {"path": path, "tests": names}
