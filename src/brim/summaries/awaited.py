"""Summaries that a request waits for, where the summariser says so (`wait`).

A plan is made in a limited time and never waits for a model. So what it asks for is noted, the plan is given up, the
model is asked, and the plan is made again with the answers at hand.
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
# Plans of one request that may be given up: for the parts of a block, for their summary, and for what the summary's
# size then pushes out. After that the summary without a model stands in.
ROUNDS = 3
# Characters of answers that are remembered: those of a conversation are asked for with each of its requests.
KEPT = 1 << 20


class Summarizer(Protocol):
    """What makes summaries: a `LlmSummarizer`, or anything with the same call.

    One whose attribute `wait` is true is waited for by the request that needs its summary.
    """

    async def summarize(self, messages: Sequence[Message], previous: str, tokens: int) -> str | None: ...


class SummaryWanted(Exception):
    """A plan was given up, since it needs summaries: await `made()` and plan again."""

    def __init__(self, made: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__("a summary is waited for")
        self.made = made


SummaryKey = tuple[tuple[bytes, ...], str]
SummaryRequest = tuple[Sequence[Message], str, int]


class AwaitedSummaries:
    """What a policy asks a summariser, answered from what was made; what was not is noted in `wanted`."""

    def __init__(self, summarizer: Summarizer) -> None:
        self.summarizer = summarizer
        self.wanted: dict[SummaryKey, SummaryRequest] = {}
        self.rounds = 0
        self._made: SizedLru[SummaryKey, str] = SizedLru(KEPT)
        self._longest: dict[str, tuple[bytes, ...]] = {}  # the last messages that were summarised after a summary

    def __call__(self, messages: Sequence[Message], previous: str, tokens: int) -> str:
        """A summary, if it was made; else the first words of the messages, for a plan that will be given up."""
        key = _key(messages, previous)
        text = self._made.get(key)
        if text is not None:
            return text
        if self.rounds >= ROUNDS:
            return ""
        self.wanted[key] = self._less(messages, previous, tokens)
        return clip(messages[-1].text, 200) or "…"

    def _less(self, messages: Sequence[Message], previous: str, tokens: int) -> SummaryRequest:
        """What has to be asked: where a summary of the first messages was made, only the others go with it."""
        known = self._longest.get(previous, ())
        text = self._made.get((known, previous)) if known else None
        if text and _key(messages[: len(known)], previous)[0] == known:
            return messages[len(known) :], text, tokens
        return messages, previous, tokens

    def begin(self) -> None:
        """A plan is made now: what an earlier one asked for is of no account."""
        self.wanted.clear()

    def end(self) -> None:
        """The plan is made; where it lacks summaries it is given up. Raises SummaryWanted."""
        if self.wanted:
            raise SummaryWanted(self.made)

    async def made(self) -> None:
        """Ask for all that is wanted; what fails is not asked for again."""
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
    """What a summariser says; nothing where it fails, which is told."""
    try:
        text = await summarizer.summarize(messages, previous, tokens)
    except Exception as problem:  # the caller's own code: anything may go wrong there
        log.warning("a summary failed (%s: %s)", type(problem).__name__, problem)
        return ""
    if text is not None and not isinstance(text, str):
        log.warning("a summary was refused: it is no text but %s", type(text).__name__)
        return ""
    return text or ""


def run_blocking(work: Callable[[], Awaitable[None]]) -> None:
    """Do asynchronous work and wait for it, also where the event loop of this thread runs already."""
    problems: list[BaseException] = []

    async def working() -> None:
        await work()

    def run() -> None:
        try:
            asyncio.run(working())
        except BaseException as problem:  # whoever waits for it gets it
            problems.append(problem)

    thread = threading.Thread(target=run, name="brim-summary", daemon=True)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]
