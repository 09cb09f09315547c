"""Chats: is what answers a question still in the request, and does a search find it?

    python bench/chats.py --data DIR [--only locomo,qmsum,…] [--half odd|even] [--every N]

Chats with odd line numbers are for tuning, even ones for reporting; both are printed. `--every 3` asks every third
question.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from retained import ADVERSARIAL, MULTI_HOP, chat_of

import brim

MODEL = "gpt-4o"
SHARES = (5, 10, 25)
BUDGETS = (4_000, 8_000, 32_000)
# Of a search so many messages are looked at for the first ten sessions.
HITS, SESSIONS = 400, 10
Messages = list[dict[str, str]]
Row = tuple[str, float, int]


class Means:
    """Means by name."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        self.found.setdefault(name, []).append(float(value))

    def rows(self, head: str) -> Iterator[Row]:
        for name, values in self.found.items():
            yield f"{head} {name}", sum(values) / len(values), len(values)


def tokens(messages: Messages) -> int:
    return brim.count(messages, model=MODEL).tokens


def asked(messages: Messages, question: str) -> Messages:
    return [*messages, {"role": "user", "content": question}]


def sent_for(messages: Messages, question: str, budget: int) -> set[str]:
    sent = brim.fit(asked(messages, question), model=MODEL, budget=budget, fit_timeout=None).messages
    assert tokens(sent) <= budget
    return {message["content"] for message in sent}


def locomo(chats: list[dict[str, Any]], every: int) -> Iterator[Row]:
    for share in SHARES:
        means = Means()
        for chat in chats:
            messages = chat_of(chat["turns"])
            texts = {turn["id"]: message["content"] for turn, message in zip(chat["turns"], messages, strict=True)}
            budget = share * tokens(messages) // 100
            for question in answerable(chat, texts)[::every]:
                have = sent_for(messages, question["q"], budget)
                found = [texts[turn] in have for turn in question["ev"] if turn in texts]
                means.add("evidence", sum(found) / len(found))
                if question["cat"] == MULTI_HOP:
                    means.add("multi-hop, all of it", all(found))
        yield from means.rows(f"LoCoMo at {share}%:")


def answerable(chat: dict[str, Any], texts: dict[str, str]) -> list[dict[str, Any]]:
    """The questions whose evidence stands in the chat."""
    return [each for each in chat["qa"] if each["cat"] != ADVERSARIAL and any(turn in texts for turn in each["ev"])]


def qmsum(meetings: list[dict[str, Any]], every: int) -> Iterator[Row]:
    for share in SHARES:
        means = Means()
        for meeting in meetings:
            messages = [{"role": "user", "content": turn or "…"} for turn in meeting["turns"]]
            budget = share * tokens(messages) // 100
            for query in meeting["queries"][::every]:
                wanted = [n for first, last in query["spans"] for n in range(first, last + 1) if n < len(messages)]
                if wanted:
                    have = sent_for(messages, query["q"], budget)
                    sizes = {n: len(messages[n]["content"]) for n in wanted}
                    kept = sum(size for n, size in sizes.items() if messages[n]["content"] in have)
                    means.add("spans", kept / max(1, sum(sizes.values())))
        yield from means.rows(f"QMSum at {share}%:")


def judge(means: Means, messages: Messages, evidence: list[int], have: Callable[[str], bool]) -> None:
    """What of a question's evidence is there, all of it, and of that which the assistant said."""
    found = {n: have(messages[n]["content"]) for n in evidence if n < len(messages)}
    if found:
        means.add("evidence", sum(found.values()) / len(found))
        means.add("all of a question", all(found.values()))
    for n, there in found.items():
        if messages[n]["role"] == "assistant":
            means.add("evidence in an assistant's turn", there)


def beam(chats: list[dict[str, Any]], every: int) -> Iterator[Row]:
    for budget in BUDGETS:
        means = Means()
        for chat in chats:
            for question in chat["qa"][::every]:
                have = sent_for(chat["messages"], question["q"], budget)
                judge(means, chat["messages"], question["ev"], have.__contains__)
        yield from means.rows(f"BEAM at {budget}:")


def beam_joined(chats: list[dict[str, Any]], every: int) -> Iterator[Row]:
    """The same at 8,000 tokens with all chats as one, the questions of a half."""
    means, messages = Means(), [message for chat in chats for message in chat["messages"]]
    start = 0
    for chat in chats:
        for question in chat["qa"][::every]:
            have = sent_for(messages, question["q"], BUDGETS[1])
            judge(means, messages, [start + number for number in question["ev"]], have.__contains__)
        start += len(chat["messages"])
    yield from means.rows(f"BEAM, {len(chats)} chats as one, at {BUDGETS[1]}:")


