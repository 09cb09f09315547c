"""Logs and test output: kinds of lines, failing tests and exceptions that are left."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from content_parts.halves import Case, Row, count, halves

SHARES = {5: ">= .85", 10: ">= .95"}
TOKENS = {500: (">= .90", ">= .85"), 1_000: (">= .97", ">= .95")}


def logs(data: Path) -> list[Row]:
    """Line templates of which one line is left; every second system is untouched."""
    systems = _read(data / "loghub_2k.jsonl")
    found = []
    for share, bar in SHARES.items():
        cases = []
        for system in systems:
            text = "\n".join(system["lines"])
            room = count(text) * share // 100
            cases.append(Case(text, room, lambda made, system=system: _events(system, made), system["id"]))  # type: ignore[misc]
        found.append(halves(f"log templates at {share}%, {len(systems)} systems", cases, bar))
    return found


def tests(data: Path) -> list[Row]:
    """Failing test ids and exception lines, all logs together."""
    runs = _read(data / "test_output_logs.jsonl")
    found = []
    for tokens, bars in TOKENS.items():
        for name, bar in zip(("failing", "exceptions"), bars, strict=True):
            cases = [
                Case(run["text"], tokens, lambda made, run=run, name=name: said(run[name], made), run["id"])  # type: ignore[misc]
                for run in runs
                if run[name] and count(run["text"]) > tokens
            ]
            label = "failing test ids" if name == "failing" else "exception lines"
            found.append(halves(f"{label} at {tokens:,} tokens, {len(cases)} logs, pooled", cases, bar, pooled=True))
    return found


def _events(system: dict[str, Any], made: str) -> tuple[int, int]:
    have = set(made.split("\n"))
    kept = {event for line, event in zip(system["lines"], system["event"], strict=True) if line in have}
    return len(kept), len(set(system["event"]))


def said(wanted: Iterable[str], made: str) -> tuple[int, int]:
    """An id counts where it stands as it is, or as its name in the line of the file and class that hold it."""
    values = list(wanted)
    return sum(value in made or _in_group(value, made) for value in values), len(values)


def _in_group(value: str, made: str) -> bool:
    inside = re.fullmatch(r"(\S+) \(([\w.]+)\)", value)
    owner, name = (inside[2], inside[1]) if inside else value.rpartition("::")[::2]
    heads = [line[len(owner) :] for line in made.split("\n") if owner and line.startswith(f"{owner}: ")]
    return any(name in re.split(r", |: ", said) for said in heads)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
