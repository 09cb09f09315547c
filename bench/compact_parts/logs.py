"""Logs (M4b): line templates, and templates of warnings and errors, kept at 5% and 10% of the tokens."""

from __future__ import annotations

import json
import time
from pathlib import Path

import splintr

from brim.content.logs import lines as logs
from brim.content.types import Room

_TOKENIZER = splintr.Tokenizer.from_pretrained("o200k_base")
_BARS = {0.05: "≥ .88 / .90", 0.10: "≥ .95 / .97"}
_SEVERE = {"w", "e", "f", "warn", "warning", "error", "fatal", "critical"}


def _count(text: str) -> int:
    return len(_TOKENIZER.encode(text))


def rows(data_dir: Path) -> list[tuple[str, str, str]]:
    """Mean over the systems, and all templates together; then the lossless form."""
    path = data_dir / "loghub_2k.jsonl"
    if not path.exists():
        return [("logs (M4b)", f"no {path.name}: logpai/loghub publishes it", "")]
    systems = [json.loads(line) for line in path.read_text().splitlines()]
    found = [_kept(systems, share) for share in _BARS]
    return [*found, *_lossless(systems)]


def _kept(systems: list[dict[str, list[str]]], share: float) -> tuple[str, str, str]:
    every: list[tuple[int, int]] = []
    severe: list[tuple[int, int]] = []
    over = 0
    for system in systems:
        text = "\n".join(system["lines"])
        room = Room(int(_count(text) * share), _count)
        result = logs.extract(text, room)
        over += _count(result) > room.tokens
        lines = set(result.split("\n"))
        kept = {event for line, event in zip(system["lines"], system["event"], strict=True) if line in lines}
        bad = {event for event, level in zip(system["event"], system["level"], strict=True) if level.lower() in _SEVERE}
        every.append((len(kept), len(set(system["event"]))))
        if bad:
            severe.append((len(kept & bad), len(bad)))
    means = [sum(part / whole for part, whole in group) / len(group) for group in (every, severe)]
    pooled = [sum(part for part, _ in group) / sum(whole for _, whole in group) for group in (every, severe)]
    value = f"{means[0]:.3f} / {means[1]:.3f} (pooled {pooled[0]:.3f} / {pooled[1]:.3f}; over: {over})"
    return f"logs (M4b) templates / warn-error at {share:.0%}", value, _BARS[share]


def _lossless(systems: list[dict[str, list[str]]]) -> list[tuple[str, str, str]]:
    before = after = wrong = 0
    seconds = 0.0
    for system in systems:
        text = "\n".join(system["lines"])
        start = time.perf_counter()
        form = logs.dense(text)
        seconds += time.perf_counter() - start
        wrong += form is not None and logs.decode(form) != text
        before += _count(text)
        after += min(_count(text), _count(form or text))
    size = sum(len("\n".join(system["lines"])) for system in systems) / 1e6
    value = f"{after / before:.3f} (not decoded: {wrong}; {size / seconds:.1f} MB/s)"
    return [("logs, lossless form ÷ raw tokens", value, "< 1, all decode")]
