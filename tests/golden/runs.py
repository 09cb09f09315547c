"""Neutral conversations, in the form that tests/conversations.py writes for every API."""

from __future__ import annotations

import random
from typing import Any

from tests.golden import contents
from tests.golden.contents import NAMES, TOPICS, sentence

Turn = dict[str, Any]
SYSTEM = "You are a careful assistant. Never delete anything. Answer in one paragraph and name your sources."
TOOL_OF = {"source": "read_file", "diff": "run", "tests": "run", "log": "run", "page": "fetch", "listing": "run"}


def user(text: str, image: bool = False) -> Turn:
    return {"kind": "user", "text": text, "image": image}


def step(rng: random.Random, number: int, kinds: list[str]) -> Turn:
    calls = []
    for place in range(rng.choice([1, 1, 1, 2])):
        kind = rng.choice(kinds)
        args = {"path": f"src/{rng.choice(TOPICS)}.py", "limit": rng.randrange(100)}
        if rng.random() < 0.3:
            args = {"query": sentence(rng, 8), "content": contents.prose(rng) if rng.random() < 0.2 else ""}
        calls.append(
            {
                "id": f"call_{number}_{place}",
                "name": TOOL_OF.get(kind, "search"),
                "args": args,
                "result": contents.KINDS[kind](rng),
            }
        )
    said = sentence(rng) if rng.random() < 0.6 else None
    return {"kind": "step", "text": said, "calls": calls, "thinking": rng.random() < 0.3}


def agent(seed: int, steps: int, kinds: list[str]) -> list[Turn]:
    """A request, steps, now and then an answer and another request; it ends where a model must answer."""
    rng = random.Random(seed)
    turns = [user(f"Find out why {rng.choice(TOPICS)} fails for {rng.choice(NAMES)}. {sentence(rng)}", image=True)]
    for number in range(steps):
        turns.append(step(rng, number, kinds))
        if number % 9 == 8 and number < steps - 1:
            turns += [
                {"kind": "assistant", "text": f"{sentence(rng)} {sentence(rng)}", "image": False},
                user(f"Now look at {rng.choice(TOPICS)}-{rng.randrange(1000, 9999)}. {sentence(rng)}"),
            ]
    return turns


def chat(seed: int, turns: int, *, pasted: bool) -> list[Turn]:
    rng = random.Random(seed)
    found: list[Turn] = []
    for number in range(turns):
        text = f"{rng.choice(NAMES).title()} asks about {rng.choice(TOPICS)}: {sentence(rng)}"
        if pasted and number % 5 == 2:
            text += "\n```\n" + contents.KINDS[rng.choice(sorted(contents.KINDS))](rng) + "\n```\nWhat does it say?"
        found.append(user(text))
        if number < turns - 1:
            answer = " ".join(sentence(rng) for _ in range(rng.randrange(1, 12)))
            found.append({"kind": "assistant", "text": answer, "image": False})
    return found


CODING = ["source", "source", "diff", "tests", "log", "listing", "trace"]
RUNS: dict[str, list[Turn]] = {
    "agent": agent(1, 24, sorted(contents.KINDS)),
    "agent, long": agent(2, 60, ["rows", "nested", "table", "log", "page", "document", "snapshot"]),
    "coding": agent(3, 30, CODING),
    "chat": chat(4, 40, pasted=False),
    "chat, long": chat(5, 400, pasted=False),
    "chat with pastes": chat(6, 25, pasted=True),
}
