"""Code: which definitions an outline names, with line number and parameters, by the language's own parser."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from content_parts.halves import Case, Row, count, halves

HERE = Path(__file__).resolve().parent
FILES = 40  # of each language
FEWEST_TOKENS = 1_500
SHARES = {15: ">= .95", 8: ">= .90"}


class Named(NamedTuple):
    """A definition: its name, the line that names it, what it stands under, and its parameters."""

    name: str
    line: int
    parent: str
    parameters: tuple[str, ...]


def rows(node_modules: Path | None, told: bool = False) -> list[Row]:
    """At 15% with line number and parameters, at 8% by name on the right line or below what holds it."""
    files = {"Python": list(_python())}
    if node_modules is not None:
        files["TypeScript"] = list(_typescript(node_modules))
    found = []
    for language, texts in files.items():
        for share, bar in SHARES.items():
            cases = [
                Case(text, count(text) * share // 100, lambda made, d=d, share=share: _kept(made, d, share), name)  # type: ignore[misc]
                for name, text, d in texts
                if len(d) > 4
            ]
            what = "with signature and line" if share == 15 else "by name under what holds them"
            metric = f"{language} outline at {share}%: definitions {what}, {len(cases)} files"
            found.append(halves(metric, cases, bar, told=told))
    return found


def _kept(made: str, wanted: list[Named], share: int) -> tuple[int, int]:
    return sum(_shown(one, made, share) for one in wanted), len(wanted)


def _shown(one: Named, made: str, share: int) -> bool:
    """Whether the outline has the definition behind its line number, and with its parameters where there is room."""
    at = re.search(rf"(?<!\d){one.line}:? [^\n]*?(?<![\w.]){re.escape(one.name)}(?!\w)([^\n]*)", made)
    if at is None:
        return False
    return share < 15 or all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", at[1]) for name in one.parameters)


def _python() -> Iterator[tuple[str, str, list[Named]]]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    chosen = 0
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(errors="replace")
        if count(text) < FEWEST_TOKENS:
            continue
        yield path.name, text, list(_defined(ast.parse(text), ""))
        chosen += 1
        if chosen == FILES:
            return


def _defined(node: ast.AST, parent: str) -> Iterator[Named]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield Named(child.name, child.lineno, parent, ())
            yield from _defined(child, child.name)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            given = child.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            yield Named(child.name, child.lineno, parent, tuple(one.arg for one in every))
        elif not isinstance(child, ast.expr):
            yield from _defined(child, parent)


def _typescript(node_modules: Path) -> Iterator[tuple[str, str, list[Named]]]:
    """Sources that packages ship: TypeScript must be among them, in a version that has its parser in JavaScript."""
    parser = node_modules / "typescript" / "lib" / "typescript.js"
    if not parser.exists():
        return
    every = sorted(path for end in ("ts", "tsx") for path in node_modules.glob(f"**/src/**/*.{end}"))
    chosen = [
        path
        for path in every
        if not path.name.endswith(".d.ts") and "test" not in str(path) and count(path.read_text()) >= FEWEST_TOKENS
    ]
    chosen = chosen[:: max(1, len(chosen) // FILES)][:FILES]
    command = ["node", str(HERE / "definitions.mjs"), str(parser), *map(str, chosen)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for path in chosen:
        names = [Named(one["name"], one["line"], one["parent"], tuple(one["parameters"])) for one in told[str(path)]]
        yield str(path.relative_to(node_modules)), path.read_text(), names
