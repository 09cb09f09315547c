"""Summaries that a request waits for, if the summariser asks for that (`wait`).

Planning has a time limit and never waits for a model. So the summaries it needs are noted, the plan is abandoned, the
model is asked, and planning is repeated with the answers.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from brim.conversation import Message
from brim.sized_lru import SizedLru
from brim.summaries.deterministic import clip

log = logging.getLogger("brim")
# Plans to abandon per request: for the parts of a block, for their summary, and for content that the summary's size
# then pushes out. After that, the summary without a model is used.
ROUNDS = 3
# Characters of answers to cache, because every request of a conversation needs the same ones.
KEPT = 1 << 20


class Summarizer(Protocol):
    """Creates summaries: a `LlmSummarizer`, or any callable with the same signature.

    If its attribute `wait` is true, a request that needs a summary waits for it.
    """

    async def summarize(self, messages: Sequence[Message], previous: str, tokens: int) -> str | None: ...


class SummaryWanted(Exception):
    """A plan was abandoned because it needs summaries: await `made()` and plan again."""

    def __init__(self, made: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__("a summary is waited for")
        self.made = made


SummaryKey = tuple[tuple[bytes, ...], str]
SummaryRequest = tuple[Sequence[Message], str, int]


class AwaitedSummaries:
    """Answers a policy's requests for summaries from those already made, and notes missing ones in `wanted`."""

    def __init__(self, summarizer: Summarizer) -> None:
        self.summarizer = summarizer
        self.wanted: dict[SummaryKey, SummaryRequest] = {}
        self.rounds = 0
        self._made: SizedLru[SummaryKey, str] = SizedLru(KEPT)
        self._longest: dict[str, tuple[bytes, ...]] = {}  # the last messages summarised after a summary

    def __call__(self, messages: Sequence[Message], previous: str, tokens: int) -> str:
        """A summary if it was made, else the first words of the messages, for a plan that will be abandoned."""
        key = _key(messages, previous)
        text = self._made.get(key)
        if text is not None:
            return text
        if self.rounds >= ROUNDS:
            return ""
        self.wanted[key] = self._less(messages, previous, tokens)
        return clip(messages[-1].text, 200) or "…"

    def _less(self, messages: Sequence[Message], previous: str, tokens: int) -> SummaryRequest:
        """The messages to summarise: if the first ones have a summary already, only that and the others."""
        known = self._longest.get(previous, ())
        text = self._made.get((known, previous)) if known else None
        if text and _key(messages[: len(known)], previous)[0] == known:
            return messages[len(known) :], text, tokens
        return messages, previous, tokens

    def begin(self) -> None:
        """Start a plan, and forget what an earlier one wanted."""
        self.wanted.clear()

    def end(self) -> None:
        """Finish a plan. Raises SummaryWanted if it lacks summaries."""
        if self.wanted:
            raise SummaryWanted(self.made)

    async def made(self) -> None:
        """Request all wanted summaries; failed ones aren't requested again."""
        wanted, self.wanted = self.wanted, {}
        self.rounds += 1
        texts = await asyncio.gather(*(asked(self.summarizer, *one) for one in wanted.values()))
        for (digests, previous), text in zip(wanted, texts, strict=True):
            self._made.put((digests, previous), text, 100 + 2 * len(text) + 32 * len(digests))
            if text:
                self._longest[previous] = digests
        if len(self._longest) > ROUNDS:
            del self._longest[next(iter(self._longest))]


def _key(messages: Sequence[Message], previous: str) -> SummaryKey:
    return tuple([message.digest for message in messages]), previous


async def asked(summarizer: Summarizer, messages: Sequence[Message], previous: str, tokens: int) -> str:
    """The summariser's answer; empty if it fails, which is reported."""
    try:
        text = await summarizer.summarize(messages, previous, tokens)
    except Exception as problem:  # the caller's own code may raise anything
        log.warning("a summary failed (%s: %s)", type(problem).__name__, problem)
        return ""
    if text is not None and not isinstance(text, str):
        log.warning("a summary was refused: it is no text but %s", type(text).__name__)
        return ""
    return text or ""


def run_blocking(work: Callable[[], Awaitable[None]]) -> None:
    """Run a coroutine and wait for it, even if this thread's event loop is already running."""
    problems: list[BaseException] = []

    async def working() -> None:
        await work()

    def run() -> None:
        try:
            asyncio.run(working())
        except BaseException as problem:  # re-raised in the waiting thread
            problems.append(problem)

    thread = threading.Thread(target=run, name="brim-summary", daemon=True)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]
