"""Replay: each recorded request goes through every policy at every budget, in one pass over what was recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from brim import apis, models
from brim.errors import BadBody, BadInput, BadSetting, UnknownModel
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.replays.bills import Bills
from brim.replays.recorded import Problem, Recorded
from brim.replays.result import Replay, Times
from brim.replays.sources import ReplaySource, opened
from brim.replays.trial import KNOWN, Arrival, Trial, followed
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

# So many problems are kept with the result; all of them are told as they come, and counted.
MOST_PROBLEMS = 100
# A budget under which everything passes: what is sent without Brim.
WHOLE = 1 << 50
CACHE_MINUTES = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is: requests and bytes that were read, and of how many bytes (0: not known)."""

    requests: int
    read: int
    size: int


OnProgress = Callable[[Progress], None]
OnProblem = Callable[[Problem], None]


def replay(
    *sources: ReplaySource,
    budget: int | Iterable[int | None] | None = None,
    policy: str | Policy | Iterable[str | Policy] = "agent",
    model: str | Model | None = None,
    sessions: bool = True,
    transcripts: bool = False,
    strict: bool = False,
    cache_minutes: float = CACHE_MINUTES,
    on_progress: OnProgress | None = None,
    on_problem: OnProblem | None = None,
) -> Replay:
    """What each policy at each budget would have done to recorded requests.

    A source is a file (JSON lines, JSON, .gz or .zst of these, or the gateway's store), an open binary file, or a list
    of request bodies. A budget of None is each model's own limit. `model` stands in for the models that the requests
    name. `sessions=False` fits each request by itself; `transcripts=True` takes each conversation apart into the
    requests that it was made of. Lines that cannot be read are left out and told, or raise BadInput if `strict`.

    Example: brim.replay("traffic.jsonl", budget=[8_000, 20_000], policy=["agent", "rolling"]).outcomes[0].tokens_after
    """
    budgets: list[int | None] = [budget] if budget is None or isinstance(budget, int) else list(budget)
    policies = [policy] if isinstance(policy, (str, Policy)) else list(policy)
    if not budgets or not policies or not sources:
        raise BadSetting("replay", "needs at least one source, one budget and one policy")
    for tokens in budgets:
        if tokens is not None and tokens < 1:
            raise BadSetting("budget", f"{tokens} is not a number of tokens: it must be 1 or more")
    made = dict.fromkeys(one if isinstance(one, Policy) else Policy.named(one) for one in policies)
    pairs = [(one, tokens) for one in made for tokens in dict.fromkeys(budgets)]
    number = len(pairs)
    trials = [Trial(*pair, followed(number) if sessions else None, cache_minutes) for pair in pairs]
    run = _Run(trials, model, cache_minutes, strict, on_problem)
    began = time.perf_counter()
    listed = [opened(given, transcripts) for given in sources]
    size = sum(one.size for one in listed) if all(one.size for one in listed) else 0
    done = 0
    for source in listed:
        for found in source.found:
            run.take(found)
            if on_progress is not None:
                on_progress(Progress(run.requests, done + source.position, size))
        done += source.size
    return run.result(time.perf_counter() - began, sessions)


class _Run:
    """Reads requests, recognises their conversations, and hands them to every trial."""

    def __init__(
        self,
        trials: list[Trial],
        model: str | Model | None,
        minutes: float,
        strict: bool,
        on_problem: OnProblem | None,
    ) -> None:
        self.requests = 0
        self._trials = trials
        self._model = models.find(model) if isinstance(model, str) else model
        self._strict = strict
        self._on_problem = on_problem
        self._problems: list[Problem] = []
        self._left_out = 0
        self._whole = followed(len(trials))
        self._actuals = Actuals()
        self._bills = Bills(minutes, KNOWN)
        self._counters: dict[tuple[Model, str], Counter] = {}
        self._conversations: set[str] = set()
        self._models: dict[str, int] = {}
        self._ms = Times()

    def take(self, found: Recorded | Problem) -> None:
        if isinstance(found, Problem):
            self._leave_out(found)
            return
        try:
            arrival = self._arrival(found)
        except (BadBody, UnknownModel) as problem:
            self._leave_out(Problem(found.place, _advice(problem)))
            return
        self.requests += 1
        self._models[arrival.model.name] = self._models.get(arrival.model.name, 0) + 1
        for trial in self._trials:
            trial.take(arrival)

    def _arrival(self, recorded: Recorded) -> Arrival:
        """A request that was read and counted, in the conversation that it goes on with."""
        began = time.perf_counter()
        name = self._model.name if self._model is not None else recorded.model
        conversation = apis.parse(recorded.body, recorded.api, model=name)
        model = self._model or models.find(conversation.model)
        counter = self._counters.get((model, conversation.api))
        if counter is None:
            counter = self._counters[model, conversation.api] = Counter(model, conversation.api, self._actuals)
        counter.total(conversation)
        self._ms.add((time.perf_counter() - began) * 1e3)
        given: Mapping[str, Any] = {"model": model, "actuals": self._actuals, "recall": "off", "breakpoints": False}
        session = self._whole.of(conversation, recorded.session or None, budget=WHOLE, **given)
        session.model, session.budget = model, WHOLE
        session.fit_parsed(recorded.body, conversation)
        self._conversations.add(session.id)
        before = self._bills.bill(session.id, conversation, counter, model.prices, recorded.at)
        return Arrival(recorded, conversation, model, counter, session.id, before)

    def _leave_out(self, problem: Problem) -> None:
        if self._strict:
            raise BadInput(problem.place, problem.problem)
        self._left_out += 1
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)

    def result(self, seconds: float, sessions: bool) -> Replay:
        return Replay(
            outcomes=tuple(trial.outcome() for trial in self._trials),
            requests=self.requests,
            conversations=len(self._conversations),
            models=dict(sorted(self._models.items())),
            problems=tuple(self._problems),
            left_out=self._left_out,
            count_ms_p50=self._ms.percentile(0.5),
            count_ms_p95=self._ms.percentile(0.95),
            seconds=seconds,
            sessions=sessions,
        )


def _advice(problem: BadBody | UnknownModel) -> str:
    """A problem with the way out of it."""
    if isinstance(problem, UnknownModel) and not problem.name:
        return "names no model: say which with model= (--model)"
    if isinstance(problem, UnknownModel):
        return f"{problem}; or say which model to take with model= (--model)"
    return str(problem)
