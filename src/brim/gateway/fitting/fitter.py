"""Fits a request of a conversation: the one place where the gateway calls the core.

A request that fits costs a parse and a sum. Larger requests are parsed and counted in a thread, and every plan is made
in one, so that other requests continue meanwhile. Large new requests come here in a separate process (`worker`).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from brim import apis, fitting, incidents
from brim.conversation import Conversation
from brim.deadline import OutOfTime, run_within
from brim.errors import BadBody, BudgetTooSmall
from brim.fallback import FIT_TIMEOUT
from brim.gateway.fitting.blocks import Blocks
from brim.gateway.fitting.conversations import Conversations, Live
from brim.gateway.fitting.fit_result import FitResult
from brim.gateway.fitting.large_store import StoreFile
from brim.gateway.fitting.last_models import LastModels
from brim.gateway.fitting.learned import Learned
from brim.gateway.fitting.session_cache import LiveSessions, apart
from brim.gateway.fitting.unread import UnreadRequests
from brim.gateway.fitting.upstream_models import UpstreamModels
from brim.gateway.proxy.controls import Controls
from brim.gateway.server.bodies import LARGE
from brim.gateway.server.planning_threads import PlanningThreads
from brim.models import Catalog, Model
from brim.planning.policies.policy import Policy
from brim.planning.request import PlanRequest, size_of
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Store
from brim.summaries.awaited import AwaitedSummaries, Summarizer, SummaryWanted
from brim.tokens.actuals import Actuals
from brim.tokens.counter import LIKELY, Counter
from brim.tokens.tokenizers import tokenizer

T = TypeVar("T")
# Larger bodies are parsed and counted in a thread; this many bytes take 2 ms if all are new (o200k: 7 MB a second).
COLD_BYTES = 16_000
# The first word that a vocabulary doesn't hold takes a tokenizer 0.1 s, so it counts one when it is loaded.
FIRST = "qzxvkjqwzxbbqkzj"
# Multiple of the planning timeout after which a thread is abandoned: planning, the plain planner and the store.
PATIENCE = 3
# The same for a single store call.
STORE_PATIENCE = 1.5
# A refit aims this far below the size that the upstream stated, because the two sides count differently.
REFIT_SHARE = 0.97
# Slightly more than what must stay, for trying although the estimate says that it doesn't fit.
TRY_SHARE = 1.02


class Fitter:
    """Fits requests, remembers their conversations, and learns from the usage that providers report."""

    def __init__(
        self,
        policy: Policy,
        catalog: Catalog,
        store: Store | None = None,
        *,
        recall: str = "auto",
        fit_timeout: float = FIT_TIMEOUT,
    ) -> None:
        self.policy = policy
        self.fit_timeout = fit_timeout
        self.store: Store = store if store is not None else InMemoryStore()
        self.recall = recall
        self.summarizer: Summarizer | None = None
        self.large_store: StoreFile | None = None
        self.conversations = Conversations()
        self.sessions = LiveSessions(self.store)
        self.learned = Learned(self.store)
        self.models = UpstreamModels(catalog, self.learned)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="brim-fit")
        self._planning = PlanningThreads()
        self.saves = True  # a turn as soon as it is fitted; else whoever sends it calls `FitResult.save`
        self._counters: dict[tuple[int, str, int], Counter] = {}
        self._blocks = Blocks()
        self.last_models = LastModels(self.store, self.in_time)
        self.unread = UnreadRequests(self.conversations, self.learned, self.models, self.last_models)
        self._loaded: set[str] = set()  # families whose tokenizer is loaded

    def passed_unread(self, raw: bytes, api: str, model: str, upstream: str, controls: Controls) -> FitResult | None:
        """A request whose bytes alone show that it fits; None if it has to be read."""
        if not self._may_pass_unread(controls):
            return None
        return self.unread.passed(raw, api, model, upstream, controls, self.policy)

    def _may_pass_unread(self, controls: Controls) -> bool:
        return controls.plain and self.recall != "tool" and self.policy.budget is None

    async def fit(self, raw: bytes, api: str, model: str, upstream: str, controls: Controls) -> FitResult:
        """Fit a request body. Raises BadBody, BudgetTooSmall."""
        small = len(raw) <= COLD_BYTES
        conversation, live = await self._apart(small, self._read, raw, api, model, controls)
        named = conversation.model or await self.last_models.find("client", controls.client, controls.tenant)
        found, actuals = self.models.find(named, upstream, controls.tenant), self.learned.of(upstream, controls.tenant)
        found = found or self.models.opened(conversation)
        if found is None:
            return FitResult(raw, live, api, conversation.model, _streamed(conversation), conversation)
        # Loading a tokenizer on the event loop would hold up all other requests.
        small = small and found.family in self._loaded
        if (conversation.max_output or 0) >= found.window or conversation.window is not None:
            counter = self.counter(found, api, actuals)
            raw, conversation = await self._apart(small, fitting.answerable, raw, conversation, found, counter)
        passed = await self._apart(small, self._passing, raw, conversation, live, found, controls, actuals)
        self._loaded.add(found.family)
        if passed is not None:
            if self._may_pass_unread(controls):
                self.unread.begun(passed, conversation, upstream, controls, self.policy)
            return passed
        return await self._in_order(self._fit_or_try, raw, conversation, live, found, controls, actuals)

    async def _apart(self, small: bool, work: Callable[..., T], *given: Any) -> T:
        """Do small work right away and other work in a thread."""
        if small:
            return work(*given)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)

    def _read(self, raw: bytes, api: str, model: str, controls: Controls) -> tuple[Conversation, Live]:
        """Parse a request and find its conversation."""
        conversation = apis.parse(raw, api, model=model)
        if len(raw) > COLD_BYTES:
            self._blocks.add(raw)
        unread_before = partial(self.unread.before, controls.tenant)
        return conversation, self.conversations.of(conversation, controls.session, controls.tenant, unread_before)

    def mostly_known(self, content: bytes) -> bool:
        """Whether so much of a large body was seen before that the rest is small."""
        return self._blocks.unseen(content) <= LARGE

    async def _in_order(
        self, fit: Callable[..., FitResult], raw: bytes, conversation: Conversation, live: Live, *given: Any
    ) -> FitResult:
        """Fit after all earlier requests of the conversation, concurrently with others. May raise OutOfTime."""
        async with live.lock:
            while True:
                try:
                    # A session times out its own planning, and then needs time for the plain planner.
                    return await self._planning.run(PATIENCE * self.fit_timeout, fit, raw, conversation, live, *given)
                except SummaryWanted as wanted:
                    await _unless_stopped(wanted.made())
                except OutOfTime:
                    self.sessions.abandon(live.id)  # its lock may never be released, so the next request starts afresh
                    raise

    async def plainly(self, raw: bytes, api: str, model: str, upstream: str, controls: Controls) -> FitResult:
        """Fit a request body with the plain planner, after `fit` failed. Raises BadBody, BudgetTooSmall."""
        conversation, live = await self._apart(len(raw) <= COLD_BYTES, self._read, raw, api, model, controls)
        last = self.last_models.of_client(controls.client, controls.tenant)
        found = self.models.find(conversation.model or last, upstream, controls.tenant) or self.models.opened(
            conversation
        )
        if found is None:
            return FitResult(raw, live, api, conversation.model, _streamed(conversation), conversation)
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        result = await loop.run_in_executor(
            self._threads, context.run, self._plain_now, raw, conversation, live, found, controls
        )
        if result.fitted is not None and not controls.dry_run:
            await self.archive(live, [_blob(text) for text in result.fitted.archive.values()])
        return result

    async def archive(self, live: Live, blobs: Sequence[bytes]) -> None:
        """Archive what was left out of a request; if the store fails or hangs, the request continues without it."""
        if not blobs:
            return
        try:
            await self.in_time(self.store.put_blobs, blobs, live.id)
        except (Exception, OutOfTime) as problem:
            incidents.note("store", problem)

    async def in_time(self, work: Callable[..., T], *given: Any) -> T:
        """The result of a store call. Raises OutOfTime, even for a call that blocks outside Python."""
        seconds = self.fit_timeout
        return await self._planning.run(STORE_PATIENCE * seconds, run_within, seconds, partial(work, *given))

    def _plain_now(
        self, raw: bytes, conversation: Conversation, live: Live, model: Model, controls: Controls
    ) -> FitResult:
        policy = controls.policy or self.policy
        # Without learned sizes: they are in the store, which may be what failed.
        counter = Counter(model, conversation.api)
        raw, conversation = fitting.answerable(raw, conversation, model, counter)
        limit = fitting.limit_of(model, conversation, policy, controls.budget, None)
        own = fitting.by_window(model, conversation, policy, controls.budget, None)
        room = int(limit * policy.recall) if self.recall == "tool" else 0
        work = PlanRequest(conversation, counter, model, policy, limit - room, own_limit=own).by_estimate()

        def again(budget: int) -> fitting.Fitted:
            return fitting.fit(raw, model=model, budget=budget, policy=policy, api=conversation.api)

        fitted = fitting.fit_plainly(raw, work, again)
        if not controls.dry_run:
            live.archive.update((handle, len(text)) for handle, text in fitted.archive.items())
        upper = counter.count(fitted.conversation).upper
        archived = fitted.report.archived + fitted.report.compacted
        return FitResult(
            body=fitted.body,
            live=live,
            api=conversation.api,
            name=conversation.model,
            streamed=_streamed(conversation),
            parsed=conversation,
            planned=fitted.conversation if fitted.body is not raw else None,
            model=model,
            before=counter.likely(conversation),
            after=fitted.tokens,
            upper=max(fitted.tokens, upper),
            limit=limit,
            archived=archived,
            changed=fitted.body != raw,
            fitted=fitted,
        )

    def _fit_or_try(
        self, raw: bytes, conversation: Conversation, live: Live, model: Model, controls: Controls, actuals: Actuals
    ) -> FitResult:
        """Fit, allowing a shorter answer if necessary; if only an estimate says that it can't fit, make it as small as
        possible.

        An estimate may be twice too high on code. The upstream decides, and if it refuses, it states the true size.
        """
        try:
            return self.fit_now(raw, conversation, live, model, controls, actuals, controls.budget)
        except BudgetTooSmall as refusal:
            shorter = fitting.shorter_answer(raw, conversation, model) if controls.budget is None else None
            if shorter is not None:
                return self._fit_or_try(*shorter, live, model, controls, actuals)
            counter = self.counter(model, conversation.api, actuals)
            if controls.budget is not None or counter.source != "estimated":
                raise
            likely = Counter(replace(model, family=LIKELY), conversation.api).total(conversation)
            if refusal.needed * likely > refusal.budget * counter.total(conversation):
                raise
            policy = controls.policy or self.policy
            share = 1 - policy.recall if self.recall == "tool" else 1.0
            least = int(refusal.needed / share * TRY_SHARE)
            tried = self.fit_now(raw, conversation, live, model, controls, actuals, least, beyond=True)
            tried.limit = refusal.budget
            return tried

    def _passing(
        self,
        raw: bytes,
        conversation: Conversation,
        live: Live,
        model: Model,
        controls: Controls,
        actuals: Actuals,
    ) -> FitResult | None:
        """The request unchanged, if it fits, its policy changes nothing below the limit, and nothing is pinned."""
        policy = controls.policy or self.policy
        if not policy.appends or controls.pins:
            return None
        counter = self.counter(model, conversation.api, actuals)
        limit = fitting.limit_of(model, conversation, policy, controls.budget, None)
        before = counter.total(conversation)
        own = fitting.by_window(model, conversation, policy, controls.budget, None)
        upper = size_of(counter, before, len(conversation.messages), own)
        if upper > limit and own and not live.engaged:
            # From the provider's number for its beginning, which is in the store.
            upper = run_within(self.fit_timeout, partial(counter.count, conversation)).upper
        if upper > limit:
            return None
        api, name, streamed = conversation.api, conversation.model, _streamed(conversation)
        shown = counter.likely(conversation)
        return FitResult(
            raw, live, api, name, streamed, conversation, None, model, shown, shown, upper, limit, actuals=actuals
        )

    def fit_now(
        self,
        raw: bytes,
        conversation: Conversation,
        live: Live,
        model: Model,
        controls: Controls,
        actuals: Actuals,
        budget: int | None,
        beyond: bool = False,
    ) -> FitResult:
        """Fit a parsed request to a budget, or to the model's own limit, continuing its session.

        If the model may recall, room for that is left free, because what comes back must fit too. A budget in tokens of
        a high estimate may go `beyond` the window, which is in the upstream's tokens.
        """
        policy = controls.policy or self.policy
        holding = replace(model, window=model.window + budget, input_limit=None) if beyond and budget else model
        limit = fitting.limit_of(holding, conversation, policy, budget, None)
        room = int(limit * policy.recall) if self.recall == "tool" else 0
        wanted = replace(model, input_limit=limit - room) if room and budget is None else holding
        left = min(budget, limit + (policy.reserve or 0)) - room if room and budget is not None else budget
        if not policy.appends:
            summaries = None if controls.dry_run else self._summaries(live)
            fitted = fitting.fit(
                raw,
                model=wanted,
                budget=left,
                policy=policy,
                api=conversation.api,
                actuals=actuals,
                fit_timeout=self.fit_timeout,
                summarize=summaries,
            )
            if summaries is not None:
                summaries.end()
                summaries.rounds = 0
            if not controls.dry_run:  # a dry run leaves no trace
                self._keep(live, fitted)
            archived = fitted.report.archived + fitted.report.compacted
            return self._result(fitted, raw, conversation, live, model, actuals, limit, archived)
        if controls.dry_run:
            session = apart(conversation, wanted, left, policy, actuals, self.recall)
            session.configure(fit_timeout=self.fit_timeout)
            fitted = session.fit_parsed(raw, conversation, controls.pins)
        else:
            session = self.sessions.of(
                conversation, controls.session or None, tenant=controls.tenant, model=wanted, actuals=actuals
            )
            live = self.conversations.behind(session.id, live)
            session.configure(model=wanted, budget=left, policy=policy, recall=self.recall)
            session.configure(actuals=actuals, fit_timeout=self.fit_timeout)
            session.running_summary.summarizer = self.summarizer
            try:
                fitted = session.fit_parsed(raw, conversation, controls.pins, waits=True, saves=self.saves)
            finally:
                self.sessions.grown(session)
            self._keep(live, fitted)
        archived = len(session.view.archived(len(session.log)))
        result = self._result(fitted, raw, conversation, live, model, actuals, limit, archived)
        result.recalled = sum(entry.kind == "recall" for entry in session.view.entries)
        result.told = fitted.reporter
        result.save = None if self.saves or controls.dry_run else session.save_turn
        return result

    def _summaries(self, live: Live) -> AwaitedSummaries | None:
        """A conversation's summaries for a policy without a session, if requests wait for them."""
        summarizer = self.summarizer
        if summarizer is None or not getattr(summarizer, "wait", False):
            return None
        if live.summaries is None or live.summaries.summarizer is not summarizer:
            live.summaries = AwaitedSummaries(summarizer)
        live.summaries.begin()
        return live.summaries

    def _result(
        self,
        fitted: fitting.Fitted,
        raw: bytes,
        conversation: Conversation,
        live: Live,
        model: Model,
        actuals: Actuals,
        limit: int,
        archived: int,
    ) -> FitResult:
        counter = self.counter(model, conversation.api, actuals)
        return FitResult(
            body=fitted.body,
            live=live,
            api=conversation.api,
            name=conversation.model,
            streamed=_streamed(conversation),
            parsed=conversation,
            planned=fitted.conversation,
            model=model,
            before=counter.likely(conversation),
            after=fitted.tokens,
            upper=max(fitted.tokens, counter.count(fitted.conversation).upper),
            limit=limit,
            archived=archived,
            changed=fitted.body != raw,
            fitted=fitted,
            actuals=actuals,
        )

    def _keep(self, live: Live, fitted: fitting.Fitted) -> None:
        """Archive what was left out, unless a session did so already."""
        for handle, text in fitted.archive.items():
            live.archive[handle] = len(text)
        if not live.engaged and fitted.archive:
            texts = [_blob(text) for text in fitted.archive.values()]
            try:
                run_within(self.fit_timeout, lambda: self.store.put_blobs(texts, live.id))
            except (Exception, OutOfTime) as problem:  # the request is fitted and can be sent anyway
                incidents.note("store", problem)

    async def refit(
        self, done: FitResult, raw: bytes, upstream: str, controls: Controls, tokens: int | None, window: int | None
    ) -> FitResult | None:
        """Fit again below the size that an upstream stated; None if it stated nothing useful.

        The stated prompt size is an actual like any other, and the stated window applies from now on.
        """
        original, tenant = done.original, controls.tenant
        actuals = self.learned.of(upstream, tenant)
        if not self._can_be(done, actuals, tokens, window):
            tokens = window = None  # if one number is wrong, the other can't be trusted either
        if done.model is None and window is None:
            return None
        if window is not None:
            self.models.learn_window(original.model, upstream, window, tenant)
        model = self.models.find(original.model, upstream, tenant)
        if model is None:
            return None
        counter = self.counter(model, original.api, actuals)
        if tokens is not None and done.model is not None:
            self.record(done, tokens, accepted=False)
        if original.asked_output is not None and original.max_output is not None:
            raw, original = apis.with_output(raw, original, original.max_output)
        # The stated window may leave no room for the answer.
        raw, original = fitting.answerable(raw, original, model, counter)
        counted = done.after or counter.likely(original)
        room = fitting.limit_of(model, original, controls.policy or self.policy, controls.budget, None)
        again = self.fit_now, raw, original, done.live, model, controls, actuals
        if tokens and counter.source == "estimated":
            estimate = counter.total(done.sent)
            wanted = counter.upper(int(estimate * min(1.0, room / tokens) * REFIT_SHARE), len(done.sent.messages))
            return await self._in_order(*again, wanted, True)
        scale = min(1.0, counted / tokens) if tokens else 1.0
        budget = int(min(room, counted if window is None else room) * scale * REFIT_SHARE)
        if budget >= counted:
            budget = int(counted * REFIT_SHARE)
        return await self._in_order(*again, budget)

    def _can_be(self, done: FitResult, actuals: Actuals, tokens: int | None, window: int | None) -> bool:
        """Whether a refused prompt can have the stated size, and have exceeded the stated window."""
        sent = done.sent
        if tokens is not None and done.model is not None:
            counter = self.counter(done.model, done.api, actuals)
            if not counter.believable(sent, tokens):
                return False
        size, asked = len(done.body), sent.max_output or 0
        return window is None or self.learned.can_be(actuals, done.name, window, size, len(sent.messages), asked)

    def load(self, family: str) -> None:
        """Load a family's tokenizer, so that no request waits for it. Thread-safe."""
        tokenizer(family)(FIRST)
        self._loaded.add(family)

    def counter(self, model: Model, api: str, actuals: Actuals | None) -> Counter:
        # The counter keeps its model and actuals alive, so their ids can't be reused.
        key = id(model), api, id(actuals)
        found = self._counters.get(key)
        if found is None:
            if len(self._counters) > 500:
                self._counters.clear()
            found = self._counters[key] = Counter(model, api, actuals)
        return found

    def worth_learning(self, done: FitResult, tokens: int) -> bool:
        """Note the usage that was reported for a request; returns whether its counts can be learned from.

        Every request near its limit is worth it; of those far below, soon only some.
        """
        return done.model is None or done.actuals is None or tokens <= 0 or self.unread.reported(done, tokens)

    def record(self, done: FitResult, tokens: int, *, accepted: bool = True) -> bool:
        """Learn from reported usage, and return whether it is believable as far as it was checked."""
        actuals = done.actuals
        if done.model is None or actuals is None:
            return True
        if tokens <= 0:
            return False
        try:
            believed = self.counter(done.model, done.api, actuals).record(done.sent, tokens)
        except BadBody:
            return True  # it was never parsed, and can't be
        if believed and accepted:
            self.learned.accept(actuals, done.name, tokens)
        return believed

    def summarize(self, live: Live) -> None:
        """After a response, have a model summarise what the session archived, in the background, if that is configured.

        A session that is busy with its next request is summarised after that one.
        """
        if self.summarizer is None or not live.engaged or live.lock.locked():
            return
        session = self.sessions.held(live.id)
        if session is not None:
            session.summarize_later()

    def search(self, live: Live, query: str, most: int) -> dict[str, str]:
        """Earlier messages of a conversation that match a query, each under its number."""
        if not live.engaged or live.large:  # its messages are in a worker
            return {}
        found = self.sessions.get(live.id).search(query, most)
        return {f"message {number}": text for number, text in found}

    def archived(self, live: Live, handle: str) -> str | None:
        """The content behind a handle of a conversation."""
        name = handle.removeprefix("brim:")
        found = self.store.find_blob(name, live.id)
        if found is None and live.large and self.large_store is not None:
            found = self.large_store.opened.find_blob(name, live.id)
        return None if found is None else found.decode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._planning.close()


def _streamed(conversation: Conversation) -> bool:
    """Whether the answer will be streamed."""
    asked = conversation.fields.get("stream")
    return asked == b"true" or (asked in (None, b"null") and apis.APIS[conversation.api].streams_unasked)


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


async def _unless_stopped(making: Coroutine[Any, Any, None]) -> None:
    """Wait for summaries in a separate task, so that a reload, which cancels summaries, doesn't cancel the request."""
    task = asyncio.get_running_loop().create_task(making)
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
    if not task.cancelled() and (problem := task.exception()) is not None:
        raise problem
