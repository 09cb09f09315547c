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

# Of each part of the conversations, by all trials together, this is held in memory.
# So many conversations are held at once; others come back from the store if they go on.
LIVE = 4
# Of so many the last request is known, and of so many of their items what became of them.
KNOWN = 250
ITEMS = 1_000
# So many bytes of conversations that are not held are kept for that.
STORE_BYTES = 8 << 20


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
            # What would have gone out is read again from its bytes, so that the count is of the real thing.
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
        session.model, session.budget, session.policy = model, self.budget, self.policy
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
        """What it has added up so far."""
        changes, found = self._changes, self._sums
        found.compacted, found.archived = changes.compacted, changes.archived
        found.kinds, found.largest = changes.kinds, changes.largest
        return found
