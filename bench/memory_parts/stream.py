"""Long conversations: a stream of more than a million tokens turn by turn, and one more turn on 10,000 messages."""

from __future__ import annotations

import bisect
import itertools
import json
import multiprocessing
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import brim
from brim import apis, models
from brim.sessions.router import SessionRouter
from brim.tokens.counter import Counter

FILE = "aider_chat_history.md"
WINDOW = 32_000
ROUNDS = 3
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


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn took: seconds of the processor, and by the clock."""

    processor: float
    clock: float

    @classmethod
    def of(cls, work: Callable[[], Any]) -> Turn:
        clock, processor = time.perf_counter(), time.process_time()
        work()
        return cls(time.process_time() - processor, time.perf_counter() - clock)

    @classmethod
    def best(cls, turns: Sequence[Turn]) -> Turn:
        """The least of each: what other work on the machine added is not the turn's."""
        return cls(min(turn.processor for turn in turns), min(turn.clock for turn in turns))

    @classmethod
    def median(cls, turns: Sequence[Turn]) -> Turn:
        medians = (statistics.median([getattr(turn, name) for turn in turns]) for name in ("processor", "clock"))
        return cls(*medians)


@dataclass(frozen=True, slots=True)
class Replay:
    """A stream turn by turn in one process."""

    turns: list[Turn]
    tokens: int
    over: int
    compactions: int
    megabytes: float


def replay(path: Path, most: int | None) -> Replay:
    """The stream in one session that holds it; a turn is what is said and the answer that is recorded.

    Sizes are counted anew for what is sent.
    """
    session = brim.Session(model="gpt-4o", budget=WINDOW)
    counter = Counter(models.find("gpt-4o"), "openai_chat")
    turns: list[Turn] = []
    tokens = over = 0
    for asked, answered in itertools.islice(turns_of(path.read_text("utf-8", "replace")), most):
        sent: list[brim.Fitted] = []

        def turn(asked: str = asked, answered: str = answered, sent: list[brim.Fitted] = sent) -> None:
            sent.append(session.say(asked))
            session.record({"choices": [{"message": {"role": "assistant", "content": answered}}]})

        turns.append(Turn.of(turn))
        over += counter.total(apis.parse(sent[0].messages)) > WINDOW
        tokens += counter.message(session.log[-1]) + counter.message(session.log[-2])
    return Replay(turns, tokens, over, session.compactions, _peak())


def _peak() -> float:
    """The most megabytes that this process has held; what `getrusage` says is of the process that started it too."""
    held = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(held[1]) / 1024 if held else 0.0


def replays(path: Path, most: int | None, rounds: int = ROUNDS) -> list[Replay]:
    """The same in some processes one after the other, so that none finds what another has computed."""
    found: list[Replay] = []
    for _ in range(rounds):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            found.append(pool.submit(replay, path, most).result())
    return found


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


def one_more_turn(rounds: int = 40) -> dict[int, Turn]:
    """`say` on sessions of 1,000 and 10,000 messages, turn about; the median of turns without a compaction."""
    words = Words()
    sessions = {size: _grown(words, size) for size in (1_000, 10_000)}
    taken: dict[int, list[Turn]] = {size: [] for size in sessions}
    for _ in range(rounds):
        for size, session in sessions.items():
            compactions, turn = session.compactions, Turn.of(partial(session.say, words.text()))
            if session.compactions == compactions:
                taken[size].append(turn)
            session.record({"choices": [{"message": {"role": "assistant", "content": words.text()}}]})
    return {size: Turn.median(turns) for size, turns in taken.items()}


def _grown(words: Words, size: int) -> brim.Session:
    session = brim.Session(model="gpt-4o", budget=20_000)
    messages = words.chat(size)
    session.fit(messages)
    for _ in range(20):
        session.say(words.text())
        session.record({"choices": [{"message": {"role": "assistant", "content": words.text()}}]})
    return session


def sent_again(rounds: int = 8) -> dict[str, Turn]:
    """A client that sends all 10,000 messages with every turn, as bytes and as objects; the best of some rounds."""
    found: dict[str, Turn] = {}
    for kind in ("bytes", "objects"):
        sessions = SessionRouter(budget=WINDOW, model="gpt-4o")
        messages = Words().chat(10_001)
        taken: list[Turn] = []
        for number in range(rounds):
            body: Any = {"model": "gpt-4o", "messages": messages}
            compactions, turn = _sent(sessions, json.dumps(body).encode() if kind == "bytes" else body)
            if number and not compactions:
                taken.append(turn)
            messages = [*messages, *Words(number).chat(2)[::-1]]
        found[kind] = Turn.best(taken)
    return found


def _sent(sessions: SessionRouter, body: Any) -> tuple[int, Turn]:
    """How many compactions a request caused, and what it took."""
    compactions = 0

    def request() -> None:
        nonlocal compactions
        conversation = apis.parse(body, "openai_chat")
        session = sessions.of(conversation)
        before = session.compactions
        session.fit_parsed(body, conversation)
        compactions = session.compactions - before

    turn = Turn.of(request)
    return compactions, turn
