"""Summaries by a model for the gateway's sessions: requested after a response, used from the next compaction on.

None of this delays a request, unless `summarizer.wait` is set. If a summary can't be made, the one made without a
model stays.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from brim import apis
from brim.apis.asking import ASKING
from brim.conversation import Message
from brim.count_text import CountText
from brim.errors import BadSetting
from brim.gateway.observe.journal import Journal
from brim.gateway.observe.logs import tell
from brim.gateway.observe.turns import cost_of
from brim.gateway.proxy.upstreams import Target, targets_of
from brim.models import Model
from brim.sessions.model_summaries import within
from brim.settings import Settings
from brim.settings import SummarizerSettings as SummarizerSettings
from brim.summaries.endpoint import Endpoint
from brim.summaries.llm import FRAME, LlmSummarizer
from brim.tokens.actuals import UsageRecord
from brim.tokens.tokenizers import tokenizer

# Tokens of input per call: the minimum, the value for unknown models, and the maximum.
LEAST, UNKNOWN, MOST = 1_000, 8_000, 64_000
# Concurrent calls, so that summaries don't crowd out the requests they are for.
TOGETHER = 2
RETRIES = 1
FAMILY = "o200k"


class Summarizing:
    """Makes summaries for sessions; its calls count as usage like any other, and end with the gateway."""

    def __init__(
        self,
        settings: SummarizerSettings,
        target: Target,
        find: Callable[[str, str], Model | None],
        journal: Journal,
    ) -> None:
        self._settings = settings
        self.wait = settings.wait
        self._target = target
        self._api = next(api for api in ASKING if api in target.apis)
        base = target.root if ASKING[self._api].path.startswith("/v1") else target.address("/v1", "")
        self._endpoint = Endpoint(base, settings.model, target.key or "", self._api, settings.temperature)
        self._find = find
        self._journal = journal
        self._places = asyncio.Semaphore(TOGETHER)
        self._running: set[asyncio.Task[Any]] = set()
        self._warned = False
        self._boot = f"s{secrets.token_hex(6)}"
        self._ids = itertools.count(1)

    async def summarize(self, messages: Sequence[Message], previous: str, tokens: int) -> str | None:
        """A verified summary, or None; as long as the settings allow, whatever the session asks for."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            async with self._places:
                text = await self._asker().summarize(messages, previous, self._settings.max_tokens)
        finally:
            self._running.discard(task)
        self._journal.metrics.add("brim_summaries_total", ("made" if text else "failed",))
        if text:
            self._warned = False
        return text

    def _asker(self) -> LlmSummarizer:
        """Made anew for each summary, because the model's window may have been learned since the last one."""
        model = self._find(self._settings.model, self._target.name)
        window = max(LEAST, min(MOST, model.max_input(self._settings.max_tokens))) if model else UNKNOWN
        family = model.family if model else FAMILY
        return LlmSummarizer(
            partial(self._asked, model, tokenizer(family)),
            window=window,
            count=tokenizer(family),
            timeout=self._settings.timeout,
            retries=RETRIES,
            block_chars=self._settings.block_chars,
            style=self._settings.style,
            fit=partial(within, model=model or "gpt-4o"),
            warn=self._warn,
        )

    async def _asked(self, model: Model | None, count: CountText, system: str, text: str, tokens: int) -> str:
        """Make one call and record its usage, whether it is answered or not."""
        body: Mapping[str, Any] | None = None
        at, estimated = time.time(), FRAME + count(system) + count(text)
        try:
            body = await self._endpoint.asked(system, text, tokens)
        finally:
            self._note(body, model, at, estimated)
        return self._endpoint.answer(body)

    def _note(self, body: Mapping[str, Any] | None, model: Model | None, at: float, estimated: int) -> None:
        usage = apis.usage(body, self._api) if body else None
        name, metrics = self._settings.model, self._journal.metrics
        if usage is not None:
            metrics.add("brim_summary_tokens_total", ("input",), usage.input)
            metrics.add("brim_summary_tokens_total", ("output",), usage.output)
            if model is not None and model.prices is not None:
                metrics.add("brim_cost_usd_total", (name,), cost_of(usage, model.prices))
        self._journal.keep_usage(
            UsageRecord(
                request=f"{self._boot}{next(self._ids):08x}",
                at=at,
                provider=self._target.name,
                model=name,
                estimated=estimated,
                upper=estimated,
                actual_in=usage.input if usage else None,
                actual_out=usage.output if usage else None,
                cached=usage.cached if usage else 0,
                status="success" if body is not None else "failed",
            )
        )

    def _warn(self, problem: str) -> None:
        """Log that summaries fail once, not with every turn; log again if they worked in between."""
        if not self._warned:
            self._warned = True
            stands = "summaries without a model stand in"
            tell("no summary", logging.WARNING, upstream=self._target.name, problem=problem[:300], instead=stands)

    async def close(self) -> None:
        """Cancel summaries in progress; nothing is lost."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def summarizer_target(settings: Settings, targets: Sequence[Target]) -> Target | None:
    """The upstream to ask for summaries, from the settings; None if they are switched off. Raises BadSetting."""
    wanted = settings.summarizer
    if not wanted.enabled:
        return None
    if not wanted.model:
        raise BadSetting("summarizer.model", "is needed: name the model that writes the summaries")
    known = {target.name: target for target in (*targets, *targets_of(settings))}
    if not wanted.upstream:
        raise BadSetting("summarizer.upstream", f"is needed: name one of {', '.join(sorted(known))}")
    target = known.get(wanted.upstream)
    if target is None:
        told = f"no upstream is called {wanted.upstream!r}: configured are {', '.join(sorted(known))}"
        raise BadSetting("summarizer.upstream", told)
    if target.key is None and target.well_known:
        name = wanted.upstream
        key = f"{name!r} has no key of its own, and those of clients are not used: set upstreams.{name}.key_env"
        raise BadSetting("summarizer.upstream", f"{key}, and the variable that it names")
    return target
