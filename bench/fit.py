"""Fit: six shapes in every API, fill, determinism, and speed on messages that were counted before.

The others are in versus/: shapes.py, speed.py.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import table
from versus.speed import long_chat

import brim

# The shapes are the tests' own: what they hold to is what is measured here.
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.conversations import MAKERS, MODELS, problems  # noqa: E402
from tests.shapes import shapes  # noqa: E402
from tests.test_six_shapes import PRINT_FITTED, said_by_users, system_of  # noqa: E402

BUDGET = 8_000
RUNS = ("tau_airline_gpt4o.jsonl", "livemcp_sonnet4.jsonl", "bfcl_long_context_replay.jsonl", "trail_agent_convs.jsonl")
ROUNDS = 5


def six_shapes() -> Iterator[table.Row]:
    for api in MAKERS:
        held = 0
        for name, shape in shapes().items():
            fitted = brim.fit(MAKERS[api](shape.turns, shape.system), model=MODELS[api][0], budget=BUDGET, api=api)
            wrong = problems(api, fitted.body)
            if brim.count(fitted.body, model=MODELS[api][0], api=api).tokens > BUDGET:
                wrong.append("over the budget")
            if shape.system not in system_of(fitted.body) or shape.instruction not in said_by_users(fitted.body):
                wrong.append("system text or last instruction lost")
            held += not wrong
            if wrong:
                print(f"{api}, {name}: {wrong}", file=sys.stderr)
        yield f"shapes within {BUDGET:,} tokens, valid, with system and instruction, {api}", held, "6"


def fill(data: Path) -> Iterator[table.Row]:
    """Tokens used ÷ budget, wherever there was more than the budget and something had to be given up."""
    sets = {"six shapes": [MAKERS["openai_chat"](shape.turns, shape.system)["messages"] for shape in shapes().values()]}
    for file in RUNS:
        if (data / file).exists():
            lines = (data / file).read_text(encoding="utf-8").splitlines()
            chosen = lines[:: max(1, len(lines) // 12)]
            sets[file.removesuffix(".jsonl")] = [json.loads(line)["messages"] for line in chosen]
        else:
            print(f"fill: no {file}", file=sys.stderr)
    every: list[float] = []
    for name, chats in sets.items():
        shares = [share for messages in chats for share in _fills(name, messages)]
        every += shares
        yield f"fill, {name} ({len(shares)} fits, least {min(shares, default=0):.3f})", _mean(shares), ""
    yield f"fill, all {len(every)} fits", _mean(every), ">= 0.97"


def _fills(name: str, messages: list[dict[str, Any]]) -> Iterator[float]:
    try:
        whole = brim.count(messages, model="gpt-4o").tokens
    except brim.BadBody as problem:
        print(f"fill: {name}: {problem}", file=sys.stderr)
        return
    for budget in (2_000, 4_000, 8_000, 16_000):
        if whole > budget:
            try:
                fitted = brim.fit(messages, model="gpt-4o", budget=budget)
                if any(decision.form not in ("full", "dense") for decision in fitted.plan):
                    yield fitted.tokens / budget
            except brim.BudgetTooSmall as refusal:
                print(f"fill: {name}: {refusal.needed:,} tokens must stay in {budget:,}", file=sys.stderr)


def _mean(shares: list[float]) -> float:
    return statistics.mean(shares) if shares else 0.0


def hash_seeds() -> Iterator[table.Row]:
    printed = []
    for seed in ("0", "1", "77", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", PRINT_FITTED], capture_output=True, check=True, env=env)
        printed.append(hashlib.sha256(done.stdout).hexdigest())
    yield f"different results of {len(printed)} processes with different hash seeds", len(set(printed)) - 1, "0"


def scale(sizes: tuple[int, int]) -> Iterator[table.Row]:
    """Already counted: every message was in a request before; the last one is new in each round.

    In processor time, here and against the peers: all of them have one thread, and machines are busy.
    """
    best = {}
    for size in sizes:
        messages = long_chat(size)
        tokens = brim.count(messages, model="gpt-4o").tokens
        times = []
        for number in range(ROUNDS):
            request = [
                *messages[:-1],
                {"role": "user", "content": f"And what of {messages[number + 1]['content'][:40]}?"},
            ]
            gc.collect()
            begun = time.process_time()
            brim.fit(request, model="gpt-4o", budget=tokens // 10)
            times.append(time.process_time() - begun)
        best[size] = min(times)
        bar = "<= 150" if size == 10_000 else ""
        yield f"{size:,} messages, {tokens:,} tokens, already counted, ms", best[size] * 1e3, bar
    small, large = sizes
    yield f"growth from {small:,} to {large:,} messages, times", best[large] / best[small], "<= 12"


def parts(data: Path, quick: bool) -> dict[str, table.Part]:
    """What is measured, by name."""
    return {
        "six": six_shapes,
        "fill by set": lambda: fill(data),
        "hash": hash_seeds,
        "scale": lambda: scale((200, 1_000) if quick else (1_000, 10_000)),
    }
