"""Summaries by a model: any async callable, or an endpoint. Requests don't wait for it by default.

A block larger than the model's own window is summarised in pieces, whose summaries are then summarised together, so
that a call can never overflow. A budget in tokens and money limits the calls. If a call fails, or its summary is
rejected, the summary without a model is used.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.conversation import Message
from brim.count_text import CountText
from brim.errors import BadSetting
from brim.models.model import Prices
from brim.summaries.verify import verified
from brim.tokens.tokenizers import tokenizer

log = logging.getLogger("brim")
# Takes a system text, a user text and the most tokens of the answer; returns the answer. May raise.
Ask = Callable[[str, str, int], Awaitable[str]]
INSTRUCTION = (
    "Summarize the conversation so far for an assistant. Keep key facts, constraints, decisions, action items, and "
    "unresolved questions. Be concise. Do not invent details."
)
PREVIOUS = "Previous summary: "
SPEAKER = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System"}
# The overhead of a request beside its texts, and the smallest answer worth requesting.
FRAME, LEAST = 32, 64
# The most rounds of summaries of summaries; each round shrinks the text, so these are enough for any block.
ROUNDS = 6
# The numeric settings, with their types and minimums.
NUMBERS: tuple[tuple[str, Any, int], ...] = (
    ("window", int, 1),
    ("timeout", (int, float), 0),
    ("retries", int, 0),
    ("max_tokens", int, 0),
    ("max_cost", (int, float), 0),
    ("block_chars", int, 1),
)
MAY_BE_NONE = ("max_tokens", "max_cost", "block_chars")
# Seconds before the first retry of a call; each later wait is twice as long.
WAIT = 0.5


@dataclass(slots=True)
class LlmSummarizer:
    """Summarises messages by asking a model.

    `window` is the most input tokens of one call; `max_tokens` and `max_cost` (USD, needs `prices`) limit all calls
    together. Blocks of more than `block_chars` characters are summarised in parts even if they fit. `style` is added
    to the prompt, such as "Write bullets in German." With `wait`, a request that needs a summary waits for it;
    otherwise, it is sent with the summary available. `fit` is called last to shorten one call's text to the
    window; `warn` is called with errors.

    Example: LlmSummarizer(ask, window=16_000, max_tokens=200_000)
    """

    ask: Ask
    window: int = 8_000
    count: CountText = field(default_factory=lambda: tokenizer("o200k"))
    timeout: float = 60.0
    retries: int = 2
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None
    block_chars: int | None = None
    style: str = ""
    wait: bool = False
    warn: Callable[[str], None] = log.warning
    fit: Callable[[str, str, int], str] | None = None
    spent: int = 0
    cost: float = 0.0

    def __post_init__(self) -> None:
        if not callable(self.ask):
            raise BadSetting("summarizer.ask", f"must be an async function, not {self.ask!r}")
        for name, kinds, least in NUMBERS:
            value = getattr(self, name)
            if value is None and name in MAY_BE_NONE:
                continue
            if not isinstance(value, kinds) or isinstance(value, bool) or not value >= least:
                wanted = "a whole number" if kinds is int else "a number"
                raise BadSetting(f"summarizer.{name}", f"must be {wanted} of at least {least}, not {value!r}")
        if self.window < 4 * LEAST + FRAME + self.count(INSTRUCTION):
            raise BadSetting("summarizer.window", f"{self.window} tokens are too few to summarise anything in")
        if self.max_cost is not None and self.prices is None:
            raise BadSetting("summarizer.max_cost", "needs the prices of the model")

    async def summarize(self, messages: Sequence[Message], previous: str, tokens: int) -> str | None:
        """A verified summary of at most about `tokens` tokens; None if it was rejected or a call failed."""
        size = max(LEAST, min(tokens, self.window // 4))
        text = await self._reduced(_transcript(messages), previous, size)
        if text is None:
            return None
        found = verified(text, messages, self.count, previous)
        if found is None:
            self.warn("a summary was refused: it is empty, or no smaller than what it stands for")
        return found

    async def _reduced(self, text: str, previous: str, size: int) -> str | None:
        """Map and reduce: summarise pieces that fit the window, then their summaries, until one call takes all."""
        for _ in range(ROUNDS):
            pieces = list(self._pieces(text, previous, size))
            if len(pieces) == 1:
                return await self._asked(pieces[0], previous, size)
            share = max(LEAST, min(size, self.window // (2 * len(pieces))))
            done: list[str] = []
            for piece in pieces:
                part = await self._asked(piece, "", share)
                if not part:
                    return None
                if self.count(part) >= self.count(piece):  # rounds would never finish with such parts
                    self.warn("a summary was refused: a part of it is no smaller than what it stands for")
                    return None
                done.append(part)
            text = "\n".join(done)
        return None

    def _pieces(self, text: str, previous: str, size: int) -> Iterator[str]:
        """Split the text into pieces that fit one call, between lines if possible."""
        room = self.window - FRAME - self.count(f"{INSTRUCTION} {self.style}") - self.count(PREVIOUS + previous) - size
        room = max(LEAST, room)
        start = 0
        while start < len(text):
            end = self._end(text, start, room)
            yield text[start:end]
            start = end

    def _end(self, text: str, start: int, room: int) -> int:
        """The end of the longest piece from `start` that takes at most `room` tokens."""
        length = min(len(text) - start, room * 6, self.block_chars or len(text))
        while length > 1 and self.count(text[start : start + length]) > room:
            length = max(1, length * 3 // 4)
        if start + length < len(text):
            line = text.rfind("\n", start + length // 2, start + length)
            if line > start:
                return line + 1
        return start + length

    async def _asked(self, text: str, previous: str, size: int) -> str | None:
        """One call with retries; None if it failed or the budget is spent."""
        said = f"{PREVIOUS}{previous}\n\n{text}" if previous else text
        system = f"{INSTRUCTION} {self.style}".strip()
        if self.fit is not None:
            said = self.fit(system, said, self.window)
        asked = FRAME + self.count(system) + self.count(said)
        for attempt in range(self.retries + 1):
            if not self._may_spend(asked, size):
                self.warn("the budget for summaries is spent: summaries without a model stand in")
                return None
            self._spend(asked, 0)
            try:
                answer = await asyncio.wait_for(self.ask(system, said, size), self.timeout)
            except Exception as problem:  # the caller's own code, or the model behind it, may raise anything
                self.warn(f"a summary failed ({type(problem).__name__}: {problem})")
                if attempt < self.retries:
                    await asyncio.sleep(WAIT * 2**attempt)
                continue
            if not isinstance(answer, str):
                self.warn(f"a summary was refused: it is no text but {type(answer).__name__}")
                return None
            self._spend(0, self.count(answer))
            if answer.strip():
                return answer
        return None

    def _may_spend(self, asked: int, size: int) -> bool:
        if self.max_tokens is not None and self.spent + asked + size > self.max_tokens:
            return False
        if self.max_cost is None or self.prices is None:
            return True
        return self.cost + self.prices.cost(fresh=asked, output=size) <= self.max_cost

    def _spend(self, asked: int, answered: int) -> None:
        self.spent += asked + answered
        if self.prices is not None:
            self.cost += self.prices.cost(fresh=asked, output=answered)


def _transcript(messages: Sequence[Message]) -> str:
    """Messages as lines. Example: "User: hi\\nAssistant: hello" """
    lines = []
    for message in messages:
        calls = [f"calls {part.name}({part.text})" for part in message.parts if part.kind == "call"]
        texts = [part.text for part in message.parts if part.text and part.kind not in ("call", "thinking")]
        said = "\n".join([*texts, *calls])
        if said:
            lines.append(f"{SPEAKER[message.role]}: {said}")
    return "\n".join(lines)
