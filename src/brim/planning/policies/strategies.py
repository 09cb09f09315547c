"""The planner of each policy: takes a request, returns a plan."""

from __future__ import annotations

from functools import singledispatch

from brim.planning.plan import Plan
from brim.planning.policies import agent, concise, layered, rolling, trimming
from brim.planning.policies.policy import AgentPolicy, ConcisePolicy, LayeredPolicy, Policy, RollingPolicy
from brim.planning.request import PlanRequest


def run(request: PlanRequest) -> Plan:
    """Plan a request with its policy."""
    return _planned(request.policy, request)


@singledispatch
def _planned(policy: Policy, request: PlanRequest) -> Plan:
    raise TypeError(f"there is no planner of {type(policy).__name__}")


@_planned.register
def _(policy: AgentPolicy, request: PlanRequest) -> Plan:
    return agent.plan(request)


@_planned.register
def _(policy: RollingPolicy, request: PlanRequest) -> Plan:
    return rolling.plan(request, policy) if policy.summary else trimming.plan(request, policy)


@_planned.register
def _(policy: ConcisePolicy, request: PlanRequest) -> Plan:
    return concise.plan(request, policy)


@_planned.register
def _(policy: LayeredPolicy, request: PlanRequest) -> Plan:
    return layered.plan(request, policy)
