"""Whatever breaks inside Brim, the gateway sends nothing oversized, no request hangs, and /metrics tells of it."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

import brim
from brim.gateway import planning_threads
from brim.memory.inmemory import InMemoryStore
from brim.testing import FakeProvider
from tests.sabotage import FAULTS, GROUPS, Target, agent_run, broken, chat, reached

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
    called = reached(group, lambda: send(running))
    running.gateway.fitter.fit_timeout = SECONDS
    assert called
    failed = {str(target): found for target in called if (found := survived(running, fake, target, fault))}
    assert failed == {}


def test_a_store_that_blocks_for_ever_costs_a_bounded_number_of_threads(
    start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning_threads, "MOST_LOST", 2)
    running = start(gateway={"fit_timeout": 0.05})
    blocked = threading.Event()

    def blocks(*_: Any, **__: Any) -> Any:
        blocked.wait()
        raise OSError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(InMemoryStore, "commit", blocks)
        for _ in range(3):
            assert send(running) == [200, 200]
        threads = [thread for thread in threading.enumerate() if thread.name == "brim-plan"]
        assert len(threads) <= 2 + planning_threads.THREADS
        sizes = [brim.count(post.json["messages"], model="gpt-4o").tokens for post in fake.posts]
        assert len(sizes) == 6
        assert max(sizes) <= BUDGET
        assert faults(running) >= 6
        blocked.set()
    assert send(running) == [200, 200]
