"""The tables that benchmarks print: a metric, its value, its bar, and whether the bar is met.

row("recount, µs", 92.4, "<= 150") -> recount, µs   92.4   <= 150   ok
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

Value = float | int | str
Row = tuple[str, Value, str]
Part = tuple[str, Callable[[], Iterable[Row]]]

_BAR = re.compile(r"(>=|<=|≥|≤|=|<|>)?\s*(\d*\.?\d+)")
_NUMBER = re.compile(r"\d*\.?\d+")
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

    Example: met(0.2, "<= 0.3") -> True; met(1, "0") -> False; met("0.9 / 0.6 (12 logs)", "≥ .8 / .7") -> False
    """
    wanted = _BAR.findall(bar.partition("(")[0])
    if not wanted or not (wanted[0][0] or _NUMBER.fullmatch(bar.strip())):
        return None
    if isinstance(value, str):
        numbers = [float(found) for found in _NUMBER.findall(value.partition("(")[0].replace(",", ""))]
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


def shown(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def arguments(doc: str, *more: tuple[str, dict[str, object]]) -> argparse.Namespace:
    """The command line that these benchmarks share, with flags of their own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the measurement data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    parser.add_argument("--only", metavar="NAMES", help="these parts only, separated by commas")
    for flag, settings in more:
        parser.add_argument(flag, **settings)  # type: ignore[arg-type]
    return parser.parse_args()


def run(parts: Sequence[Part], given: argparse.Namespace) -> int:
    """Run parts, print their rows as they come, and return 1 if a bar was missed."""
    wanted = given.only.split(",") if given.only else [name for name, _ in parts]
    unknown = set(wanted) - {name for name, _ in parts}
    if unknown:
        print(
            f"no part {', '.join(sorted(unknown))}: there are {', '.join(name for name, _ in parts)}", file=sys.stderr
        )
        return 2
    rows: list[Row] = []
    for name, measure in parts:
        if name not in wanted:
            continue
        begun = time.perf_counter()
        for row in measure():
            rows.append(row)
            print(_line(*row), flush=True)
        print(f"  ({name}: {time.perf_counter() - begun:.0f} s)", file=sys.stderr, flush=True)
    missed = [metric for metric, value, bar in rows if met(value, bar) is False]
    if given.json:
        given.json.write_text(json.dumps(_measured(rows), indent=1, ensure_ascii=False) + "\n")
    print(f"\n{len(rows)} rows, {len(missed)} below their bar" + "".join(f"\n  {metric}" for metric in missed))
    return 1 if missed else 0


def _measured(rows: Sequence[Row]) -> dict[str, object]:
    """What was measured, when and on what: the numbers in the documentation are made from this."""
    verdicts = {True: "yes", False: "no", None: ""}
    return {
        "command": f"python bench/{Path(sys.argv[0]).name} --data DIR",
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "rows": [
            {"metric": metric, "value": shown(value), "bar": bar, "met": verdicts[met(value, bar)]}
            for metric, value, bar in rows
        ],
    }


def _line(metric: str, value: Value, bar: str) -> str:
    verdict = {True: "ok", False: "MISSED", None: ""}[met(value, bar)]
    return f"{metric:74} {shown(value):>28}   {bar:22} {verdict}".rstrip()
