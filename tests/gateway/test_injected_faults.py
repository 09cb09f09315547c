"""Whatever breaks inside Brim, the gateway sends nothing oversized, no request hangs, and /metrics tells of it."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import brim
from brim.deadline import OutOfTime
from brim.gateway.fitting.fitter import Fitter
from brim.gateway.proxy.controls import Controls
from brim.gateway.server import planning_threads
from brim.gateway.server.jobs import FitDone, FitJob, ReadJob
from brim.gateway.server.worker import LargeBodies
from brim.models import Catalog
from brim.planning.policies.policy import Policy
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Limits
from brim.stores.resilient import open_store
from brim.stores.sqlite import SqliteStore
from brim.testing import FakeProvider
from tests.sabotage import FAULTS, GROUPS, Target, agent_run, broken, chat, chosen, targets

from .conftest import Running, Start
from .test_large import TEXT

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


def blocking(blocked: threading.Event, locked: bool = False) -> Callable[..., Any]:
    """The method of a store that waits outside Python; as a file on a dead disk does, with the store `locked`."""

    def waits(store: Any, *_: Any, **__: Any) -> Any:
        with store._lock if locked else nullcontext():
            return blocked.wait()

    return waits


def answered(running: Running, fake: FakeProvider) -> None:
    """Requests are answered within their budget; so are one that names no model and one that fits and teaches."""
    sent = len(fake.posts)
    assert send(running) == [200, 200]
    unnamed = {"messages": chat(next(_seeds))}
    assert running.ask("POST", "/v1/chat/completions", unnamed, {"user-agent": "editor/1"}).status == 200
    assert running.chat({"messages": [{"role": "user", "content": f"Hello, {next(_seeds)}."}]}).status == 200
    sizes = [brim.count(post.json["messages"], model="gpt-4o").tokens for post in fake.posts[sent : sent + 2]]
    assert max(sizes) <= BUDGET


# Actuals are asked for without a thread; `commit`, `load` and what it looks up hold the lock of this store: the next
# test has them.
LOCKED = "commit load shown find_prefix get_session get_state get_blob records get_actual put_actual".split()
OTHERS = [one for one in targets("stores") if one.name not in LOCKED]


@pytest.mark.parametrize("target", OTHERS, ids=lambda target: target.name)
def test_a_store_that_blocks_outside_python_holds_up_no_request(
    start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch, target: Target
) -> None:
    running, blocked = start(gateway={"fit_timeout": SECONDS}), threading.Event()
    monkeypatch.setattr(InMemoryStore, target.name, blocking(blocked))
    try:
        answered(running, fake)
    finally:
        blocked.set()
        running.settled()


@pytest.mark.parametrize("name", ["commit", "load", "put_blobs", "find_prefix", "get_value"])
def test_a_file_that_blocks_for_one_request_holds_up_no_other(
    start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    running = start(gateway={"fit_timeout": SECONDS}, store=open_store(tmp_path / "brim.db"))
    blocked = threading.Event()
    monkeypatch.setattr(SqliteStore, name, blocking(blocked, locked=True))
    try:
        answered(running, fake)
        answered(running, fake)
        assert faults(running) > 0 or name == "put_blobs"  # a commit brings its blobs along
    finally:
        blocked.set()
        running.settled()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("group", GROUPS)
def test_a_fault_on_a_large_body_is_left_to_the_plain_planner(group: str, fault: str) -> None:
    work = LargeBodies(None, Limits())

    def fitted() -> FitDone:
        body = json.dumps({"model": "gpt-4o", "messages": agent_run(next(_seeds))}).encode()
        work.do(ReadJob("openai_chat", "", 1 << 20, "", False, b""), [body])
        job = FitJob(Catalog().find("gpt-4o"), "up", Controls(budget=BUDGET), Policy.named("agent"), "auto", True)
        told, pieces = work.do(job, ())
        assert isinstance(told, FitDone), told
        assert brim.count(json.loads(b"".join(pieces)), model="gpt-4o").tokens <= BUDGET
        return told

    called = chosen(group, fitted, 2 + FAULTS.index(fault))
    work._fitter.fit_timeout = SECONDS
    for target in called:
        with broken(target, fault) as sabotage:
            told = fitted()
        assert not sabotage.calls or told.incidents, str(target)
    with broken(Target(Fitter, "fit"), "raises"):
        assert [incident.kind for incident in fitted().incidents] == ["planning"]


@pytest.mark.parametrize("fault", [*FAULTS, "blocks"])
def test_a_store_that_fails_costs_the_archive_of_a_large_request_and_not_its_answer(
    start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    running, blocked = start(gateway={"fit_timeout": SECONDS}), threading.Event()
    target = Target(InMemoryStore, "put_blobs")
    with broken(target, fault):
        if fault == "blocks":
            monkeypatch.setattr(InMemoryStore, "put_blobs", blocking(blocked))
        got = running.chat({"messages": [{"role": "user", "content": TEXT}, *chat(1)]}, x_brim_budget="5000")
        blocked.set()
        monkeypatch.undo()
    assert (got.status, got.number("tokens-after") <= 5_000) == (200, True)
    assert faults(running) == 1
    assert running.last.faults == 1
