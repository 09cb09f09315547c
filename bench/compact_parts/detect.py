"""How well and how fast the kind of a content is told, on published sets whose kind is known."""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

from brim.content.detect import detect

Row = dict[str, Any]


def _body(row: Row) -> list[str]:
    body = row["body"]
    return [body if isinstance(body, str) else json.dumps(body)]


def _log(row: Row) -> list[str]:
    lines = row["lines"]
    return ["\n".join(lines[at : at + size]) for at, size in ((0, len(lines)), (100, 50), (500, 10), (700, 500))]


def _turns(row: Row) -> list[str]:
    return ["\n".join(turn if isinstance(turn, str) else str(turn.get("text", "")) for turn in row["turns"])]


_SETS: tuple[tuple[str, str, Callable[[Row], list[str]]], ...] = (
    ("json_tool_outputs.jsonl", "json", _body),
    ("loghub_2k.jsonl", "log", _log),
    ("test_output_logs.jsonl", "test", lambda row: [row["text"]]),
    ("html_articles.jsonl", "html", lambda row: [row["html"]]),
    ("html_articles.jsonl", "prose", lambda row: [row["body"]]),
    ("qmsum_test.jsonl", "prose", _turns),
    ("coderag_chunks.jsonl", "code", lambda row: [row["text"]]),
)


def _read(path: pathlib.Path) -> list[Row]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def rows(data_dir: pathlib.Path) -> list[tuple[str, str, str]]:
    """Accuracy by set, and milliseconds for a text of 100 KB of each kind."""
    measured: list[tuple[str, str, str]] = []
    slowest: dict[str, float] = {}
    right = total = 0
    for name, kind, texts_of in _SETS:
        path = data_dir / name
        if not path.exists():
            measured.append((f"detect: {kind} ({name})", "no data", ""))
            continue
        texts = [text for row in _read(path) for text in texts_of(row) if text.strip()]
        told = sum(detect(text) == kind for text in texts)
        right, total = right + told, total + len(texts)
        measured.append((f"detect: {kind} told right ({name}, {len(texts)})", f"{told / len(texts):.3f}", ""))
        joined = "\n".join(texts)[:100_000]
        slowest[kind] = max(slowest.get(kind, 0.0), _milliseconds(joined))
    if total:
        measured.append((f"detect: all told right ({total})", f"{right / total:.3f}", ""))
        times = sorted(slowest.values())
        measured.append(
            ("detect: ms for 100 KB, median / slowest kind", f"{times[len(times) // 2]:.2f} / {times[-1]:.2f}", "< 1")
        )
    return measured


def _milliseconds(text: str) -> float:
    best = float("inf")
    for _ in range(9):
        start = time.process_time()
        detect(text)
        best = min(best, time.process_time() - start)
    return best * 1_000
