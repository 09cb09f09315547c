"""Whatever breaks inside Brim, the gateway sends nothing oversized, no request hangs, and /metrics tells of it."""

from __future__ import annotations

import asyncio
import itertools
import threading

import pytest

import brim
from brim.deadline import OutOfTime
from brim.gateway.server import planning_threads
from brim.testing import FakeProvider
from tests.sabotage import FAULTS, GROUPS, Target, agent_run, broken, chat, chosen

from .conftest import Running, Start

BUDGET = 900
SECONDS = 0.12
_seeds = itertools.count(100_000)
# What is raised in a thread may arrive in a finalizer, which swallows it with a warning; then it is raised again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def faults(running: Running) -> float:
    """What /metrics tells of faults, added up."""
    lines = running.ask("GET", "/metrics").body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("brim_faults_total{"))


def send(running: Running) -> list[int]:
    """Send a run of an agent and a chat, both too large; the statuses of the answers."""
    seed = next(_seeds)
    return [running.chat({"messages": made(seed)}, x_brim_budget=str(BUDGET)).status for made in (agent_run, chat)]


def survived(running: Running, fake: FakeProvider, target: Target, fault: str) -> list[str]:
    before, sent = faults(running), len(fake.posts)
    with broken(target, fault) as told:
        statuses = send(running)
        running.settled()
    problems = [f"status {status}" for status in statuses if status != 200]
    sizes = [brim.count(post.json["messages"], model="gpt-4o").tokens for post in fake.posts[sent:]]
    problems += [f"{size} tokens" for size in sizes if size > BUDGET]
    if told.calls and faults(running) == before:
        problems.append("not in /metrics")
    return problems


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("group", GROUPS)
def test_a_fault_never_lets_an_oversized_request_through(
    start: Start, fake: FakeProvider, group: str, fault: str
) -> None:
    running = start(gateway={"fit_timeout": 20.0})
    called = chosen(group, lambda: send(running), 4 + FAULTS.index(fault))
    running.gateway.fitter.fit_timeout = SECONDS
    failed = {str(target): found for target in called if (found := survived(running, fake, target, fault))}
    assert failed == {}
    running.gateway.fitter.fit_timeout = 20.0
    assert running.gateway.views.live()["faults"] > 0


def test_planning_that_blocks_for_ever_costs_a_bounded_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning_threads, "MOST_LOST", 2)
    blocked = threading.Event()

    async def scene() -> None:
        threads = planning_threads.PlanningThreads()
        for _ in range(4):
            with pytest.raises(OutOfTime):
                await threads.run(0.05, blocked.wait)
        assert threads.lost == 2
        blocked.set()
        while threads.lost:
            await asyncio.sleep(0.005)
        assert await threads.run(20.0, lambda: 7) == 7
        threads.close()

    asyncio.run(scene())
