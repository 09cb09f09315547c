"""One policy at one budget, over all requests."""

from __future__ import annotations

import time
from dataclasses import dataclass

from brim import apis, fitting
from brim.conversation import Conversation
from brim.errors import BudgetTooSmall
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.planning.request import PlanRequest
from brim.replays.bills import Bill, Bills
from brim.replays.changes import Changes, in_fitted, in_session
from brim.replays.recorded import Recorded
from brim.replays.result import ReplayOutcome, Times
from brim.sessions.router import SessionRouter
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Limits
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

# So many conversations are held at once, as in the gateway; others come back from the store if they go on.
LIVE = 64
# Of so many the last request is known, and of so many of their items what became of them.
KNOWN = 2_000
ITEMS = 10_000
# So many bytes of conversations that are not held are kept for that, by all trials together.
STORE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Arrival:
    """A recorded request that was read: its conversation, by which it goes on, and what it costs as it came."""

    recorded: Recorded
    conversation: Conversation
    model: Model
    counter: Counter
    key: str
    before: Bill


def followed(trials: int) -> SessionRouter:
    """Sessions that are recognised as the gateway does, in memory and within the bounds of one of so many trials."""
    store = InMemoryStore(Limits(max_bytes=STORE_BYTES // (trials + 1), live_seconds=0))
    return SessionRouter(store, live=LIVE)


class Trial:
    """Takes requests in their order and adds up what would have been sent; without sessions each is fitted alone."""

    def __init__(self, policy: Policy, budget: int | None, sessions: SessionRouter | None, minutes: float) -> None:
        self.policy = policy
        self.budget = budget
        self._sessions = sessions
        self._actuals = Actuals()
        self._bills = Bills(minutes, KNOWN)
        self._changes = Changes(ITEMS)
        self._ms = Times()
        self._requests = self._over_before = self._over_after = self._refused = self._changed = 0
        self._compactions = self._unpriced = 0
        self._tokens = [0, 0]
        self._reused = [0, 0]
        self._usd = [0.0, 0.0]

    def take(self, arrival: Arrival) -> None:
        """Fit a request as it would have been, and compare."""
        self._requests += 1
        conversation, budget = arrival.conversation, self.budget
        limit = fitting.limit_of(arrival.model, conversation, self.policy, budget, None)
        own = fitting.by_window(arrival.model, conversation, self.policy, budget, None)
        work = PlanRequest(conversation, arrival.counter, arrival.model, self.policy, limit, own)
        self._over_before += work.total(conversation) > limit
        began = time.perf_counter()
        try:
            fitted, session = self._fitted(arrival)
        except BudgetTooSmall:
            self._refused += 1
            return
        self._ms.add((time.perf_counter() - began) * 1e3)
        sent = fitted.conversation
        if fitted.body is not arrival.recorded.body:
            self._changed += 1
            # What would have gone out is read again from its bytes, so that the count is of the real thing.
            sent = apis.parse(fitted.body, conversation.api, model=conversation.model)
            self._note(arrival, fitted, session)
        self._over_after += work.total(sent) > limit
        after = self._bills.bill(arrival.key, sent, arrival.counter, arrival.model.prices, arrival.recorded.at)
        self._add(arrival.before, after)

    def _fitted(self, arrival: Arrival) -> tuple[fitting.Fitted, Session | None]:
        body, conversation, model = arrival.recorded.body, arrival.conversation, arrival.model
        if self._sessions is None:
            alone = fitting.fit(
                body,
                model=model,
                budget=self.budget,
                policy=self.policy,
                api=conversation.api,
                actuals=self._actuals,
            )
            return alone, None
        session = self._sessions.of(conversation, arrival.recorded.session or None, model=model, actuals=self._actuals)
        session.model, session.budget, session.policy = model, self.budget, self.policy
        compactions = session.compactions
        fitted = session.fit_parsed(body, conversation)
        self._compactions += session.compactions - compactions
        return fitted, session

    def _note(self, arrival: Arrival, fitted: fitting.Fitted, session: Session | None) -> None:
        place, messages = arrival.recorded.place, arrival.conversation.messages
        if session is not None:
            self._changes.note(arrival.key, lambda seen: in_session(session, arrival.counter, place, seen))
        else:
            self._changes.note(arrival.key, lambda seen: in_fitted(fitted, messages, place, seen))

    def _add(self, *bills: Bill) -> None:
        for number, bill in enumerate(bills):
            self._tokens[number] += bill.tokens
            self._reused[number] += bill.reused
            self._usd[number] += bill.usd or 0.0
        self._unpriced += bills[0].usd is None

    def outcome(self) -> ReplayOutcome:
        priced = self._requests - self._refused > self._unpriced
        return ReplayOutcome(
            policy=self.policy.name,
            budget=self.budget,
            requests=self._requests,
            over_before=self._over_before,
            over_after=self._over_after,
            refused=self._refused,
            changed=self._changed,
            compactions=self._compactions,
            tokens_before=self._tokens[0],
            tokens_after=self._tokens[1],
            reused_before=self._reused[0],
            reused_after=self._reused[1],
            usd_before=self._usd[0] if priced else None,
            usd_after=self._usd[1] if priced else None,
            unpriced=self._unpriced,
            compacted=self._changes.compacted,
            archived=self._changes.archived,
            kinds=self._changes.kinds,
            largest=self._changes.largest,
            ms_p50=self._ms.percentile(0.5),
            ms_p95=self._ms.percentile(0.95),
        )
