"""Answers a query about a text. Programs written by a model run in a child process with limits."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from brim.errors import BadInput, MissingExtra
from brim.query.expression import Expression, parse

# Time limits: a jq program over 10 MB of JSON takes about 1 s, a regular expression 0.1 s; a gateway waits 2 s.
SECONDS, PATIENCE = 1, 1.7
# Memory limit: Python, jq and 20 MB of JSON as values stay below half of it.
MEGABYTES = 768
LARGEST = 20_000_000
# Longer output, which exceeds any window, is cut off before it is counted.
MOST_BYTES = 4_000_000
_CHILD = Path(__file__).with_name("child.py")
_FAILED = 3  # the child's exit code if it has no answer; a limit ends it with a signal
_MISSING = object()


def query(text: str, expression: str) -> str:
    """The answer to a query about a text, with a header that says what was queried.

    Raises BadInput for an expression that is invalid or takes too long, MissingExtra for jq if it isn't installed.

    Example: query('{"items": [{"id": 7}]}', ".items[].id") -> "[1 result of .items[].id]\\n7"
    """
    asked = parse(expression)
    shown = " ".join(expression.split())
    if len(shown) > 80:
        shown = shown[:79] + "…"
    if asked.way in ("lines", "head", "tail"):
        return _lines(text, asked)
    if asked.way == "count":
        lines = len(_lines_of(text))
        return f"[{lines:,} line{'' if lines == 1 else 's'}, {len(text):,} characters{_rows_said(text)}]"
    if asked.way == "count by":
        found = _counted(text, asked.text)
        return "\n".join([f"[{len(found):,} values of {asked.text}, {sum(found.values()):,} rows]", *_ranked(found)])
    said = _bounded(asked.way, asked.text, text)
    number = said.count("\n")
    word = {"jq": "result", "regex": "matching line", "count matches": "value"}[asked.way]
    cut = ", cut off" if len(said.encode("utf-8", "replace")) >= MOST_BYTES else ""
    return f"[{number:,} {word}{'' if number == 1 else 's'} of {shown}{cut}]\n{said}".rstrip("\n")


def _lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def _lines(text: str, asked: Expression) -> str:
    lines = _lines_of(text)
    if asked.way == "head":
        first, last = 1, min(asked.first, len(lines))
    elif asked.way == "tail":
        first, last = max(1, len(lines) - asked.first + 1), len(lines)
    else:
        first, last = asked.first, min(asked.last, len(lines))
    if first > len(lines):
        return f"[there are {len(lines):,} lines: line {first:,} is not one of them]"
    return "\n".join([f"[lines {first:,}-{last:,} of {len(lines):,}]", *lines[first - 1 : last]])


def _counted(text: str, field: str) -> Counter[str]:
    rows = rows_of(text)
    if not rows:
        raise BadInput(
            "expression",
            "counts by a field, and the text is neither JSON rows nor CSV: use count by /regex/ with a group",
        )
    keys = field.strip(".").split(".")
    found: Counter[str] = Counter()
    missing = 0
    for row in rows:
        value: Any = row
        for key in keys:
            value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
        if value is _MISSING:
            missing += 1
        found[_spelled(value) if value is not _MISSING else "(none)"] += 1
    if missing == len(rows):
        known = ", ".join(list(rows[0])[:20]) if isinstance(rows[0], dict) else type(rows[0]).__name__
        raise BadInput("expression", f"counts by {field!r}, which no row has: the first has {known}")
    return found


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _ranked(found: Counter[str]) -> list[str]:
    return [f"{times:,}\t{value}" for value, times in sorted(found.items(), key=lambda item: (-item[1], item[0]))]


def _rows_said(text: str) -> str:
    rows = rows_of(text)
    return f", {len(rows):,} rows" if rows else ""


def rows_of(text: str) -> list[Any]:
    """The rows of JSON (its longest list of objects), of JSON Lines or of CSV with a header; none for other text."""
    if len(text) > LARGEST:
        raise BadInput("expression", f"counts rows of a text of {len(text):,} characters; the most is {LARGEST:,}")
    start = text.lstrip()[:1]
    if start in ("{", "["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            try:
                return [json.loads(line) for line in text.split("\n") if line.strip()]
            except (ValueError, RecursionError):
                return []
        return _longest(value)
    lines = text.split("\n", 1)
    sign = max(",\t;|", key=lines[0].count)
    if lines[0].count(sign) < 1 or len(lines) < 2:
        return []
    try:
        return list(csv.DictReader(io.StringIO(text), delimiter=sign, restkey="", strict=True))
    except csv.Error:
        return []


def _longest(value: Any) -> list[Any]:
    """The longest list of objects in a value, four levels deep."""
    best: list[Any] = []
    waiting = [(value, 0)]
    while waiting:
        inside, depth = waiting.pop()
        if isinstance(inside, list):
            if len(inside) > len(best) and all(isinstance(one, dict) for one in inside[:50]):
                best = inside
        elif isinstance(inside, dict) and depth < 4:
            waiting += [(one, depth + 1) for one in inside.values()]
    return best


def _bounded(way: str, program: str, text: str) -> str:
    """The output of the child process."""
    if len(text) > LARGEST:
        size = f"{len(text):,} characters; the most is {LARGEST:,}"
        raise BadInput("expression", f"is for a text of {size}: use lines a-b")
    command = [sys.executable, "-I", str(_CHILD), way, str(MOST_BYTES), str(SECONDS), str(MEGABYTES)]
    given = json.dumps(program).encode() + b"\n" + text.encode("utf-8", "replace")
    slow = BadInput(
        "expression", f"took longer than {SECONDS} s or more memory than {MEGABYTES} MB: ask for less at once"
    )
    try:
        done = subprocess.run(command, input=given, capture_output=True, env={}, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise slow from None
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    why = done.stderr.decode("utf-8", "replace")
    if why == "no jq":
        raise MissingExtra("a jq expression (lines a-b, head n, count by FIELD and /regex/ work without it)", "query")
    if why == "no json":
        raise BadInput("expression", "is for JSON, and the text is none: use /regex/, lines a-b or count by /regex/")
    if done.returncode == _FAILED:
        raise BadInput("expression", f"cannot be used: {why}")
    raise slow
