"""Counting: exactness, bounds, hard inputs, and what a provider whose counts are hidden charges.

What is not there (data, ctok, vocabularies of other makers) is said and left out. Others are in versus/counting.py.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import table
from count_parts import claude, fuzz, openai, speed

import brim

# The hidden provider is the tests' own: what they hold to is what is measured here.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.hidden_provider import play, providers

ROUNDS = 9
SEEDS = range(5)
LIBRARIES = ("splintr", "tiktoken", "tokenizers", "aiohttp", "httpx", "requests", "urllib3", "mcp", "uvicorn", "rich")
TIMED = "import time; begun = time.perf_counter(); import brim; print(time.perf_counter() - begun)"
LOADED = "import brim, sys; print(' '.join({name.partition('.')[0] for name in sys.modules}))"


def recount() -> Iterator[table.Row]:
    """A known conversation of 200 messages, given as objects each time."""
    text = "The parcel of order {} was sent to Berlin on Monday and has not arrived; please look into it. " * 3
    messages = [{"role": ("user", "assistant")[n % 2], "content": text.format(n, n + 1, n + 2)} for n in range(200)]
    brim.count(messages, model="gpt-4o")
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(20):
            brim.count(messages, model="gpt-4o")
        best = min(best, (time.perf_counter() - begun) / 20)
    yield "recount of a known conversation of 200 messages, µs", best * 1e6, "<= 150"


def import_cost() -> Iterator[table.Row]:
    best = min(float(_python(TIMED)) for _ in range(ROUNDS))
    yield "import of brim, ms", best * 1e3, "<= 150"
    heavy = sorted(set(_python(LOADED).split()) & set(LIBRARIES))
    yield (
        "tokenizer, HTTP and MCP libraries that it loads" + (f" ({', '.join(heavy)})" if heavy else ""),
        len(heavy),
        "0",
    )


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def provider() -> Iterator[table.Row]:
    """Sixty turns with two edits and a branch, five chats with each provider."""
    for name, (model, truth) in providers().items():
        played = [play(model, truth, seed) for seed in SEEDS]
        requests = sum(one.requests for one in played)
        yield f"{name}: charges above the bound, of {requests}", sum(one.under for one in played), "0"
        yield f"{name}: mean over-estimate", max(one.mean_over for one in played), "<= 0.015"


def parts(data: Path, quick: bool) -> dict[str, table.Part]:
    """What is measured, by name."""
    found: dict[str, table.Part] = {
        "openai": lambda: openai.rows(data),
        "claude": lambda: claude.rows(data),
        "fuzz": lambda: fuzz.rows(data, count=500 if quick else fuzz.STRINGS),
        "hard": speed.rows,
        "recount": recount,
        "import": import_cost,
    }
    return found if quick else {**found, "provider": provider}
