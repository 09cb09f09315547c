"""The tables of benchmarks. Those of Brim alone: a metric, its value, its bar, and whether the bar is met.

("recount, µs", 92.4, "<= 150") -> {"metric": "recount, µs", "value": "92.4", "bar": "<= 150", "met": "yes"}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

Value = float | int | str
Row = tuple[str, Value, str]
Part = Callable[[], Iterable[Row]]
Cells = Mapping[str, Any]
OURS = "Brim"
_VERDICTS = {True: "yes", False: "no", None: ""}

_BAR = re.compile(r"(>=|<=|≥|≤|=|<|>)?\s*(\d*\.?\d+)")
_NUMBER = re.compile(r"(?:(?<![\w.-])-)?\d*\.?\d+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TESTS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda value, bar: value >= bar,
    "≥": lambda value, bar: value >= bar,
    "<=": lambda value, bar: value <= bar,
    "≤": lambda value, bar: value <= bar,
    "<": lambda value, bar: value < bar,
    ">": lambda value, bar: value > bar,
    "=": lambda value, bar: value == bar,
}


def met(value: Value, bar: str) -> bool | None:
    """Whether a value meets a bar, number by number in their order; None where the bar sets none.

    What stands in brackets is a remark. A number in a bar has the sign of the one before it.

    Example: met(0.2, "<= 0.3") -> True; met("3,114", "≥ 2,000") -> True; met("0.9 / 0.6 (logs)", "≥ .8 / .7") -> False
    """
    bar = _plain(bar)
    wanted = _BAR.findall(bar)
    if not wanted or not (wanted[0][0] or _NUMBER.fullmatch(bar.strip("% "))):
        return None
    if isinstance(value, str):
        numbers = [float(found) for found in _NUMBER.findall(_plain(value))]
    else:
        numbers = [float(value)]
    if len(numbers) < len(wanted):
        return None
    sign = "="
    for number, (given, least) in zip(numbers, wanted, strict=False):
        sign = given or sign
        if not _TESTS[sign](number, float(least)):
            return False
    return True


def _plain(text: str) -> str:
    """What a cell says, its remark and the commas in its numbers left out. Example: "3,114 (12 logs)" -> "3114 " """
    return _THOUSANDS.sub("", text.partition("(")[0])


def shown(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def judged(rows: Iterable[Row]) -> list[dict[str, str]]:
    """Rows of Brim alone, with the verdict on each bar."""
    return [
        {"metric": metric, "value": shown(value), "bar": bar, "met": _VERDICTS[met(value, bar)]}
        for metric, value, bar in rows
    ]


def missed(tables: Mapping[str, Sequence[Cells]]) -> list[str]:
    """The metrics whose bar is not met."""
    return [str(row["metric"]) for rows in tables.values() for row in rows if row.get("met") == "no"]


def rounded(row: Cells) -> dict[str, Any]:
    """Four digits are enough to compare, and a file of them changes less.

    Example: {"who": "Brim", "kept": 0.912345} -> {"who": "Brim", "kept": 0.9123}
    """
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}


def show(console: Console, title: str, rows: Sequence[Cells]) -> None:
    """Print a table; Brim's own rows stand out."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    made = Table(title=title, title_justify="left", title_style="bold", header_style="dim")
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        ours = str(row.get(columns[0], "")).startswith(OURS)
        cells = [shown(row[column]) if column in row else "" for column in columns]
        made.add_row(*cells, style="bold cyan" if ours else "red" if row.get("met") == "no" else "")
    console.print(made)
