"""Fit: six shapes, fill, determinism, speed beside LangChain and LiteLLM, and what stays of what matters.

    python bench/fit.py --data DIR [--peers PYTHON] [--full] [--only shapes,fill,hash,scale,cold,retained] [--json FILE]

`--peers` is the interpreter of an environment with langchain-openai, litellm and splintr-rs. Evidence and spans are
measured on a part of their sets; `--full` measures all, which takes about an hour.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peer
import retained
import table

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
PATIENCE = 240.0  # seconds for a peer
PEERS = {"langchain": ">= 20", "litellm": ">= 20", "langchain-quick": "with Brim's tokenizer"}
LOCOMO = {5: ">= 0.86", 10: ">= 0.91", 25: ">= 0.95"}
QMSUM = {5: ">= 0.33", 10: ">= 0.48", 25: ">= 0.68"}


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
                if any(decision.rung not in ("full", "dense") for decision in fitted.plan):
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


def long_chat(messages: int) -> list[dict[str, str]]:
    """A chat of about 100 tokens a message, words as skewed as in language."""
    rnd = random.Random(messages)
    letters = "etaoinsrhldcumfpgwyb"
    words = ["".join(rnd.choices(letters, k=rnd.randint(2, 8))) for _ in range(8_000)]
    weights = [1 / (rank + 8) for rank in range(len(words))]
    made = [
        {"role": ("user", "assistant")[n % 2], "content": " ".join(rnd.choices(words, weights, k=42))}
        for n in range(messages - 1)
    ]
    return [{"role": "system", "content": "Be brief."}, *made[: messages - 2], {"role": "user", "content": "And now?"}]


def scale() -> Iterator[table.Row]:
    """Already counted: every message was in a request before; the last one is new in each round.

    In processor time, here and against the peers: all of them have one thread, and machines are busy.
    """
    best = {}
    for size in (1_000, 10_000):
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
    yield "growth from 1,000 to 10,000 messages, times", best[10_000] / best[1_000], "<= 12"


def cold(peers: Path | None) -> Iterator[table.Row]:
    """Each in processes of its own that have fitted one small chat, Brim before and after the others."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chat.json"
        file.write_text(json.dumps(long_chat(10_000)))
        before = _trim(sys.executable, "brim", file)
        theirs = {name: _trim(peer.python(peers), name, file) for name in PEERS}
        seconds = min(before["seconds"], _trim(sys.executable, "brim", file)["seconds"])
    yield "10,000 messages from cold, ms", seconds * 1e3, ""
    for name, found in theirs.items():
        value: table.Value
        if not isinstance(found, str):
            value = found["seconds"] / seconds
            name += f" {found['version']}"
        elif found.startswith("more than"):
            value = PATIENCE / seconds  # at least
        else:
            value = found
        yield f"10,000 messages from cold, times as fast as {name}", value, PEERS[name.split(" ")[0]]


def _trim(python: str, name: str, file: Path) -> Any:
    return peer.ask([python, "trim.py", name, str(file), "100000"], PATIENCE)


def kept(data: Path, full: bool) -> Iterator[table.Row]:
    """Evidence (M1) and spans (M5b), by the shares of their budgets."""
    path = data / "locomo10_min.jsonl"
    if path.exists():
        for share, bar in LOCOMO.items():
            found = retained.locomo(path, share / 100, None if full else 1)
            asked = f"{found['questions']:.0f} questions"
            yield f"retained evidence (M1) at {share}%, {asked}", found["recall"], bar
            yield f"multi-hop with all evidence at {share}%", found["multi-hop all"], ">= 0.5" if share == 10 else ""
    else:
        print(f"retained: no {path.name}: snap-research/locomo publishes it", file=sys.stderr)
    path = data / "qmsum_test.jsonl"
    if path.exists():
        for share, bar in QMSUM.items():
            found = retained.qmsum(path, share / 100, None if full else 15)
            yield f"retained spans (M5b) at {share}%, {found['queries']:.0f} queries", found["spans"], bar
    else:
        print(f"retained: no {path.name}: Yale-LILY/QMSum publishes it", file=sys.stderr)


def main() -> int:
    given = table.arguments(
        __doc__ or "",
        ("--peers", {"type": Path, "metavar": "PYTHON", "help": "the interpreter that has the peers"}),
        ("--full", {"action": "store_true", "help": "measure evidence and spans on whole sets"}),
    )
    parts: list[table.Part] = [
        ("shapes", six_shapes),
        ("fill", lambda: fill(given.data)),
        ("hash", hash_seeds),
        ("scale", scale),
        ("cold", lambda: cold(given.peers)),
        ("retained", lambda: kept(given.data, given.full)),
    ]
    return table.run(parts, given)


if __name__ == "__main__":
    sys.exit(main())
