"""Compact: what the ladders keep and how small, how fast they are, and headroom and TOON beside them.

    python bench/compact.py --data DIR [--peers PYTHON] [--toon FOLDER] [--full] [--only json,logs,…] [--json FILE]

`--peers` is the interpreter of an environment with headroom-ai, `--toon` the folder of the npm package
@toon-format/toon. Retained values are measured on the first runs of each set; `--full` takes all of them.
"""

from __future__ import annotations

import importlib
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import peer
import rank
import table
import values

import brim
from brim.plan.relevance import Index
from brim.tokens import text_counter

PARTS = ("json", "shapes", "testoutput", "logs", "html", "detect")
CHUNKS = {1_000: ">= 0.88", 2_000: ">= 0.92", 4_000: ">= 0.95", 8_000: ">= 0.96"}
VALUES = {"tau": (">= 0.85", ">= 0.80"), "livemcp": (">= 0.90", ">= 0.85"), "bfcl-long": (">= 0.93", "")}
SAMPLE = 60  # runs of each set
PATIENCE = 300.0
MEGABYTES = (2.5, 5, 10)
count = text_counter("gpt-4o")


def part(name: str, data: Path) -> Callable[[], Iterable[table.Row]]:
    return lambda: importlib.import_module(f"compact_parts.{name}").rows(data)


