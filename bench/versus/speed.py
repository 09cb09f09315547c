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
    """Seconds of one way by size of the chat: of first fits, and of those after them; or why there are none."""

    first: dict[int, list[float]] = field(default_factory=dict)
    again: dict[int, list[float]] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)

    def wanted(self, messages: int) -> bool:
        return messages not in self.problems and max(self.first.get(messages, [0.0])) < TOO_SLOW


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
    """Processor time into a tenth of the tokens: the best of some rounds, in which all take turns.

    The first fit is made in a new process, which has fitted nothing but a short chat before; the next one knows all
    messages but the last. Every fit is a new conversation to the library: what it remembers by content it may use.
    """
    found: dict[Way, Times] = {}
    entered = list(field.entered(tuple(way for way in PLAIN_FITS if way.how != "session")))
    for _, worker in entered:
        worker.patience = PATIENCE
    for number in range(rounds):
        for messages in sizes:
            chat = long_chat(messages)
            budget = size(chat) // 10
            asked = [_asking(chat, chat[1 + number]), _asking(chat, chat[1 + rounds + number])]
            for way, worker in entered if number % 2 else entered[::-1]:
                times = found.setdefault(way, Times())
                if times.wanted(messages):
                    _time(way, worker, asked, budget, times)
    return [{WHO: way.name, **_row(found[way], sizes)} for way, _ in entered]


def _asking(chat: Chat, about: dict[str, Any]) -> Chat:
    """The chat with a question about one of its messages at its end."""
    return [*chat[:-1], {"role": "user", "content": f"And what of {about['content'][:40]}?"}]


def _time(way: Way, worker: Worker, chats: list[Chat], budget: int, times: Times) -> None:
    """Fit two chats in a new process, one after the other."""
    messages = len(chats[0])
    try:
        worker.close()
        worker.open(way.how)
        worker.fit(long_chat(30), 400)  # what is loaded once is not in the time
        for chat, found in zip(chats, (times.first, times.again), strict=True):
            worker.open(way.how)
            found.setdefault(messages, []).append(worker.fit(chat, budget).seconds)
            if not times.wanted(messages):
                break
    except PeerProblem as problem:
        times.problems[messages] = str(problem)


def _row(times: Times, sizes: tuple[int, ...]) -> Row:
    if not times.first:
        return {"problem": next(iter(times.problems.values()), "not asked")}
    row: Row = {}
    best: dict[int, float] = {}
    for messages in sizes:
        first, again = times.first.get(messages, []), times.again.get(messages, [])
        row[f"{messages:,} messages, first, ms"] = _ms(min(first)) if first else times.problems.get(messages, "–")
        row[f"{messages:,} messages, again, ms"] = _ms(min(again)) if again else "–"
        if first:
            best[messages] = min(first + again)
    small, large = sizes[0], sizes[-1]
    row["growth, times"] = best[large] / max(1e-9, best[small]) if {small, large} <= best.keys() else "–"
    return row


def _ms(seconds: float) -> Any:
    return round(seconds * 1e3, 1) if seconds < 1 else round(seconds * 1e3)
