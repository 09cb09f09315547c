"""Runs a replay: each recorded request goes through every policy at every budget, in one pass over the recording."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from brim import models
from brim.errors import BadInput, BadSetting
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.replays.parts import MOST_PROBLEMS, PartSums, ReplayPlan, ReplayWork, joined
from brim.replays.processes import ReplayProcess
from brim.replays.recorded import Problem, Recorded
from brim.replays.result import Replay
from brim.replays.sharing import ReplayWorker, SharedReplay
from brim.replays.sources import ReplaySource, opened

CACHE_MINUTES = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a replay: requests and bytes read, and the total bytes (0 if unknown)."""

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
    jobs: int = 1,
    ray: str = "",
    on_progress: OnProgress | None = None,
    on_problem: OnProblem | None = None,
) -> Replay:
    """Show what each policy at each budget would have done to recorded requests.

    A source is a file (JSON lines, JSON, .gz or .zst of these, or the gateway's store), an open binary file, or a list
    of request bodies. A budget of None is each model's own limit. `model` replaces the models that the requests name.
    `sessions=False` fits each request by itself; `transcripts=True` splits each conversation into its requests. Lines
    that can't be read are skipped and reported, or raise BadInput if `strict`. `jobs` processes share the work, or the
    Ray cluster at the address `ray`, with the same result.

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
    pairs = tuple((one, tokens) for one in made for tokens in dict.fromkeys(budgets))
    found = models.find(model) if isinstance(model, str) else model
    plan = ReplayPlan(pairs, found, sessions, cache_minutes, tuple(models.added()))
    reading = _Reading(sources, transcripts, strict, on_progress, on_problem)
    began = time.perf_counter()
    if ray:
        # Ray is an optional extra, so import it only if a cluster is requested.
        cluster = import_module("brim.replays.cluster")
        with cluster.connected(ray) as cores:
            sums = reading.shared(lambda: cluster.ReplayActor(plan), cores)
    elif jobs > 1:
        sums = reading.shared(lambda: ReplayProcess(plan), jobs)
    else:
        sums = reading.alone(ReplayWork(plan))
    return _result(plan, reading, sums, time.perf_counter() - began)


class _Reading:
    """Reads the sources once, passes requests on, and reports progress."""

    def __init__(
        self,
        sources: Sequence[ReplaySource],
        transcripts: bool,
        strict: bool,
        on_progress: OnProgress | None,
        on_problem: OnProblem | None,
    ) -> None:
        self._sources = sources
        self._transcripts = transcripts
        self._strict = strict
        self._on_progress = on_progress
        self._on_problem = on_problem
        self._listed = [opened(given, transcripts) for given in sources]
        self._size = sum(one.size for one in self._listed) if all(one.size for one in self._listed) else 0
        self._read = 0
        self._requests = 0
        self.unread = PartSums()
        """What could not be read as a request at all."""

    def alone(self, work: ReplayWork) -> dict[int, PartSums]:
        """Replay in this process."""
        for number, found in self._numbered():
            problem = work.one(number, found)
            self._go_on(problem is None, [problem] if problem is not None else [])
        return work.sums()

    def shared(self, start: Callable[[], ReplayWorker], count: int) -> dict[int, PartSums]:
        """Replay in this many other processes."""
        again = all(isinstance(one, (str, Path, list, tuple)) for one in self._sources)
        others = SharedReplay(start, count, self._anew if again else None)
        try:
            for number, found in self._numbered():
                others.take(number, found)
                self._told(others)
            sums = others.sums()
            self._told(others)
            return sums
        finally:
            others.close()

    def _told(self, others: SharedReplay) -> None:
        done, problems = others.told()
        if done or problems:
            self._go_on(done, [problem for _, problem in problems])

    def _numbered(self) -> Iterator[tuple[int, Recorded]]:
        """The requests with their numbers; reports problems."""
        number = -1
        for source in self._listed:
            before = self._read
            for found in source.found:
                number += 1
                self._read = before + source.position
                if isinstance(found, Recorded):
                    yield number, found
                else:
                    self.unread.left_out += 1
                    if len(self.unread.problems) < MOST_PROBLEMS:
                        self.unread.problems.append((number, found))
                    self._go_on(0, [found])
            self._read = before + source.size

    def _anew(self) -> Iterator[tuple[int, Recorded | Problem]]:
        """Read everything in the sources again."""
        return enumerate(found for given in self._sources for found in opened(given, self._transcripts).found)

    def _go_on(self, done: int, problems: Sequence[Problem]) -> None:
        for problem in problems:
            if self._strict:
                raise BadInput(problem.place, problem.problem)
            if self._on_problem is not None:
                self._on_problem(problem)
        self._requests += done
        if self._on_progress is not None:
            self._on_progress(Progress(self._requests, self._read, self._size))


def _result(plan: ReplayPlan, reading: _Reading, parts: Mapping[int, PartSums], seconds: float) -> Replay:
    whole = joined([*(parts[number] for number in sorted(parts)), reading.unread], len(plan.trials))
    return Replay(
        outcomes=tuple(sums.outcome(*pair) for sums, pair in zip(whole.trials, plan.trials, strict=True)),
        requests=whole.requests,
        conversations=whole.conversations,
        models=dict(sorted(whole.models.items())),
        problems=tuple(problem for _, problem in whole.problems),
        left_out=whole.left_out,
        count_ms_p50=whole.count_ms.percentile(0.5),
        count_ms_p95=whole.count_ms.percentile(0.95),
        seconds=seconds,
        sessions=plan.sessions,
    )