def peers(data: Path, python: Path | None, toon: Path | None) -> Iterator[table.Row]:
    """The same payloads, minified, through the others."""
    path = data / "json_tool_outputs.jsonl"
    if not path.exists():
        print(f"peers: no {path.name}", file=sys.stderr)
        return
    bodies = [json.loads(line)["body"] for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [json.dumps(body, ensure_ascii=False, separators=(",", ":")) for body in bodies]
    asked = {f"headroom {how}": [peer.python(python), "compress.py", how] for how in ("lossless", "default")}
    if toon:
        asked["TOON"] = ["node", "toon.mjs", str(toon.resolve())]
    else:
        print("peers: no --toon FOLDER: npm install @toon-format/toon", file=sys.stderr)
    for name, program in asked.items():
        found = peer.ask(program, PATIENCE, json.dumps(texts))
        if isinstance(found, str):
            yield f"JSON payloads through {name}", found, "peer"
            continue
        sizes = [(count(text), count(other)) for text, other in zip(texts, found["texts"], strict=True)]
        total = sum(new for _, new in sizes) / sum(old for old, _ in sizes)
        middle = statistics.median(new / old for old, new in sizes)
        yield f"JSON payloads through {name} {found['version']}", f"{total:.3f} total, {middle:.3f} median", "peer"


def chunks(data: Path) -> Iterator[table.Row]:
    """Golden chunk (M5a): is the chunk that answers a query among those that fit?"""
    if not (data / "coderag_chunks.jsonl").exists():
        print("chunks: no coderag_chunks.jsonl: anthropics/claude-cookbooks publishes it", file=sys.stderr)
        return
    index = Index()
    for chunk in rank.read(data / "coderag_chunks.jsonl"):
        index.add(chunk["text"], session=chunk["doc"], tokens=count(chunk["text"]))
    asked = list(rank.read(data / "coderag_queries.jsonl"))
    for budget, bar in CHUNKS.items():
        kept = statistics.mean(rank.kept(one["gold"], index.pack(one["q"], budget)) for one in asked)
        yield f"golden chunk (M5a) in {budget:,} tokens, {len(asked)} queries", kept, bar


def retained_values(data: Path, full: bool) -> Iterator[table.Row]:
    """M2 through brim.fit, at 25% of the transcript."""
    for name, (tool_only, stale) in VALUES.items():
        path = data / values.SETS[name]
        if not path.exists():
            print(f"values: no {path.name}", file=sys.stderr)
            continue
        score = values.run(path, 0.25, values.by_fit, None if full else SAMPLE)
        yield f"tool-only values (M2), {name}, {len(score.tool_only)}", _share(score.tool_only), tool_only
        if stale:
            yield f"stale values, {name}, {len(score.stale)}", _share(score.stale), stale
        yield f"values next to their keys, {name}, {len(score.bound)}", _share(score.bound), ">= 0.90"
        yield f"steps over the window, {name}, of {score.steps} ({score.refused} refused)", score.over, "0"


def _share(found: list[bool]) -> float:
    return sum(found) / len(found) if found else 0.0


def seen_before() -> Iterator[table.Row]:
    text = records(random.Random(1), 40_000)
    for label, budget in (("lossless", None), ("in 1,000 tokens", 1_000)):
        brim.compact(text, budget)
        best = float("inf")
        for _ in range(7):
            copies = [text[:-1] + text[-1] for _ in range(100)]  # as if read anew each time
            begun = time.perf_counter()
            for copy in copies:
                brim.compact(copy, budget)
            best = min(best, (time.perf_counter() - begun) / len(copies))
        yield f"a content of {count(text):,} tokens seen before, {label}, µs", best * 1e6, "<= 20"


def records(rnd: random.Random, size: int) -> str:
    rows = [_record(rnd, n) for n in range(size // 150 + 1)]
    return json.dumps(rows)


def _record(rnd: random.Random, n: int) -> dict[str, Any]:
    name = f"item-{rnd.randrange(10**6)}"
    url = f"https://api.example.com/items/{name}"
    return {"id": n, "name": name, "url": url, "owner": {"login": rnd.choice("abcdef") * 5}, "note": words(rnd, 6)}


def words(rnd: random.Random, number: int) -> str:
    return " ".join(
        rnd.choices(("parcel", "depot", "late", "in", "Oslo", "was", "the", "scanned", "twice", "4711"), k=number)
    )


def log(rnd: random.Random, size: int) -> str:
    return "\n".join(
        f"2026-03-01 12:00:{n % 60:02} INFO worker-{n % 9}: {words(rnd, 8)} {n}" for n in range(size // 80)
    )


def prose(rnd: random.Random, size: int) -> str:
    return "\n\n".join(". ".join(words(rnd, 12).capitalize() for _ in range(8)) + "." for _ in range(size // 500))


def csv(rnd: random.Random, size: int) -> str:
    return "id,name,state\n" + "\n".join(f"{n},item-{rnd.randrange(10**6)},{words(rnd, 2)}" for n in range(size // 30))


def html(rnd: random.Random, size: int) -> str:
    blocks = "\n".join(f"<div class='c{n % 7}'><p>{words(rnd, 20)}</p></div>" for n in range(size // 140))
    return f"<!doctype html><html><body>{blocks}</body></html>"


def code(rnd: random.Random, size: int) -> str:
    return "\n\n".join(f"def f{n}(a, b):\n    x = a + {rnd.randrange(99)}\n    return x * b" for n in range(size // 55))


def one_line(rnd: random.Random, size: int) -> str:
    return "".join(rnd.choices("abcdefghijklmnopqrstuvwxyz0123456789 ", k=size))


def diff(rnd: random.Random, size: int) -> str:
    files = (
        f"diff --git a/f{n}.py b/f{n}.py\n--- a/f{n}.py\n+++ b/f{n}.py\n@@ -1,3 +1,3 @@\n {words(rnd, 5)}\n"
        f"-{words(rnd, 6)}\n+{words(rnd, 6)}\n"
        for n in range(size // 170)
    )
    return "".join(files)


TEXTS: dict[str, Callable[[random.Random, int], str]] = {
    "records": records,
    "log": log,
    "prose": prose,
    "CSV": csv,
    "HTML": html,
    "code": code,
    "diff": diff,
    "one line": one_line,
    "open brackets": lambda _, size: "[" * size,
    "one key": lambda _, size: '{"a":' * (size // 5),
}


def linear() -> Iterator[table.Row]:
    """Processor time for texts of 2.5, 5 and 10 MB into 2,000 tokens: the slowest, and what a doubling costs."""
    for name, make in TEXTS.items():
        spent = [min(_seconds(make, megabytes, seed) for seed in (3, 4)) for megabytes in MEGABYTES]
        growth = max(after / max(before, 0.05) for before, after in pairwise(spent))
        shown = " / ".join(f"{seconds:.2f}" for seconds in spent)
        yield f"{name}, the slowest of 2.5, 5 and 10 MB, seconds ({shown})", max(spent), "<= 2"
        yield f"{name}, the most that a doubling costs, times", growth, "<= 2.6"


def _seconds(make: Callable[[random.Random, int], str], megabytes: float, seed: int) -> float:
    text = make(random.Random(seed), int(megabytes * 1_000_000)) + "\n" * seed
    begun = time.process_time()
    brim.compact(text, 2_000)
    return time.process_time() - begun


def main() -> int:
    given = table.arguments(
        __doc__ or "",
        ("--peers", {"type": Path, "metavar": "PYTHON", "help": "the interpreter that has headroom-ai"}),
        ("--toon", {"type": Path, "metavar": "FOLDER", "help": "the folder of @toon-format/toon"}),
        ("--full", {"action": "store_true", "help": "retained values on all runs"}),
    )
    parts: list[table.Part] = [
        *((name, part(name, given.data)) for name in PARTS),
        ("peers", lambda: peers(given.data, given.peers, given.toon)),
        ("chunks", lambda: chunks(given.data)),
        ("seen", seen_before),
        ("linear", linear),
        ("values", lambda: retained_values(given.data, given.full)),
    ]
    return table.run(parts, given)


if __name__ == "__main__":
    sys.exit(main())
