"""JSON (M3): tokens of the lossless forms against minified text, and speed."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import splintr

from brim.content.json import decode, dense, simple
from brim.content.json.identifiers import names_something

_TOKENIZER = splintr.Tokenizer.from_pretrained("o200k_base")
_ROUNDS = 5
_PAYLOADS = "json_tool_outputs.jsonl"
_RUNS = {"tau": ("tau_airline_gpt4o.jsonl", "≤ .75"), "LiveMCP": ("livemcp_sonnet4.jsonl", "≤ .90")}

Row = tuple[str, str, str]


def count(text: str) -> int:
    return len(_TOKENIZER.encode(text))


def rows(data_dir: Path) -> list[Row]:
    """Ratios are to the minified text of the same value; every form is decoded and compared strictly."""
    found: list[Row] = []
    path = data_dir / _PAYLOADS
    if path.exists():
        payloads = [minified(json.loads(line)["body"]) for line in path.read_text().splitlines()]
        found += [_lossless("JSON payloads (M3)", payloads, "≤ .30 total, ≤ .36 median, max ≤ 1")]
        found += _speed(payloads)
    else:
        found.append(("JSON payloads (M3)", f"no {path.name}: recorded REST answers of hub4j/github-api", ""))
    for name, (file, bar) in _RUNS.items():
        if (data_dir / file).exists():
            found.append(_lossless(f"JSON tool results, {name}", list(_tool_results(data_dir / file)), f"{bar} total"))
        else:
            found.append((f"JSON tool results, {name}", f"no {file}", ""))
    return found


def minified(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def same(one: Any, other: Any) -> bool:
    """Equal, with 1, 1.0 and True told apart, and keys in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _tool_results(path: Path) -> Iterator[str]:
    """Every tool message that is an object or a list as JSON; other text is not counted."""
    for line in path.read_text().splitlines():
        for message in json.loads(line)["messages"]:
            if message["role"] == "tool" and isinstance(message["content"], str):
                try:
                    value = json.loads(message["content"])
                except ValueError:
                    continue
                if isinstance(value, dict | list):
                    yield minified(value)


def _lossless(name: str, texts: list[str], bar: str) -> Row:
    before = after = wrong = 0
    ratios = []
    for text in texts:
        form = dense(text) or text
        wrong += not same(decode(form), json.loads(text))
        old, new = count(text), count(form)
        before, after = before + old, after + new
        ratios.append(new / old)
    value = f"{after / before:.3f} total, {statistics.median(ratios):.3f} median, {max(ratios):.3f} max"
    return f"{name}, lossless tokens ÷ minified", f"{value} ({len(texts)} results, {wrong} decode wrong)", bar


def pairs(value: Any, key: str = "") -> set[tuple[str, str]]:
    """The identifiers of a value with their keys: ids, names, shas, logins, numbers, titles, paths, refs, …"""
    if isinstance(value, dict):
        return set().union(*(pairs(item, name) for name, item in value.items()))
    if isinstance(value, list):
        return set().union(*(pairs(item, key) for item in value))
    if value in (None, "") or isinstance(value, bool | float) or not names_something(key):
        return set()
    return {(key, str(value))}


def _speed(texts: list[str]) -> list[Row]:
    """Best of rounds in processor time, scaled to 10,000 (or 100,000) tokens; the proof is part of it."""
    found = []
    for label, low, high, scale in (("10k", 6_000, 16_000, 10_000), ("100k", 60_000, 170_000, 100_000)):
        chosen = [(text, tokens) for text in texts if low < (tokens := count(text)) < high]
        bars = {"10k": ("≤ 1.5", "≤ 6", "≤ dense"), "100k": ("", "≤ 60", "≤ dense")}[label]
        for (name, run), bar in zip((("simple", simple), ("dense", dense), ("decode", _decode)), bars, strict=True):
            times = [_best(run, text) * scale / tokens for text, tokens in chosen]
            if times:
                found.append((f"JSON {name}, p50 at {label} tokens", f"{statistics.median(times) * 1e3:.2f} ms", bar))
    return found


_forms: dict[str, str] = {}


def _decode(text: str) -> Any:
    form = _forms.get(text)
    if form is None:
        form = _forms[text] = dense(text) or text
    return decode(form)


def _best(run: Callable[[str], Any], text: str) -> float:
    times = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        run(text)
        times.append(time.process_time() - start)
    return min(times)
