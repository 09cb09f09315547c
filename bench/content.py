"""Content: how well every kind is told, and what of it is left when it is shortened, all through `brim.compact(text)`.

    python bench/content.py --data DIR --captured DIR --unseen DIR --fresh DIR --node NODE_MODULES [--only builds,logs]

`--captured`, `--unseen` and `--fresh` are what scripts/capture-commands wrote without and with these; `--node` has
TypeScript 5, packages that ship their sources, and @toon-format/toon. Rules are tuned on the odd half; the even half
is only reported. `brim bench content --data FOLDER` looks for FOLDER/captured, FOLDER/unseen and FOLDER/node_modules.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import table
from content_parts import builds, detection, lines, outlines, pages, payloads
from content_parts.halves import Row


def parts(
    data: Path | None,
    captured: Path | None,
    unseen: Path | None,
    fresh: Path | None,
    node: Path | None,
    told: bool = False,
) -> dict[str, Callable[[], list[Row]]]:
    """What can be measured with what is given, by name."""
    found: dict[str, Callable[[], list[Row]]] = {
        "detection": lambda: detection.rows(data, captured, unseen, fresh, told)
    }
    if data is not None:
        found |= {"logs": lambda: lines.logs(data), "tests": lambda: lines.tests(data)}
    if captured is not None:
        found["builds"] = lambda: builds.rows(captured, unseen, told)
    found["code"] = lambda: outlines.rows(node, told)
    if data is not None:
        found |= {"json": lambda: payloads.rows(data, node), "html": lambda: pages.html(data)}
    found["speed"] = pages.speed
    return found


def judged(row: Row) -> dict[str, str]:
    """A row as the tables show it; met where the untouched half meets the bar."""
    value = row.even if row.even != "–" else row.odd
    verdict = {True: "yes", False: "no", None: ""}[table.met(value, row.bar)]
    return {
        "metric": row.metric,
        "tuned half": row.odd,
        "untouched half": row.even,
        "head and tail": row.plain,
        "bar": row.bar,
        "met": verdict,
    }


def below(data: Path) -> dict[str, Callable[[], list[Row]]]:
    """What can be measured with what lies in one folder."""
    places = [
        folder if (folder := data / name).is_dir() else None for name in ("captured", "unseen", "fresh", "node_modules")
    ]
    return parts(data, *places)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("data", "captured", "unseen", "fresh", "node"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--only", default="", help="parts, separated by commas")
    parser.add_argument("--told", action="store_true", help="name what of the tuned half is wrong or lost")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else None
    for name, measure in parts(args.data, args.captured, args.unseen, args.fresh, args.node, args.told).items():
        if only is None or name in only:
            for row in measure():
                shown = judged(row)
                print(" | ".join(shown.values()), flush=True)


if __name__ == "__main__":
    main()
