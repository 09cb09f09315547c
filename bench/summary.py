"""The few rows that the README shows, out of what the benchmarks wrote: docs/benchmarks/*.json -> summary.json.

Brim stands there with two numbers where a set has two halves: of the half that rules were tuned on, and of the other.
Beside them are the best other way that stays within the budget every time, and the best of all, on the same data.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import record

WHO = "who"
OURS = "Brim"  # how the names of its ways begin
BARE = "bare pass-through"
TUNED, UNTOUCHED = ", tuned", ", untouched"  # how the names of columns end that are of one half of a set
NEVER = 0.005
Rows = Sequence[Mapping[str, Any]]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Shown:
    """A row of the summary: a column of a benchmark's table, Brim's own way there, and whether less is better.

    `column` is how the column starts; `held` tells which of the others stay within the budget. `tuned` says that rules
    were made on all of the data, or that it is made up; where a table has a column for each half, the columns say it.
    `set` names the one set of a table with several that the row is about.
    """

    said: str
    benchmark: str
    table: str
    column: str
    ours: str
    low: bool = False
    held: Callable[[Row], bool] = lambda row: True
    tuned: bool = False
    set: str = ""

    def row(self, rows: Rows) -> dict[str, str] | None:
        columns = list(dict.fromkeys(key for row in rows for key in row if key.startswith(self.column)))
        mine = next((row for row in rows if row[WHO] == self.ours and any(key in row for key in columns)), None)
        if mine is None:
            return None
        halves = {half: key for half in (TUNED, UNTOUCHED) for key in columns if key.endswith(half)}
        column = halves.get(UNTOUCHED, columns[0])
        tuned = halves.get(TUNED, column if self.tuned else "")
        return {
            "what": self.said,
            "Brim": "" if tuned == column else shown(mine[column]),
            "Brim, tuned data": shown(mine[tuned]) if tuned else "",
            "best within the budget": best([row for row in rows if self.held(row)], column, self.low),
            "best overall": best(rows, column, self.low),
            "by": f"`brim bench {self.benchmark}`",
        }


def never(*columns: str) -> Callable[[Row], bool]:
    """Rows whose shares or numbers in these columns are none."""
    return lambda row: all(row.get(column, 0) < NEVER for column in columns)


# The sets of `values` that the README shows. bfcl-base is only in docs/benchmarks.md: a quarter of a run is 87 tokens
# at the median and 144 at most (first 40 runs, gpt-4o), too few for any result, and it has two fifths of all values.
SETS = {
    "tau": "airline support",
    "livemcp": "MCP servers",
    "bfcl-long": "tools with long results",
    "trail": "coding and research agents",
}
NOT_HELD = ("turns over", "steps over", "invalid", "refused", "newest message lost")
SHOWN = (
    Shown(
        "Six shapes of oversized request held in 8,000 tokens",
        "fit", "shapes", "held, of 6", "Brim fit", held=never("over the budget", "invalid"), tuned=True,
    ),
    Shown(
        "Share of the budget used, where no request was over",
        "fit", "fill", "budget used", "Brim fit", held=never("over the budget", "refused"), tuned=True,
    ),
    *(
        Shown(
            f"Values that later calls need, kept in a quarter of the run: {said}",
            "values", "25", "tool-only values kept", "Brim session", held=never(*NOT_HELD), set=name,
        )
        for name, said in SETS.items()
    ),
    Shown(
        "Prefix of the requests of these four sets that a cache can reuse",
        "values", "25", "prefix reuse", "Brim session", held=never(*NOT_HELD),
    ),
    Shown(
        "Tokens paid for a tool chat of 40 turns in 20,000, with a cache",
        "chat", "turns", "cost units", "Brim session", low=True, held=never(*NOT_HELD), tuned=True,
    ),
    Shown(
        "Codes of that chat in the last request or one recall away, of 60",
        "chat", "turns", "shown or retrievable", "Brim session", held=never(*NOT_HELD), tuned=True,
    ),
    Shown(
        "Turns that answer a question, kept in 10% of a long chat",
        "evidence", "questions", "kept at 10%", "Brim fit", held=never("requests over"),
    ),
    Shown(
        "JSON without loss, tokens ÷ minified",
        "compact", "json", "tokens ÷ minified", "Brim compact", low=True,
        held=lambda row: row.get("leaf values kept, untouched", 0) > 0.999,
    ),
    Shown(
        "Requests with tools counted as OpenAI did, share",
        "count", "accuracy", "exact, tools", "Brim count", tuned=True,
    ),
    Shown(
        "Documents counted as Claude Opus 5 does, share",
        "count", "claude", "exact, claude-opus-5", "Brim count", tuned=True,
    ),
    Shown("Counting new code, MB a second", "count", "speed", "10 KB code", "Brim count"),
    Shown("10,000 messages into a tenth, first, ms", "fit", "speed", "10,000 messages, first", "Brim fit", low=True),
    Shown("Memory of a process that fits 1,000 messages, MB", "fit", "memory", "peak with", "Brim fit", low=True),
    Shown(
        "Processor time of a proxied 3 KB request that nobody has seen ÷ a bare proxy's",
        "gateway", "proxies", "3 KB, fresh: × bare", "Brim gateway", low=True,
    ),
    Shown(
        "The same for a conversation that goes on",
        "gateway", "proxies", "3 KB, continuing: × bare", "Brim gateway", low=True,
    ),
    Shown(
        "527 tool schemas in every prompt, share of their tokens, behind meta-tools",
        "mcp", "tools", "of the tokens", "Brim, behind meta-tools", low=True,
    ),
    Shown(
        "Failing tests kept in 1,000 tokens of test output",
        "compact", "tests", "failing kept in 1,000", "Brim compact", held=never("over"),
    ),
    Shown(
        "Exception lines kept in 1,000 tokens of test output",
        "compact", "tests", "exceptions kept in 1,000", "Brim compact", held=never("over"),
    ),
    Shown(
        "Kinds of log lines kept in 5% of the tokens",
        "compact", "logs", "templates kept at 5%", "Brim compact", held=never("over"),
    ),
    Shown(
        "Kinds of warnings and errors kept in 5% of the tokens",
        "compact", "logs", "warnings and errors kept at 5%", "Brim compact", held=never("over"),
    ),
    Shown(
        "The right code chunk is among 2,000 tokens of chunks",
        "compact", "chunks", "found in 2,000", "Brim ranking", held=never("over"),
    ),
)  # fmt: skip


def best(rows: Rows, column: str, low: bool = False) -> str:
    """The best number of the others in a column, with its name. Example: "0.71 (LangChain trim_messages)" """
    others = [row for row in rows if not str(row[WHO]).startswith(OURS) and _number(row.get(column))]
    if not others:
        return "none"
    chosen = (min if low else max)(others, key=lambda row: row[column])
    return f"{shown(chosen[column])} ({chosen[WHO]})"


def shown(value: Any) -> str:
    """Example: 0.9123 -> "0.912"; 12345 -> "12,345"; 90.06 -> "90.1" """
    if not _number(value):
        return str(value)
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def rows_of(found: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    for one in SHOWN:
        rows = [row for row in found.get(one.benchmark, {}).get("tables", {}).get(one.table, ()) if row[WHO] != BARE]
        if one.benchmark == "values":
            rows = [row for row in rows if row.get("set") == one.set] if one.set else means(rows)
        row = one.row(rows)
        if row:
            yield row


def made(folder: Path) -> dict[str, Any] | None:
    """The summary of the files in a folder; None where there are none."""
    names = dict.fromkeys(one.benchmark for one in SHOWN)
    found = {name: measured for name in names if (measured := record.read(folder, name))}
    if not found:
        return None
    rows = list(rows_of(found))
    dates = sorted({measured["date"] for measured in found.values()})
    machines = dict.fromkeys(measured["machine"] for measured in found.values())  # times of two do not compare
    about = {"command": "make bench DATA=DIR", "date": " and ".join(dates), "machine": "; ".join(machines)}
    return {**about, "tables": {"table": rows, "versions": versions(found.values())}}


def versions(measured: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Every library that took part, once, with its version or why it did not."""
    found: dict[str, str] = {}
    for one in measured:
        found |= {name: said for name, said in one["versions"].items() if name != "commit" and said != "not asked"}
    return [{"library": name, "version": found[name]} for name in sorted(found, key=str.lower)]


def write(folder: Path) -> None:
    summary = made(folder)
    if summary:
        record.write(folder, "summary", summary)


def means(rows: Rows) -> list[dict[str, Any]]:
    """One row a way over `SETS`: their values together, and the means over the sets of the rest."""
    found = []
    for name in dict.fromkeys(str(row[WHO]) for row in rows):
        mine = [row for row in rows if row[WHO] == name and row["set"] in SETS and _number(row.get("prefix reuse"))]
        if not mine:
            continue
        row: dict[str, Any] = {WHO: name}
        for key in (key for key in mine[0] if key.startswith("tool-only values kept")):
            known = [one for one in mine if _number(one[key])]
            row[key] = sum(one[key] * one["values"] for one in known) / max(1, sum(one["values"] for one in known))
        rest = [key for key in ("prefix reuse", *NOT_HELD) if key in mine[0]]
        found.append(row | {key: statistics.mean(one[key] for one in mine) for key in rest})
    return found


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


if __name__ == "__main__":
    write(record.FOLDER)
