"""The few rows that the README shows, out of what the benchmarks wrote.

python bench/summary.py            docs/benchmarks/{count,fit,compact}.json -> docs/benchmarks/summary.json
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "docs/benchmarks"
# Which metrics, by how they start, and what the README calls them.
SHOWN = {
    "count": {
        "OpenAI vectors exact": "OpenAI requests counted as the API did, share",
        "exact on 2,264 documents, claude-3": "Claude documents counted as the API did, %",
        "recount of a known": "Recount of a known 200-message conversation, µs",
    },
    "compact": {
        "JSON payloads (M3), lossless": "JSON without loss, tokens ÷ minified",
        "JSON payloads, (key, identifier) pairs kept at 10%": "Identifiers kept with their keys in 10% of the tokens",
        "test output (M4a) failing ids / exceptions at 1,000": "Failing tests / exception lines kept in 1,000 tokens",
        "logs (M4b) templates / warn-error at 5%": "Log templates / warnings and errors kept in 5% of the tokens",
        "golden chunk (M5a) in 2,000 tokens": "The right code chunk is among 2,000 tokens of chunks",
    },
    "fit": {
        "shapes within 8,000 tokens": "Six ordinary shapes of oversized request, within 8,000 tokens and valid",
        "fill, all": "Share of the budget used where more content existed",
        "retained evidence (M1) at 10%": "Turns that answer a question, kept in 10% of a long chat",
    },
}


def write(folder: Path) -> None:
    ...


def main() -> None:
    rows = []
    for name, wanted in SHOWN.items():
        path = FOLDER / f"{name}.json"
        if not path.is_file():
            continue
        measured = json.loads(path.read_text(encoding="utf-8"))
        for start, title in wanted.items():
            for row in measured["rows"]:
                if row["metric"].startswith(start):
                    rows.append({"what": title, "measured": row["value"], "by": f"`bench/{name}.py`"})
                    break
    summary = {"command": "make bench DATA=DIR && python bench/summary.py", "date": measured["date"]}
    summary["machine"] = measured["machine"]
    (FOLDER / "summary.json").write_text(json.dumps({**summary, "rows": rows}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
