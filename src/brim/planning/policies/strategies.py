"""Which planner a policy goes to. Each takes the same work and gives the same kind of outcome."""

from __future__ import annotations

from collections.abc import Callable

from brim.planning.policies import agent, concise, layered, rolling
from brim.planning.task import Outcome
from brim.planning.work import Work

PLANNERS: dict[str, Callable[[Work], Outcome]] = {
    "agent": agent.plan,
    "rolling": rolling.plan,
    "concise": concise.plan,
    "layered": layered.plan,
}


def run(work: Work) -> Outcome:
    """Plan the work by its policy."""
    return PLANNERS[work.policy.name](work)
