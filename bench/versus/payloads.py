"""JSON payloads (M3) in fewer tokens: how many, what is lost, and how fast; Brim, TOON and headroom."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from compact_parts.json import count, minified, pairs, same
from peer import PeerProblem, Worker

from versus.ways import PACKS, WHO, Field, Row, Way, each, in_halves


def table(field: Field, data: Path, most: int | None) -> list[Row]:
    path = data / "json_tool_outputs.jsonl"
    if not path.exists():
        return [{WHO: "no data", "problem": f"no {path.name}: recorded REST answers of hub4j/github-api"}]
    texts = [minified(json.loads(line)["body"]) for line in path.read_text(encoding="utf-8").splitlines()[:most]]
    speed = ("ms for 10,000 tokens",)
    return each(field, PACKS, lambda way, worker: in_halves(texts, partial(_packed, way, worker), speed, tuned=1))


def _packed(way: Way, worker: Worker, texts: Sequence[str]) -> Row:
    found = worker.ask({"do": "pack", "how": way.how, "texts": list(texts)})
    if len(found["texts"]) != len(texts):
        raise PeerProblem("gave back another number of texts")
    sizes = [(count(text), count(made)) for text, made in zip(texts, found["texts"], strict=True)]
    back = found["back"]
    again = [same(json.loads(one), json.loads(text)) for one, text in zip(back, texts, strict=True)] if back else None
    proven = again or [False] * len(texts)
    kept = [_kept(*three) for three in zip(texts, found["texts"], proven, strict=True)]
    return {
        "payloads": len(texts),
        "tokens ÷ minified": sum(new for _, new in sizes) / sum(old for old, _ in sizes),
        "median": statistics.median(new / old for old, new in sizes),
        "decoded to the same": sum(again) / len(again) if again is not None else "no decoder",
        "leaf values kept": statistics.mean(leaves for leaves, _ in kept),
        "identifiers kept": statistics.mean(ids for _, ids in kept),
        "ms for 10,000 tokens": 1e3 * found["seconds"] / max(1, sum(old for old, _ in sizes)) * 10_000,
    }


def _kept(text: str, made: str, proven: bool) -> tuple[float, float]:
    """Shares of leaf values and of identifiers; all of them where decoding gives the value back."""
    if proven:
        return 1.0, 1.0
    value = json.loads(text)
    leaves = list(_leaves(value))
    names = {name for _, name in pairs(value)}
    return (
        sum(leaf in made for leaf in leaves) / max(1, len(leaves)),
        sum(name in made for name in names) / max(1, len(names)),
    )


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield json.dumps(value, ensure_ascii=False)[1:-1]
    else:
        yield json.dumps(value)
