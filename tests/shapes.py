"""Six ordinary shapes of request that are far larger than a small window, made the same each time."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache
from typing import Any

SYSTEM = "You are the operations assistant of a parcel service. Check facts with the tools and cite identifiers."
NOUNS = "parcel depot driver invoice route customer label scanner sorter manifest pallet claim refund carrier".split()
VERBS = "arrived left waited failed moved matched closed opened broke returned".split()
PLACES = "Berlin Oslo Porto Riga Turin Lyon Ghent Malmö Split Brno".split()
CJK = "荷物 配達 遅延 倉庫 住所 確認 返金 顧客 連絡 到着 出荷 請求 番号 更新 明日 问题 已经 处理 我们 需要".split()
Turn = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """A conversation in neutral turns (see conversations.py), its system text and the instruction to be followed."""

    turns: list[Turn]
    instruction: str
    system: str = SYSTEM


def sentence(rnd: random.Random) -> str:
    noun, verb, place = rnd.choice(NOUNS), rnd.choice(VERBS), rnd.choice(PLACES)
    number, hour, minute = rnd.randrange(10_000, 99_999), rnd.randrange(24), rnd.randrange(60)
    return f"The {noun} {number} {verb} in {place} at {hour:02}:{minute:02}."


def prose(rnd: random.Random, sentences: int) -> str:
    return " ".join(sentence(rnd) for _ in range(sentences))


def records(rnd: random.Random, rows: int) -> str:
    return json.dumps(
        [
            {
                "parcel_id": f"PX-{rnd.randrange(10**6):06}",
                "depot": rnd.choice(PLACES),
                "weight": round(rnd.uniform(0.1, 30), 2),
                "state": rnd.choice(VERBS),
                "note": sentence(rnd),
            }
            for _ in range(rows)
        ]
    )


def log(rnd: random.Random, lines: int) -> str:
    levels = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
    return "\n".join(
        f"2026-03-{1 + n % 28:02}T12:{n % 60:02}:07 {rnd.choice(levels)} sorter-{n % 9}: {sentence(rnd)}"
        for n in range(lines)
    )


def user(text: str) -> Turn:
    return {"kind": "user", "text": text, "image": False}


def assistant(text: str) -> Turn:
    return {"kind": "assistant", "text": text, "image": False}


def step(*calls: Turn) -> Turn:
    return {"kind": "step", "text": None, "calls": list(calls), "thinking": False}


def call(name: str, arguments: dict[str, Any], result: str) -> Turn:
    return {"id": f"call_{name}", "name": "search", "args": arguments, "result": result}


def tool_chat() -> Shape:
    """Forty turns with a tool result each: 144,000 tokens."""
    rnd = random.Random(1)
    turns: list[Turn] = []
    for n in range(40):
        turns.append(user(f"Question {n}: {prose(rnd, 2)} What is its state?"))
        result = records(rnd, 70) if n % 2 else log(rnd, 100)
        turns.append(step(call(f"chat_{n}", {"query": sentence(rnd), "limit": n}, result)))
        turns.append(assistant(f"Answer {n}: {prose(rnd, 9)}"))
    return Shape([*turns, user(instruction := "List every parcel that is still waiting in Riga.")], instruction)


def tool_loop() -> Shape:
    """One user message and thirty calls after it."""
    rnd = random.Random(2)
    instruction = "Find out why parcels to Porto are late and write a short report with the identifiers."
    calls = [step(call(f"loop_{n}", {"query": sentence(rnd)}, records(rnd, 25))) for n in range(30)]
    return Shape([user(instruction), *calls], instruction)


def large_message() -> Shape:
    """The last message holds a pasted log that is several times the window."""
    rnd = random.Random(3)
    instruction = "Tell me which sorter fails most often in this log, and when it began."
    turns = [user("Hello."), assistant("Good morning, what can I do?")]
    return Shape([*turns, user(f"{instruction}\n```\n{log(rnd, 900)}\n```")], instruction)


def large_arguments() -> Shape:
    """Calls that write whole files: their arguments are larger than the window."""
    rnd = random.Random(4)
    instruction = "Write the weekly reports of all depots, then check them."
    calls = [
        step(call(f"file_{n}", {"path": f"reports/{place}.md", "content": prose(rnd, 500)}, "written"))
        for n, place in enumerate(PLACES[:4])
    ]
    return Shape([user(instruction), *calls], instruction)


def cjk_chat() -> Shape:
    rnd = random.Random(5)
    turns: list[Turn] = []
    for n in range(60):
        turns.append(user(f"{n}番: " + "、".join(rnd.choices(CJK, k=60)) + "ですか？"))
        turns.append(assistant("".join(rnd.choices(CJK, k=200)) + "。"))
    return Shape([*turns, user(instruction := "リガ倉庫でまだ待っている荷物をすべて挙げてください。")], instruction)


def parallel_calls() -> Shape:
    rnd = random.Random(6)
    instruction = "Compare the depots: which has the most failures?"
    steps = [
        step(*(call(f"par_{n}_{k}", {"depot": place}, records(rnd, 15)) for k, place in enumerate(PLACES[:8])))
        for n in range(5)
    ]
    return Shape([user(instruction), *steps], instruction)


@cache
def shapes() -> dict[str, Shape]:
    return {
        "tool chat of 40 turns": tool_chat(),
        "one message and 30 calls": tool_loop(),
        "oversized last message": large_message(),
        "oversized call arguments": large_arguments(),
        "CJK chat": cjk_chat(),
        "parallel calls": parallel_calls(),
    }
