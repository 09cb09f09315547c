"""Questions about long chats that `score.py` judges by how likely the recorded answer is (M8b).

    python bench/judge/answers.py --data DIR --set locomo [--budget 2000] [--every 10] [--half even] > answers.jsonl
    python bench/judge/score.py answers.jsonl

`none` is the question alone, `last` the newest messages that fit. `full` stands for the whole chat, which the judge
cannot read: the messages that answer it among others of the chat, drawn at random, up to the budget. Chats with odd
numbers are for tuning, even ones for reporting.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steps import MODEL, prompt, size

import brim

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from retained import ADVERSARIAL, chat_of

SETS = {"locomo": "locomo10_min.jsonl", "beam": "beam_100k.jsonl"}
# Evidence that takes more than this share of the budget leaves no room to hide it in.
EVIDENCE = 0.7
Messages = list[dict[str, str]]


def questions(chat: dict[str, Any]) -> Iterator[tuple[Messages, str, list[int], str]]:
    """Of a chat of either set its messages, and each question with the numbers that answer it, and its answer."""
    messages = chat["messages"] if "messages" in chat else chat_of(chat["turns"])
    places = {turn["id"]: number for number, turn in enumerate(chat.get("turns", ()))}
    for asked in chat["qa"]:
        numbers = [places[turn] if places else turn for turn in asked["ev"] if not places or turn in places]
        if asked.get("cat") != ADVERSARIAL and numbers and asked.get("a"):
            yield messages, asked["q"], [number for number in numbers if number < len(messages)], str(asked["a"])


def among_others(messages: Messages, evidence: list[int], budget: int) -> Messages | None:
    """The evidence among random messages, in order; None where it takes too much of the budget."""
    left = budget - size([messages[number] for number in evidence])
    if left < (1 - EVIDENCE) * budget:
        return None
    kept, others = set(evidence), [number for number in range(len(messages)) if number not in evidence]
    random.Random(len(messages)).shuffle(others)
    for number in others:
        needed = size([messages[number]])
        if needed <= left:
            kept.add(number)
            left -= needed
    return [messages[number] for number in sorted(kept)]


def newest(messages: Messages, budget: int) -> Messages:
    kept: Messages = []
    for message in reversed(messages):
        budget -= size([message])
        if budget < 0:
            break
        kept.insert(0, message)
    return kept


def rows(data: Path, name: str, budget: int, every: int, half: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate((data / SETS[name]).read_text().splitlines(), 1):
        if (number % 2 == 1) != (half == "odd"):
            continue
        for place, found in list(enumerate(questions(json.loads(line))))[::every]:
            messages, question, evidence, answer = found
            asked = [{"role": "user", "content": question}]
            left = budget - size(asked)
            shown = among_others(messages, evidence, left)
            if shown is None:
                continue
            fitted = brim.fit([*messages, *asked], model=MODEL, budget=budget, fit_timeout=None)
            ways = {
                "none": asked,
                "full": [*shown, *asked],
                "last": [*newest(messages, left), *asked],
                "fit": list(fitted.messages),
            }
            made = {way: prompt(given) for way, given in ways.items()}
            row = {"set": name, "share": budget, "run": number, "end": place, "kind": "answer"}
            yield {**row, "cont": answer, "ctx": made}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", choices=sorted(SETS), required=True)
    parser.add_argument("--budget", type=int, default=2_000)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--half", choices=("odd", "even"), default="even")
    given = parser.parse_args()
    for row in rows(given.data, given.set, given.budget, given.every, given.half):
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
