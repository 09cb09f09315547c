"""Retained evidence (M1) and spans (M5b): is what answers the question still in the fitted request?

python bench/retained.py --data DIR [--only locomo,qmsum] [--share 5,10,25]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import brim
from brim import apis, models
from brim.tokens.counter import Counter

MULTI_HOP = 1
ADVERSARIAL = 5


def chat_of(turns: list[dict[str, Any]]) -> list[dict[str, str]]:
    """A long chat as messages: one speaker is the user, the other the assistant; a date opens each session."""
    first = turns[0]["speaker"]
    messages = []
    session = None
    for turn in turns:
        date = f"[{turn['date']}] " if turn["session"] != session else ""
        session = turn["session"]
        role = "user" if turn["speaker"] == first else "assistant"
        messages.append({"role": role, "content": f"{date}{turn['speaker']}: {turn['text']}"})
    return messages


def fitted_text(messages: list[dict[str, str]], question: str, budget: int) -> set[str]:
    request = [*messages, {"role": "user", "content": question}]
    fitted = brim.fit(request, model="gpt-4o", budget=budget, fit_timeout=None)
    assert brim.count(fitted.messages, model="gpt-4o").tokens <= budget
    return {message["content"] for message in fitted.messages}


def locomo(path: Path, share: float, most: int | None = None) -> dict[str, float]:
    counter = Counter(models.find("gpt-4o"), "openai_chat")
    kept: list[float] = []
    every: list[bool] = []
    multi: list[bool] = []
    for line in path.read_text().splitlines()[:most]:
        chat = json.loads(line)
        messages = chat_of(chat["turns"])
        texts = {turn["id"]: message["content"] for turn, message in zip(chat["turns"], messages, strict=True)}
        budget = int(share * counter.total(apis.parse(messages)))
        for question in chat["qa"]:
            evidence = [texts[turn] for turn in question["ev"] if turn in texts]
            if question["cat"] == ADVERSARIAL or not evidence:
                continue
            have = fitted_text(messages, question["q"], budget)
            found = [text in have for text in evidence]
            kept.append(sum(found) / len(found))
            every.append(all(found))
            if question["cat"] == MULTI_HOP:
                multi.append(all(found))
    return {"recall": _mean(kept), "all evidence": _mean(every), "multi-hop all": _mean(multi), "questions": len(kept)}


def qmsum(path: Path, share: float, most: int | None = None) -> dict[str, float]:
    counter = Counter(models.find("gpt-4o"), "openai_chat")
    kept: list[float] = []
    for line in path.read_text().splitlines()[:most]:
        meeting = json.loads(line)
        messages = [{"role": "user", "content": turn or "…"} for turn in meeting["turns"]]
        budget = int(share * counter.total(apis.parse(messages)))
        for query in meeting["queries"]:
            wanted = [n for first, last in query["spans"] for n in range(first, last + 1) if n < len(messages)]
            if not wanted:
                continue
            have = fitted_text(messages, query["q"], budget)
            sizes = [len(messages[n]["content"]) for n in wanted]
            found = [size for n, size in zip(wanted, sizes, strict=True) if messages[n]["content"] in have]
            kept.append(sum(found) / max(1, sum(sizes)))
    return {"spans": _mean(kept), "queries": len(kept)}


def _mean(found: list[Any]) -> float:
    return sum(found) / len(found) if found else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="locomo,qmsum")
    parser.add_argument("--share", default="5,10,25")
    parser.add_argument("--most", type=int, help="so many chats or meetings of each set")
    given = parser.parse_args()
    sets = {"locomo": (locomo, "locomo10_min.jsonl"), "qmsum": (qmsum, "qmsum_test.jsonl")}
    for name in given.only.split(","):
        measure, file = sets[name]
        for share in given.share.split(","):
            found = measure(given.data / file, int(share) / 100, given.most)
            print(f"{name} {share}%  " + "  ".join(f"{key} {value:.3f}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