def beam_session(chats: list[dict[str, Any]], every: int) -> Iterator[Row]:
    """The same with a session at 8,000 tokens, which is given the history at once, or has followed it turn by turn."""
    budget = BUDGETS[1]
    at_once, followed = Means(), Means()
    for chat in chats:
        messages = chat["messages"]
        session = brim.Session(model=MODEL, budget=budget, fit_timeout=None)
        for end, message in enumerate(messages, 1):
            if message["role"] == "user":
                session.fit(messages[:end])
        session.fit(messages)
        for question in chat["qa"][::every]:
            request = asked(messages, question["q"])
            ways = (
                (at_once, brim.Session(model=MODEL, budget=budget, fit_timeout=None)),
                (followed, session.fork(len(messages))),
            )
            for means, one in ways:
                sent = one.fit(request).messages
                assert tokens(sent) <= budget
                judge(means, messages, question["ev"], "\n".join(each["content"] for each in sent[:-1]).__contains__)
    yield from at_once.rows(f"BEAM session at {budget}, history at once:")
    yield from followed.rows(f"BEAM session at {budget}, turn by turn:")


def sessions(chats: list[dict[str, Any]], every: int) -> Iterator[Row]:
    """Whether the first ten of a chat's sessions that `session.search` comes upon hold the evidence."""
    means = Means()
    for chat in chats:
        held = brim.Session(model=MODEL, budget=100_000, fit_timeout=None)
        messages = chat_of(chat["turns"])
        held.fit(messages)
        of_turn = {turn["id"]: turn["session"] for turn in chat["turns"]}
        for question in answerable(chat, of_turn)[::every]:
            hits = [chat["turns"][number]["session"] for number, _ in held.search(question["q"], HITS)]
            first = list(dict.fromkeys(hits))[:SESSIONS]
            found = [of_turn[turn] in first for turn in question["ev"] if turn in of_turn]
            means.add("any", any(found))
            means.add("all", all(found))
    yield from means.rows("LoCoMo sessions, R@10:")


WHATS = (
    "delayed at the depot",
    "sent back by the customer",
    "packed in two boxes",
    "paid by invoice",
    "lost in transit",
)


def log_lines(draw: random.Random, count: int, names: list[str]) -> list[str]:
    return [
        f"2026-03-{draw.randint(1, 28):02} {draw.randint(0, 23):02}:{draw.randint(0, 59):02} INFO order {name} "
        f"{draw.choice(WHATS)}, carrier {draw.choice(('Alpha', 'Beta', 'Gamma'))}, weight {draw.randint(1, 40)} kg"
        for name in names[:count]
    ]


def search(_: list[dict[str, Any]], every: int) -> Iterator[Row]:
    """Whether the log that has the identifier is first, among others and questions about other orders."""
    for lines in (1, 10, 50):
        draw, means = random.Random(lines), Means()
        names = [f"ORD-{number}" for number in draw.sample(range(100_000, 999_999), 200 * lines)]
        messages: Messages = []
        for number in range(200):
            other = draw.choice(names)
            messages.append({"role": "user", "content": f"Show me the log. And why was order {other} delayed?"})
            text = "\n".join(log_lines(draw, lines, names[number * lines :]))
            messages.append({"role": "assistant", "content": text})
        held = brim.Session(model=MODEL, budget=100_000, fit_timeout=None)
        held.fit(messages)
        for number in range(0, 200, 2):
            name = names[number * lines + draw.randrange(lines)]
            found = held.search(f"why was order {name} delayed?", 5)
            means.add("first", bool(found) and found[0][0] == 2 * number + 1)
        yield from means.rows(f"search for an identifier, logs of {lines} lines:")


PARTS: dict[str, tuple[str, Callable[[list[dict[str, Any]], int], Iterator[Row]]]] = {
    "locomo": ("locomo10_min.jsonl", locomo),
    "qmsum": ("qmsum_test.jsonl", qmsum),
    "beam": ("beam_100k.jsonl", beam),
    "beam-joined": ("beam_100k.jsonl", beam_joined),
    "beam-session": ("beam_100k.jsonl", beam_session),
    "sessions": ("locomo10_min.jsonl", sessions),
    "search": ("", search),
}


# Parts that need the chats of both halves, with the questions of one.
JOINED = {"beam-joined"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--half", choices=("odd", "even"))
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    for name in given.only.split(","):
        file, measure = PARTS[name]
        lines = (given.data / file).read_text().splitlines() if file else []
        for half in [given.half] if given.half else ["odd", "even"]:
            kind = "tuned" if half == "odd" else "untouched"
            chats = [json.loads(line) for line in lines]
            chosen = chats[half == "even" :: 2]
            if name in JOINED:
                chosen = [chat if chat in chosen else {**chat, "qa": []} for chat in chats]
            for what, value, count in measure(chosen, given.every):
                print(f"{kind:10} {what:60} {value:.3f}  ({count})", flush=True)


if __name__ == "__main__":
    main()
