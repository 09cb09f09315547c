"""Measured numbers in pages: each table between marks is made from what a benchmark wrote.

    <!-- numbers:count -->         every table of docs/benchmarks/count.json
    <!-- numbers:count/speed -->   the one called speed
    …
    <!-- /numbers -->

A single number in a sentence names its table, row and column:

    holds <!-- number:fit/shapes/Brim fit/held, of 6 -->6<!-- /number --> of six

A benchmark's file is {"command": …, "date": …, "machine": …, "tables": {NAME: [{COLUMN: VALUE, …}, …]}}; a single
table may stand as "rows". While there is no such file, nothing stands between the marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

REGION = re.compile(r"^<!-- numbers:([\w./-]+) -->\n(.*?)^<!-- /numbers -->$", re.M | re.S)
MARK = re.compile(r"^<!-- numbers:", re.M)
INLINE = re.compile(r"<!-- number:([^/>]+)/([^/>]+)/([^/>]+)/([^>]+?) -->(.*?)<!-- /number -->")


def refreshed(root: Path, text: str, failed: Callable[[str], None]) -> str:
    """A page's text with its numbers as they were measured."""

    def region(found: re.Match[str]) -> str:
        name = found[1]
        try:
            made = region_text(root, name)
        except (KeyError, ValueError) as problem:
            failed(f"numbers:{name} cannot be made: {problem}")
            return found[0]
        return f"<!-- numbers:{name} -->\n{made}<!-- /numbers -->"

    def inline(found: re.Match[str]) -> str:
        try:
            made = cell(number(root, *found.groups()[:4]))
        except (KeyError, ValueError) as problem:
            failed(f"number:{'/'.join(found.groups()[:4])} cannot be made: {problem}")
            return found[0]
        return f"<!-- number:{'/'.join(found.groups()[:4])} -->{made}<!-- /number -->"

    if len(REGION.findall(text)) != len(MARK.findall(text)):
        failed("a numbers mark has no end")
    if len(INLINE.findall(text)) != text.count("<!-- number:"):
        failed("a number mark has no end, or does not name file, table, row and column")
    return INLINE.sub(inline, REGION.sub(region, text))


def number(root: Path, file: str, table: str, row: str, column: str) -> Any:
    """One cell of what a benchmark wrote; the row is named by its first column."""
    path = root / "docs/benchmarks" / f"{file}.json"
    if not path.is_file():
        raise KeyError(f"there is no {path.name}")
    rows = tables_in(json.loads(path.read_text(encoding="utf-8"))).get(table, ())
    for one in rows:
        if next(iter(one.values())) == row and column in one:
            return one[column]
    raise KeyError(f"{path.name} has no {column!r} of {row!r} in {table!r}")


def region_text(root: Path, name: str) -> str:
    """The text of a region: its tables, and the command that makes them."""
    file, _, one = name.partition("/")
    path = root / "docs/benchmarks" / f"{file}.json"
    if not path.is_file():
        return ""
    measured = json.loads(path.read_text(encoding="utf-8"))
    tables = tables_in(measured)
    if one and one not in tables:
        raise KeyError(f"{path.name} has no table {one!r}: it has {', '.join(tables)}")
    chosen = [one] if one else list(tables)
    return "\n".join(table(tables[name]) for name in chosen) + "\n" + source(measured, chosen) + "\n"


def tables_in(measured: Any) -> dict[str, Sequence[Mapping[str, Any]]]:
    if isinstance(measured, Mapping) and isinstance(measured.get("tables"), Mapping):
        return dict(measured["tables"])
    if isinstance(measured, Mapping) and isinstance(measured.get("rows"), list):
        return {"": measured["rows"]}
    raise ValueError("the file has neither tables nor rows")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Example: [{"what": "a", "brim": 0.5}] -> "| what | brim |\\n|---|---|\\n| a | 0.5 |\\n" """
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(row.get(column, "")) for column in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    """Example: 12345 -> "12,345"; 0.98765 -> "0.988"; None -> "" """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def source(measured: Any, tables: Sequence[str] = ()) -> str:
    """The lines under the tables: the data, the command, the date, the machine and the versions."""
    data = measured.get("data", {})
    said = list(dict.fromkeys(data[name] for name in tables if data.get(name)))
    told = [f"`{measured['command']}`"] if measured.get("command") else []
    own = {"date": measured.get("date"), "machine": measured.get("machine")}
    runs = [measured.get("runs", {}).get(name, own) for name in tables] or [own]
    for key in ("date", "machine"):
        told.append(" and ".join(dict.fromkeys(str(run[key]) for run in runs if run.get(key))))
    versions = {name: text for name, text in measured.get("versions", {}).items() if text != "not asked"}
    if said and versions:
        commits = dict.fromkeys(run.get("commit") or versions.get("commit", "") for run in runs)
        ours = f"Brim {versions.pop('brim', '')} at {' and '.join(commits)}"
        told.append(", ".join([ours, *(f"{name} {text}" for name, text in versions.items() if name != "commit")]))
    lines = [f"Data: {'; '.join(said)}."] if said else []
    told = [part for part in told if part]
    return "\n" + "<br>\n".join([*lines, " · ".join(told)]) if told else ""
