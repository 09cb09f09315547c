"""Long conversations: a stream of more than a million tokens turn by turn, and one more turn on 10,000 messages."""

from __future__ import annotations

import bisect
import itertools
import json
import random
import re
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brim
from brim import catalog, wire
from brim.memory.registry import Sessions
from brim.tokens.counter import Counter

FILE = "aider_chat_history.md"
WINDOW = 32_000
_ASKED = re.compile(r"^#### ?(.*)$", re.MULTILINE)


def turns_of(text: str) -> Iterator[tuple[str, str]]:
    """What the user said and what came back, turn by turn."""
    places = list(_ASKED.finditer(text))
    asked: list[str] = []
    for this, following in itertools.zip_longest(places, places[1:]):
        asked.append(this.group(1))
        answer = text[this.end() : following.start() if following else len(text)].strip()
        if answer:
            yield "\n".join(asked).strip() or "…", answer
            asked = []


def replay(path: Path, most: int | None) -> dict[str, float]:
    """The stream in one session that holds it; sizes are counted anew for what is sent."""
    session = brim.Session(model="gpt-4o", budget=WINDOW)
    counter = Counter(catalog.find("gpt-4o"), "openai_chat")
    taken: list[float] = []
    spent: list[float] = []
    tokens = over = turns = 0
    for asked, answered in itertools.islice(turns_of(path.read_text("utf-8", "replace")), most):
        clock, cpu = time.perf_counter(), time.process_time()
        fitted = session.say(asked)
        taken.append(time.perf_counter() - clock)
        spent.append(time.process_time() - cpu)
        over += counter.total(wire.parse(fitted.messages)) > WINDOW
        session.record({"choices": [{"message": {"role": "assistant", "content": answered}}]})
        turns += 1
        tokens += counter.message(session.log[-1]) + counter.message(session.log[-2])
    return {
        "turns": turns,
        "tokens": tokens,
        "over": over,
        "replans": session.replans,
        "slowest ms": 1e3 * max(taken),
        "slowest processor ms": 1e3 * max(spent),
        "median ms": 1e3 * statistics.median(taken),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


class Words:
    """Texts whose words are as unevenly common as those of people."""

    def __init__(self, seed: int = 3) -> None:
        parts = ("ka lo mi ser tan ver dor pel".split(), "na ri to us em ol".split(), "x s ing ed er ly ment".split())
        self._words = ["".join(word) for word in itertools.product(*parts)]
        self._reached = list(itertools.accumulate(1 / (place + 1) for place in range(len(self._words))))
        self._random = random.Random(seed)

    def text(self, words: int = 60) -> str:
        draws = (self._random.random() * self._reached[-1] for _ in range(words))
        said = " ".join(self._words[min(bisect.bisect(self._reached, draw), len(self._words) - 1)] for draw in draws)
        return f"{said} REF-{self._random.randrange(10**6)}"

    def chat(self, messages: int) -> list[dict[str, Any]]:
        return [{"role": ("user", "assistant")[n % 2], "content": self.text()} for n in range(messages)]


def one_more_turn(rounds: int = 40) -> dict[str, float]:
    """`say` on sessions of 1,000 and 10,000 messages, turn about; turns without a re-plan."""
    words = Words()
    sessions = {size: _grown(words, size) for size in (1_000, 10_000)}
    taken: dict[int, list[float]] = {size: [] for size in sessions}
    for _ in range(rounds):
        for size, session in sessions.items():
            said, replans = words.text(), session.replans
            began = time.perf_counter()
            session.say(said)
            spent = time.perf_counter() - began
            if session.replans == replans:
                taken[size].append(spent)
            session.record({"choices": [{"message": {"role": "assistant", "content": words.text()}}]})
    found = {f"say, {size:,} messages, ms": 1e3 * statistics.median(times) for size, times in taken.items()}
    short, long = (statistics.median(times) for times in taken.values())
    return {**found, "longer ÷ shorter": long / short}


def _grown(words: Words, size: int) -> brim.Session:
    session = brim.Session(model="gpt-4o", budget=20_000)
    messages = words.chat(size)
    session.fit(messages)
    for _ in range(20):
        session.say(words.text())
        session.record({"choices": [{"message": {"role": "assistant", "content": words.text()}}]})
    return session


def sent_again(rounds: int = 8) -> dict[str, float]:
    """A client that sends all 10,000 messages with every turn, as bytes and as objects; the best of some rounds."""
    words = Words()
    found: dict[str, float] = {}
    for kind in ("bytes", "objects"):
        sessions = Sessions(budget=WINDOW, model="gpt-4o")
        messages = words.chat(10_001)
        best = float("inf")
        for number in range(rounds):
            body: Any = {"model": "gpt-4o", "messages": messages}
            body = json.dumps(body).encode() if kind == "bytes" else body
            began = time.perf_counter()
            conversation = wire.parse(body, "openai_chat")
            session = sessions.of(conversation)
            replans = session.replans
            session.fit_parsed(body, conversation)
            if number and session.replans == replans:
                best = min(best, time.perf_counter() - began)
            messages = [*messages, *Words(number).chat(2)[::-1]]
        found[f"10,000 messages again as {kind}, ms"] = 1e3 * best
    return found
