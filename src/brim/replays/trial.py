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
from brim.replays.sums import TrialSums
from brim.sessions.router import SessionRouter
from brim.sessions.session import Session
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Limits
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

# These limits apply to each part of the conversations, for all trials together.
# Conversations in memory; others are reloaded from the store if they continue.
LIVE = 4
# Conversations with a known last request, and items with known changes.
KNOWN = 250
ITEMS = 1_000
# Bytes of stored conversations that aren't in memory.
STORE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Arrival:
    """A parsed recorded request: its conversation, the key that continues it, and its original cost."""

    recorded: Recorded
    conversation: Conversation
    model: Model
    counter: Counter
    key: str
    before: Bill


def followed(trials: int) -> SessionRouter:
    """Sessions matched like in the gateway, in memory, within the limits of one of this many trials."""
    store = InMemoryStore(Limits(max_bytes=STORE_BYTES // (trials + 1), live_seconds=0))
    return SessionRouter(store, live=LIVE)


class Trial:
    """Adds up what would have been sent, request by request in order; without sessions, each is fitted alone."""

    def __init__(self, policy: Policy, budget: int | None, sessions: SessionRouter | None, minutes: float) -> None:
        self.policy = policy
        self.budget = budget
        self._sessions = sessions
        self._actuals = Actuals()
        self._bills = Bills(minutes, KNOWN)
        self._changes = Changes(ITEMS)
        self._sums = TrialSums()

    def take(self, arrival: Arrival) -> None:
        """Fit a request as it would have been, and compare."""
        sums = self._sums
        sums.requests += 1
        conversation, budget = arrival.conversation, self.budget
        limit = fitting.limit_of(arrival.model, conversation, self.policy, budget, None)
        own = fitting.by_window(arrival.model, conversation, self.policy, budget, None)
        work = PlanRequest(conversation, arrival.counter, arrival.model, self.policy, limit, own)
        sums.over_before += work.total(conversation) > limit
        began = time.perf_counter()
        try:
            fitted, session = self._fitted(arrival)
        except BudgetTooSmall:
            sums.refused += 1
            return
        sums.ms.add((time.perf_counter() - began) * 1e3)
        sent = fitted.conversation
        if fitted.body is not arrival.recorded.body:
            sums.changed += 1
            # Parse the outgoing bytes again, so that the count is of the real request.
            sent = apis.parse(fitted.body, conversation.api, model=conversation.model)
            self._note(arrival, fitted, session)
        sums.over_after += work.total(sent) > limit
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
        session.configure(model=model, budget=self.budget, policy=self.policy)
        compactions = session.compactions
        fitted = session.fit_parsed(body, conversation)
        self._sums.compactions += session.compactions - compactions
        return fitted, session

    def _note(self, arrival: Arrival, fitted: fitting.Fitted, session: Session | None) -> None:
        place, messages = arrival.recorded.place, arrival.conversation.messages
        if session is not None:
            self._changes.note(arrival.key, lambda seen: in_session(session, arrival.counter, place, seen))
        else:
            self._changes.note(arrival.key, lambda seen: in_fitted(fitted, messages, place, seen))

    def _add(self, before: Bill, after: Bill) -> None:
        sums = self._sums
        sums.tokens_before += before.tokens
        sums.tokens_after += after.tokens
        sums.reused_before += before.reused
        sums.reused_after += after.reused
        sums.usd_before += before.usd or 0.0
        sums.usd_after += after.usd or 0.0
        sums.unpriced += before.usd is None

    def sums(self) -> TrialSums:
        """The sums so far."""
        changes, found = self._changes, self._sums
        found.compacted, found.archived = changes.compacted, changes.archived
        found.kinds, found.largest = changes.kinds, changes.largest
        return found
