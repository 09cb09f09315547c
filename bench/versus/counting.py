"""Counting: how often each library gives the number that the API reported, and how fast it counts texts."""

from __future__ import annotations

import json
import statistics
from itertools import islice
from pathlib import Path
from typing import Any

from count_parts import claude, fuzz, openai, speed
from peer import PeerProblem, Worker

from versus.ways import CLAUDE, COUNTS, TEXTS, WHO, Field, Row, Way, each

# Of each model the family that its documents were counted for.
MODELS = {"claude-3-5-haiku-latest": "claude-3", "claude-opus-5": "claude-opus-5"}


def accuracy(field: Field, data: Path) -> list[Row]:
    """Requests whose prompt_tokens the API reported; an under-count is what breaks a request."""
    vectors = [one for one in openai.vectors(data) if one["api_verified"] is True]
    if not vectors:
        return [{WHO: "no data", "problem": "no token_vectors.json"}]
    return each(field, COUNTS, lambda way, worker: _exact(way, worker, vectors))


def _exact(way: Way, worker: Worker, vectors: list[dict[str, Any]]) -> Row:
    exact: dict[str, list[bool]] = {kind: [] for kind in ("text", "tools", "images")}
    under = failed = 0
    errors: list[float] = []
    for vector in vectors:
        model = openai.model_of(vector).replace("gpt-35", "gpt-3.5")
        question = {"do": "count", "how": way.how, "requests": [{**vector["request"], "model": model}]}
        tokens, truth = None, vector["prompt_tokens"]
        try:
            [tokens] = worker.ask(question)["tokens"]
        except PeerProblem:
            if worker.environment.problem:
                raise
            failed += 1
        exact[kind_of(vector["request"])].append(tokens == truth)
        if tokens is not None:
            under += tokens < truth
            errors.append(abs(tokens - truth) / truth)
    return {
        **{f"exact, {kind} ({len(found)})": sum(found) / max(1, len(found)) for kind, found in exact.items()},
        "counted too low": under / len(vectors),
        "failed": failed / len(vectors),
        "median error": statistics.median(errors) if errors else "–",
    }


def kind_of(request: dict[str, Any]) -> str:
    """What is in a request beside text. Example: {"messages": [], "functions": [{}]} -> "tools" """
    said = json.dumps(request["messages"])
    if "image_url" in said:
        return "images"
    tools = request.get("tools") or request.get("functions") or '"tool_calls"' in said or '"function_call"' in said
    return "tools" if tools else "text"


def of_claude(field: Field, data: Path, every: int) -> list[Row]:
    """Documents whose input_tokens the Claude API reported, every so many of them, for an old and a new tokenizer."""
    documents = list(islice(claude.documents(data / "claude"), 0, None, every))
    if not documents:
        return [{WHO: "no data", "problem": "no claude/"}]
    return each(field, CLAUDE, lambda way, worker: _of_claude(way, worker, documents))


def _of_claude(way: Way, worker: Worker, documents: list[tuple[str, str, dict[str, int]]]) -> Row:
    row: Row = {"documents": len(documents)}
    for model, family in MODELS.items():
        texts = [text for _, text, _ in documents]
        chats = [{"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": text}]} for text in texts]
        counted = worker.ask({"do": "count", "how": way.how, "requests": texts if way.how == "text" else chats})[
            "tokens"
        ]
        pairs = [(tokens, reported[family]) for tokens, (_, _, reported) in zip(counted, documents, strict=True)]
        row[f"exact, {family}"] = sum(tokens == truth for tokens, truth in pairs) / len(pairs)
        row[f"counted too low, {family}"] = sum(tokens < truth for tokens, truth in pairs) / len(pairs)
        row[f"lowest ÷ truth, {family}"] = min(tokens / truth for tokens, truth in pairs)
    return row


def throughput(field: Field, data: Path, rounds: int) -> list[Row]:
    """Megabytes a processor second, median of the rounds; no text is counted twice, and the libraries take turns."""
    sets = [(label, texts[:rounds]) for label, _, texts in speed.sets(data)]
    entered = list(field.entered(TEXTS))
    rates: dict[Way, dict[str, list[float]]] = {way: {} for way, _ in entered}
    problems: dict[Way, str] = {}
    for label, every in sets:
        for number, texts in enumerate(every):
            megabytes = sum(len(text.encode()) for text in texts) / 1e6
            for way, worker in entered if number % 2 else entered[::-1]:
                if way not in problems:
                    seconds = _seconds(way, worker, texts, problems)
                    rates[way].setdefault(label, []).append(megabytes / max(1e-9, seconds))
    return [
        {WHO: way.name, "problem": problems[way]}
        if way in problems
        else {WHO: way.name, **{f"{label}, MB/s": round(statistics.median(found), 2) for label, found in row.items()}}
        for way, row in rates.items()
    ]


def _seconds(way: Way, worker: Worker, texts: list[str], problems: dict[Way, str]) -> float:
    try:
        return float(worker.ask({"do": "count", "how": way.how, "requests": texts})["seconds"])
    except PeerProblem as problem:
        problems[way] = str(problem)
        return 0.0


def agreement(field: Field, strings: int) -> list[Row]:
    """Made-up texts that Brim and tiktoken count differently: of the same vocabulary there should be none."""
    texts = list(fuzz.strings(7, strings))
    rows: list[Row] = []
    for how, vocabulary in (("text", "o200k"), ("text of gpt-4", "cl100k")):
        found = {}
        for way, worker in field.entered(TEXTS[:2]):
            try:
                found[way.peer] = worker.ask({"do": "count", "how": how, "requests": texts})["tokens"]
            except PeerProblem as problem:
                rows.append({WHO: f"{way.name}, {vocabulary}", "problem": str(problem)})
        if len(found) == 2:
            pairs = list(zip(found["brim"], found["tiktoken"], strict=True))
            lower, higher = sum(ours < theirs for ours, theirs in pairs), sum(ours > theirs for ours, theirs in pairs)
            rows.append(
                {WHO: f"Brim against tiktoken, {vocabulary}", "strings": strings, "lower": lower, "higher": higher}
            )
    return rows
