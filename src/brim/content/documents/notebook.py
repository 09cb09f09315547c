"""Notebooks (.ipynb): headings and the first line of every cell, then the code, then texts, then the output of cells.

Example: 30 cells -> "[notebook, 30 cells, 18 of code]\\n# Load the data\\nIn [1]: import pandas as pd\\n[…]"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from brim.content.line_packing import Tier, matching, pack
from brim.content.selection import least, plural
from brim.content.types import Room

# Output lines of a cell to read; the rest are only counted.
_PRINTED = 400


def is_notebook(value: Any) -> bool:
    """Whether a JSON value is a notebook: a list of cells with a type and a source."""
    cells = value.get("cells") if isinstance(value, dict) and "nbformat" in value else None
    return (
        isinstance(cells, list) and all(isinstance(cell, dict) and "source" in cell for cell in cells) and bool(cells)
    )


def page(value: dict[str, Any], room: Room) -> str:
    """The cells in order, in at most room.tokens tokens."""
    lines: list[str] = []
    headings: list[int] = []
    firsts: list[int] = []
    code: list[int] = []
    words: list[int] = []
    printed: list[list[int]] = []
    for cell in value["cells"]:
        is_code = cell.get("cell_type") == "code"
        said = [line for line in _joined(cell["source"]).split("\n") if line.strip()]
        if not said:
            continue
        firsts.append(len(lines))
        if is_code:
            said[0] = f"In [{cell.get('execution_count') or ' '}]: {said[0]}"
        for line in said:
            (code if is_code else words).append(len(lines))
            if not is_code and line.startswith("#"):
                headings.append(len(lines))
            lines.append(line)
        for output in cell.get("outputs") or ():
            told = list(_printed(output))[:_PRINTED]
            printed.append(list(range(len(lines), len(lines) + len(told))))
            lines += told
    if room.tokens < 8 or not lines:
        return least(room, plural(len(lines), "line"))
    ends = [index for one in printed for index in (*one[:2], *one[-1:])]
    tiers = [
        matching(lines, room),
        Tier(headings, 0.4),
        Tier(firsts, 0.5),
        Tier(code, 0.8),
        Tier(words),
        Tier(ends),
        Tier(index for one in printed for index in one),
    ]
    cells = value["cells"]
    in_code = sum(cell.get("cell_type") == "code" for cell in cells)
    return pack(lines, tiers, room, head=f"[notebook, {plural(len(cells), 'cell')}, {in_code} of code]", gap="")


def _joined(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _printed(output: Any) -> Iterator[str]:
    """The printed output of a cell, or the types of its images. Example: "Out: image/png, 34,120 characters" """
    if not isinstance(output, dict):
        return
    if output.get("output_type") == "error":
        yield f"Out: {output.get('ename', 'Error')}: {output.get('evalue', '')}"
        return
    data = output.get("data")
    found = output.get("text") or (data.get("text/plain") if isinstance(data, dict) else None)
    if found:
        first, *rest = _joined(found).rstrip("\n").split("\n")
        yield f"Out: {first}"
        yield from rest
    for kind, held in (data or {}).items() if isinstance(data, dict) else ():
        if kind.startswith("image/"):
            yield f"Out: {kind}, {plural(len(_joined(held)), 'character')}"
