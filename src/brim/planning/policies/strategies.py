"""Which planner a policy goes to. Each takes the same work and gives the same kind of outcome."""

from __future__ import annotations

from functools import singledispatch

from brim.planning.policies import agent, concise, layered, rolling, trimming
from brim.planning.policies.policy import AgentPolicy, ConcisePolicy, LayeredPolicy, Policy, RollingPolicy
from brim.planning.task import Outcome
from brim.planning.work import Work


def run(work: Work) -> Outcome:
    """Plan the work by its policy."""
    return _planned(work.policy, work)


@singledispatch
def _planned(policy: Policy, work: Work) -> Outcome:
    raise TypeError(f"there is no planner of {type(policy).__name__}")


@_planned.register
def _(policy: AgentPolicy, work: Work) -> Outcome:
    return agent.plan(work)


@_planned.register
def _(policy: RollingPolicy, work: Work) -> Outcome:
    return rolling.plan(work, policy) if policy.summary else trimming.plan(work, policy)


@_planned.register
def _(policy: ConcisePolicy, work: Work) -> Outcome:
    return concise.plan(work, policy)


@_planned.register
def _(policy: LayeredPolicy, work: Work) -> Outcome:
    return layered.plan(work, policy)
