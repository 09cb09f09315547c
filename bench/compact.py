"""Compact: what the compactors keep and how small, and how fast they are. The others are in versus/payloads.py."""

from __future__ import annotations

import importlib
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import rank
import table

import brim
from brim.relevance import Index
from brim.tokens import text_counter

PARTS = ("json", "shapes", "testoutput", "logs", "html", "detect")
CHUNKS = {1_000: ">= 0.88", 2_000: ">= 0.92", 4_000: ">= 0.95", 8_000: ">= 0.96"}
MEGABYTES = (2.5, 5, 10)
count = text_counter("gpt-4o")


def part(name: str, data: Path) -> table.Part:
    return lambda: importlib.import_module(f"compact_parts.{name}").rows(data)


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


def parts(data: Path, quick: bool) -> dict[str, table.Part]:
    """What is measured, by name."""
    found = {name: part(name, data) for name in PARTS}
    found |= {"chunks": lambda: chunks(data), "seen": seen_before}
    return found if quick else {**found, "linear": linear}
