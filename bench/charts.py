"""The charts of docs/benchmarks/, drawn from the numbers there.

python bench/charts.py            draw them anew
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import record
import summary
import svg
from summary import NEVER, NOT_HELD

Rows = Sequence[Mapping[str, Any]]
WHO = "who"
OURS = "Brim"


def drawn(folder: Path) -> dict[str, str]:
    """Every chart by its file's name, of those whose numbers are there."""
    found: dict[str, str] = {}
    for file, (name, table, draw) in CHARTS.items():
        measured = record.read(folder, name)
        rows = (measured or {}).get("tables", {}).get(table)
        if rows:
            found[file] = draw(rows)
    return found


def write(folder: Path) -> None:
    for file, text in drawn(folder).items():
        (folder / file).write_text(text, encoding="utf-8")


def stale(folder: Path) -> list[str]:
    """Charts that do not show the numbers beside them."""
    return [
        file
        for file, text in drawn(folder).items()
        if not (folder / file).is_file() or (folder / file).read_text(encoding="utf-8") != text
    ]


def values_chart(rows: Rows) -> str:
    """Values kept against prefix reuse, over the sets of the summary."""
    points = []
    for row in summary.means(rows):
        name, refused = str(row[WHO]), float(row["refused"])
        wrong = min(1.0, sum(float(row.get(key, 0)) for key in NOT_HELD))
        note = f"{wrong:.0%} not held" if wrong > refused + NEVER else f"{refused:.0%} refused"
        kept = float(row["tool-only values kept, untouched"])
        points.append(
            svg.Point(name, float(row["prefix reuse"]), kept, _kind(name, wrong), note if wrong >= NEVER else "")
        )
    sets = ", ".join(name for name in summary.SETS if any(row.get("set") == name for row in rows))
    said = "; ".join(f"{point.name} {point.y:.0%} kept, {point.x:.0%} reused" for point in points)
    return svg.scatter(
        "What later tool calls need, and what the prompt cache can reuse",
        f"Recorded agent runs ({sets}) in windows of a quarter of their length. {said}.",
        points,
        ("share of a request that the prompt cache can reuse", "values of later calls still in the request"),
        [
            ("ours", "Brim"),
            ("held", "always within the window"),
            ("over", "not held: over the window, refused by the API, or without the newest message"),
        ],
    )


def shapes_chart(rows: Rows) -> str:
    bars = _bars(rows, "held, of 6", low=False)
    return svg.bars(
        "Six ordinary shapes of oversized request, brought into 8,000 tokens",
        "Shapes that fit, are valid and keep the system text and the last instruction.",
        bars,
        "shapes held, of 6",
    )


def speed_chart(rows: Rows) -> str:
    column = next(key for key in rows[0] if key.endswith("first, ms") and not key.startswith("1,000 "))
    return svg.bars(
        "A chat of 10,000 messages into a tenth of its tokens",
        "Processor milliseconds of the first fit, in which every message is counted.",
        _bars(rows, column),
        "milliseconds of processor time, less is better",
        log=True,
    )


def cost_chart(rows: Rows) -> str:
    return svg.bars(
        "A tool chat of 40 turns in a window of 20,000 tokens",
        "Input tokens paid, where those in the common prefix with the request before cost a tenth.",
        _bars(
            rows,
            "cost units",
            not_held,
            "turns not held",
        ),
        "tokens paid, less is better; orange: some turns are over the window, invalid or refused",
    )


def json_chart(rows: Rows) -> str:
    return svg.bars(
        "Recorded REST answers as text for a model",
        "Tokens of the form, as a share of those of minified JSON.",
        _bars(
            rows,
            "tokens ÷ minified, untouched",
            lambda row: 1 - row["leaf values kept, untouched"],
            "of leaf values lost",
        ),
        "tokens ÷ tokens of minified JSON, less is better",
    )


def evidence_chart(rows: Rows) -> str:
    return svg.bars(
        "Turns that answer a question, in a tenth of a long chat",
        "Share of the evidence that stands in the request, the question being the current message.",
        _bars(rows, "kept at 10%, untouched", lambda row: row["requests over"], "of requests over", low=False),
        "share of the evidence kept",
    )


def proxies_chart(rows: Rows) -> str:
    return svg.bars(
        "A request of 3 KB that nobody has seen, through a proxy",
        "Processor time of the proxy, as a multiple of that of a bare pass-through.",
        _bars(rows, "3 KB, fresh: × bare"),
        "times the processor time of a bare pass-through, less is better",
        log=True,
    )


def not_held(row: Mapping[str, Any]) -> float:
    return float(max(row.get(key, 0) for key in NOT_HELD))


def _bars(
    rows: Rows,
    column: str,
    fault: Callable[[Mapping[str, Any]], float] = lambda row: 0.0,
    said: str = "",
    low: bool = True,
) -> list[svg.Bar]:
    """A bar a row; what is wrong with its number stands beside it."""
    bars = []
    for row in rows:
        value, name = row.get(column), str(row[WHO])
        if not _is_number(value):
            reason = next((str(cell) for key, cell in row.items() if key != WHO and isinstance(cell, str)), "no number")
            bars.append(svg.Bar(name, None, "held", reason[:70]))
            continue
        wrong = fault(row)
        shown = f"{wrong:.0%} {said}" if said.startswith("of ") else f"{wrong:.0f} {said}"
        bars.append(svg.Bar(name, float(value), _kind(name, wrong), shown if wrong >= NEVER else ""))  # type: ignore[arg-type]
    sign = 1 if low else -1
    return sorted(bars, key=lambda bar: (bar.kind != "ours", bar.value is None, sign * (bar.value or 0), bar.name))


def _kind(name: str, wrong: float) -> str:
    return "ours" if name.startswith(OURS) else "held" if wrong < NEVER else "over"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


CHARTS: dict[str, tuple[str, str, Callable[[Rows], str]]] = {
    "values.svg": ("values", "25", values_chart),
    "shapes.svg": ("fit", "shapes", shapes_chart),
    "speed.svg": ("fit", "speed", speed_chart),
    "cost.svg": ("chat", "turns", cost_chart),
    "proxies.svg": ("gateway", "proxies", proxies_chart),
    "json.svg": ("compact", "json", json_chart),
    "evidence.svg": ("evidence", "questions", evidence_chart),
}


if __name__ == "__main__":
    write(record.FOLDER)
