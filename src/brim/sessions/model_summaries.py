"""Summaries of archived messages by a model: made after a response, used from the next compaction on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Final

from brim.conversation import Message
from brim.errors import BudgetTooSmall
from brim.fitting import fit
from brim.models import Model
from brim.planning.policies.summaries import naive
from brim.planning.request import Summarize
from brim.sessions.view import Entry, EntryKind
from brim.summaries.awaited import AwaitedSummaries, Summarizer, SummaryWanted, asked
from brim.summaries.llm import FRAME, LlmSummarizer
from brim.tokens.tokenizers import tokenizer

HEADER = "[Brim's summary of the earlier messages]\n"
# The most tokens to request for a summary.
LARGEST = 1_000
# The vocabulary for counting them; the request's own model enforces its limit.
FAMILY: Final = "o200k"
Unsummarized = tuple[list[Message], int]


class RunningSummary:
    """The running summary of archived messages: its text, and how far into the log it reaches."""

    def __init__(self, summarizer: Summarizer | None) -> None:
        if isinstance(summarizer, LlmSummarizer) and summarizer.fit is None:
            summarizer.fit = within
        self.summarizer = summarizer
        self.text = ""
        self.upto = 0
        self._refused = 0  # a summary up to here failed; retry when more is archived
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[bool] | None = None
        self._version = 0
        self._awaited: AwaitedSummaries | None = None  # those that the current turn waits for

    def begin(self, waits: bool) -> None:
        """A plan is made now, which may be given up for summaries if it `waits` and the summariser says so."""
        if not (waits and self.waits and self.summarizer is not None):
            self._awaited = None
        elif self._awaited is None or self._awaited.summarizer is not self.summarizer:
            self._awaited = AwaitedSummaries(self.summarizer)
        if self._awaited is not None:
            self._awaited.begin()

    def end(self) -> None:
        """The plan is made. Raises SummaryWanted if it lacks summaries."""
        if self._awaited is not None:
            self._awaited.end()

    def turned(self) -> None:
        """The turn is over, sent or refused: the next one may wait again."""
        if self._awaited is not None:
            self._awaited.rounds = 0

    def give_up(self, archived: Callable[[], Unsummarized]) -> None:
        """After a compaction: let it wait for the summary of what it archived. Raises SummaryWanted."""
        if self._awaited is None or self._awaited.rounds:
            return
        work, waiting = archived(), self._awaited
        if not self.lacks(work):
            return

        async def made() -> None:
            waiting.rounds += 1
            await self.run(work)

        raise SummaryWanted(made)

    def answering(self, log: Sequence[Message]) -> Summarize:
        """What a policy's summary says."""

        def summary(messages: Sequence[Message], previous: str, tokens: int) -> str:
            if self._awaited is not None:
                return self._awaited(messages, previous, tokens)
            known = set(map(id, log))  # a block of a message is no part of the log, and of no running summary
            return self.ready(messages, tokens) if any(id(one) in known for one in messages) else ""

        return summary

    def start(self, archived: Callable[[], Unsummarized], keep: Callable[[], None] = lambda: None) -> None:
        """Summarise newly archived messages in the background, if there is a summariser.

        `keep` is called when there is a new summary.
        """
        if self.summarizer is None or self.busy or self.waits:
            return
        work = archived()
        if not self.lacks(work):
            return
        try:
            self._task = asyncio.get_running_loop().create_task(self.run(work, keep))
        except RuntimeError:  # no event loop here, so run one in a thread
            self._thread = threading.Thread(target=lambda: asyncio.run(self.run(work, keep)), daemon=True)
            self._thread.start()

    @property
    def waits(self) -> bool:
        """Whether compactions wait for their summary."""
        return bool(getattr(self.summarizer, "wait", False))

    def lacks(self, archived: Unsummarized) -> bool:
        """Whether archived messages lack a summary that hasn't been tried in vain."""
        return bool(archived[0]) and archived[1] != self._refused

    @property
    def busy(self) -> bool:
        running = self._thread is not None and self._thread.is_alive()
        return running or (self._task is not None and not self._task.done())

    def wait(self, seconds: float | None = None) -> None:
        """Wait for a summary in progress in a thread."""
        if self._thread is not None:
            self._thread.join(seconds)

    async def run(self, archived: Unsummarized, keep: Callable[[], None] = lambda: None) -> bool:
        """Summarise now. The result is dropped if its messages were edited away meanwhile."""
        messages, end = archived
        if self.summarizer is None or not messages:
            return bool(self.text)
        version = self._version
        text = await asked(self.summarizer, messages, self.text, LARGEST)
        if text and version == self._version:
            self.text, self.upto = text, end
            keep()
        self._refused = 0 if text else end
        return bool(self.text)

    def restore(self, text: str, upto: int) -> None:
        """Continue from a stored summary."""
        self._version += 1
        self.text, self.upto = text, upto

    def cut(self, length: int) -> None:
        """The log was cut: drop a summary that covers removed messages."""
        self._version += 1
        if length < self.upto:
            self.text, self.upto = "", 0

    def fork(self, length: int) -> RunningSummary:
        """The summary for a branch with this many messages; none if it covers later ones."""
        other = RunningSummary(self.summarizer)
        if self.upto <= length:
            other.text, other.upto = self.text, self.upto
        return other

    def entries(self, made: Callable[[str, EntryKind], Entry]) -> list[Entry]:
        """The summary as an entry for a compaction; empty if there is none."""
        return [made(HEADER + self.text, "model summary")] if self.text else []

    def ready(self, messages: Sequence[Message], tokens: int) -> str:
        """The text for a policy's summary: the model's, plus what was archived since; empty if there is none yet."""
        if not self.text:
            return ""
        return naive(messages, self.text, tokens, tokenizer(FAMILY))


def within(system: str, text: str, window: int, model: str | Model = "gpt-4o") -> str:
    """The text of a summariser's own call, cut to fit like any other request."""
    request = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    try:
        fitted = fit(request, model=model, budget=window - FRAME)
    except BudgetTooSmall:
        return text[: max(0, window // 4)]
    return str(fitted.messages[-1]["content"])
