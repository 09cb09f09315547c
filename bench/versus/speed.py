"""How long a long chat takes to fit, and how that grows: Brim and the others take turns."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from peer import PeerProblem, Worker

from versus.requests import Chat, size
from versus.ways import PLAIN_FITS, WHO, Field, Row, Way

SIZES = (1_000, 10_000)
TOO_SLOW = 5.0  # seconds: once is enough
PATIENCE = 60.0  # seconds of processor time


@dataclass
class Times:
    """Seconds of one way by size of the chat: of the first fit, and of those after it; or why there are none."""

    first: dict[int, float] = field(default_factory=dict)
    again: dict[int, list[float]] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)

    def add(self, messages: int, seconds: float) -> None:
        if messages in self.first:
            self.again.setdefault(messages, []).append(seconds)
        else:
            self.first[messages] = seconds

    def wanted(self, messages: int) -> bool:
        return messages not in self.problems and self.first.get(messages, 0.0) < TOO_SLOW


def long_chat(messages: int) -> Chat:
    """A chat of about 100 tokens a message, words as skewed as in language."""
    rnd = random.Random(messages)
    letters = "etaoinsrhldcumfpgwyb"
    words = ["".join(rnd.choices(letters, k=rnd.randint(2, 8))) for _ in range(8_000)]
    weights = [1 / (rank + 8) for rank in range(len(words))]
    made = [
        {"role": ("user", "assistant")[n % 2], "content": " ".join(rnd.choices(words, weights, k=42))}
        for n in range(messages - 1)
    ]
    return [{"role": "system", "content": "Be brief."}, *made[: messages - 2], {"role": "user", "content": "And now?"}]


def table(field: Field, rounds: int, sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """Processor time into a tenth of the tokens; the first fit counts every message, later ones know all but the last.

    Every fit is a new conversation to the library: what it remembers by content it may use.
    """
    found: dict[Way, Times] = {}
    entered = list(field.entered(tuple(way for way in PLAIN_FITS if way.how != "session")))
    for _, worker in entered:
        worker.patience = PATIENCE
    for number in range(rounds + 1):
        for messages in sizes:
            chat = long_chat(messages)
            budget = size(chat) // 10
            chat[-1] = {"role": "user", "content": f"And what of {chat[number + 1]['content'][:40]}?"}
            for way, worker in entered if number % 2 else entered[::-1]:
                times = found.setdefault(way, Times())
                if times.wanted(messages):
                    _timed(way, worker, chat, budget, times)
    return [{WHO: way.name, **_row(found[way], sizes)} for way, _ in entered]


def _timed(way: Way, worker: Worker, chat: Chat, budget: int, times: Times) -> None:
    try:
        if not times.first:  # what is loaded once is not in the time
            worker.open(way.how)
            worker.fit(long_chat(30), 400)
        worker.open(way.how)
        times.add(len(chat), worker.fit(chat, budget).seconds)
    except PeerProblem as problem:
        times.problems[len(chat)] = str(problem)


def _row(times: Times, sizes: tuple[int, ...]) -> Row:
    if not times.first:
        return {"problem": next(iter(times.problems.values()), "not asked")}
    best = {messages: min([*times.again.get(messages, ()), seconds]) for messages, seconds in times.first.items()}
    row: Row = {}
    for messages in sizes:
        first = times.first.get(messages)
        row[f"{messages:,} messages, first, ms"] = times.problems.get(messages, "–") if first is None else _ms(first)
        row[f"{messages:,} messages, again, ms"] = _ms(best[messages]) if messages in times.again else "–"
    small, large = sizes[0], sizes[-1]
    row["growth, times"] = best[large] / max(1e-9, best[small]) if {small, large} <= best.keys() else "–"
    return row


def _ms(seconds: float) -> Any:
    return round(seconds * 1e3, 1) if seconds < 1 else round(seconds * 1e3)
