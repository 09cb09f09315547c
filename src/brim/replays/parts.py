"""Divides the conversations of a replay into a fixed number of parts with separate memory.

So the result doesn't depend on the number of processes, and the memory of each part is limited.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from brim import apis, models
from brim.conversation import Conversation
from brim.errors import BadBody, UnknownModel
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.replays.bills import Bills
from brim.replays.recorded import Problem, Recorded
from brim.replays.result import Times
from brim.replays.sums import TrialSums
from brim.replays.trial import KNOWN, Arrival, Trial, followed
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

# The number of parts, and so the most processes that can be useful.
PARTS = 32
# The most problems to keep with the result; all of them are reported as they occur, and counted.
MOST_PROBLEMS = 100
# A window that fits everything, for what would be sent without Brim.
WHOLE = 1 << 50


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The policies and budgets to try, with the models from the settings, which other processes haven't read."""

    trials: tuple[tuple[Policy, int | None], ...]
    model: Model | None = None
    sessions: bool = True
    cache_minutes: float = 5.0
    added: tuple[Model, ...] = ()


@dataclass(slots=True)
class PartSums:
    """The results of a part."""

    trials: list[TrialSums] = field(default_factory=list)
    requests: int = 0
    conversations: int = 0
    models: Tally[str] = field(default_factory=Tally)
    problems: list[tuple[int, Problem]] = field(default_factory=list)
    left_out: int = 0
    count_ms: Times = field(default_factory=Times)


def part_of(recorded: Recorded, conversation: Conversation) -> int:
    """The part a request belongs to, by the client's session, else by the start of its conversation."""
    begins = next((message.digest for message in conversation.messages if message.role != "system"), b"")
    key = recorded.session.encode() or begins
    return int.from_bytes(hashlib.blake2b(key, digest_size=4).digest()) % PARTS


class ReplayWork:
    """One process's share of a replay: takes requests of any parts, in order within each conversation."""

    def __init__(self, plan: ReplayPlan) -> None:
        self._plan = plan
        self._parts: dict[int, _Part] = {}
        self._counters: dict[tuple[Model, str], Counter] = {}
        self._actuals = Actuals()
        for model in plan.added:
            models.add(model)

    def take(self, requests: Iterable[tuple[int, Recorded]]) -> tuple[int, list[tuple[int, Problem]]]:
        """Replay requests with their numbers in the input; returns how many succeeded, and problems with others."""
        done, problems = 0, []
        for number, recorded in requests:
            problem = self.one(number, recorded)
            if problem is None:
                done += 1
            else:
                problems.append((number, problem))
        return done, problems

    def one(self, number: int, recorded: Recorded) -> Problem | None:
        """Replay a request; returns what is wrong with it, if anything."""
        began = time.perf_counter()
        try:
            conversation, counter, model = self._read(recorded)
        except (BadBody, UnknownModel) as problem:
            told = Problem(recorded.place, _advice(problem))
            self._part(0).leave_out(number, told)
            return told
        counter.total(conversation)
        ms = (time.perf_counter() - began) * 1e3
        self._part(part_of(recorded, conversation)).take(recorded, conversation, counter, model, ms)
        return None

    def _read(self, recorded: Recorded) -> tuple[Conversation, Counter, Model]:
        named = self._plan.model
        conversation = apis.parse(recorded.body, recorded.api, model=named.name if named else recorded.model)
        model = named or models.find(conversation.model)
        counter = self._counters.get((model, conversation.api))
        if counter is None:
            counter = self._counters[model, conversation.api] = Counter(model, conversation.api, self._actuals)
        return conversation, counter, model

    def _part(self, number: int) -> _Part:
        found = self._parts.get(number)
        if found is None:
            found = self._parts[number] = _Part(self._plan, self._actuals)
        return found

    def sums(self) -> dict[int, PartSums]:
        """The results by part."""
        return {number: part.result() for number, part in self._parts.items()}


class _Part:
    def __init__(self, plan: ReplayPlan, actuals: Actuals) -> None:
        number = len(plan.trials)
        self._trials = [
            Trial(*pair, followed(number) if plan.sessions else None, plan.cache_minutes) for pair in plan.trials
        ]
        self._whole = followed(number)
        self._bills = Bills(plan.cache_minutes, KNOWN)
        self._actuals = actuals
        self._conversations: set[str] = set()
        self._sums = PartSums()

    def take(self, recorded: Recorded, conversation: Conversation, counter: Counter, model: Model, ms: float) -> None:
        sums = self._sums
        sums.requests += 1
        sums.models[model.name] += 1
        sums.count_ms.add(ms)
        endless = replace(model, window=WHOLE, max_output=None)
        given: dict[str, Any] = {"model": endless, "actuals": self._actuals, "recall": "off", "breakpoints": False}
        session = self._whole.of(conversation, recorded.session or None, **given)
        session.configure(model=endless)
        session.fit_parsed(recorded.body, conversation)
        self._conversations.add(session.id)
        before = self._bills.bill(session.id, conversation, counter, model.prices, recorded.at)
        arrival = Arrival(recorded, conversation, model, counter, session.id, before)
        for trial in self._trials:
            trial.take(arrival)

    def leave_out(self, number: int, problem: Problem) -> None:
        self._sums.left_out += 1
        if len(self._sums.problems) < MOST_PROBLEMS:
            self._sums.problems.append((number, problem))

    def result(self) -> PartSums:
        self._sums.trials = [trial.sums() for trial in self._trials]
        self._sums.conversations = len(self._conversations)
        return self._sums


def joined(parts: Sequence[PartSums], trials: int) -> PartSums:
    """The sums of all parts."""
    found = PartSums([TrialSums.joined([part.trials[n] for part in parts if part.trials]) for n in range(trials)])
    for part in parts:
        found.requests += part.requests
        found.conversations += part.conversations
        found.models += part.models
        found.problems += part.problems
        found.left_out += part.left_out
    found.problems = sorted(found.problems, key=lambda one: one[0])[:MOST_PROBLEMS]
    found.count_ms = Times.joined([part.count_ms for part in parts])
    return found


def _advice(problem: BadBody | UnknownModel) -> str:
    """A problem with advice on how to solve it."""
    if isinstance(problem, UnknownModel) and not problem.name:
        return "names no model: say which with model= (--model)"
    if isinstance(problem, UnknownModel):
        return f"{problem}; or say which model to take with model= (--model)"
    return str(problem)
