"""Whatever breaks inside Brim, a wrapped server's result is within its budget, and the wrapper counts the fault."""

from __future__ import annotations

import io
import itertools
import threading

import pytest

import brim
from brim.mcp import timed_archive
from brim.mcp.options import WrapperOptions
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.meta_budgets import ResultBudget
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.wrapper import tool_calls
from brim.mcp.wrapper.proxy import Wrapper
from tests.sabotage import FAULTS, Target, broken, chosen, contents

BUDGET = 120
_seeds = itertools.count(200_000)
# What is raised in a thread may arrive in a finalizer, which swallows it with a warning; then it is raised again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Wrapped:
    """The calls of a wrapper without a server: results go in, fitted results come out."""

    def __init__(self, seconds: float = 0.12) -> None:
        tokens = dict.fromkeys(("full", "standard", "compact", "minimal"), BUDGET)
        options = WrapperOptions(result_tokens=tokens, fit_timeout=seconds)  # type: ignore[arg-type]
        self.wrapper = Wrapper([], options, lambda _: None, log=ChildLog(io.BytesIO()), archive=MemoryArchive())
        self.calls = tool_calls.ToolCalls(self.wrapper)
        self.session = self.calls._sessions.of(None, modern=False)

    def fit(self, text: str) -> str:
        call = tool_calls.ToolCall(1, "read", {"query": "item"}, ResultBudget(), self.session, False, b"")
        fitted = self.calls._fit({"content": [{"type": "text", "text": text}]}, call)
        return "\n".join(block["text"] for block in fitted.result["content"])

    def all(self) -> list[str]:
        return [self.fit(text) for text in contents(next(_seeds)).values()]


def survived(wrapped: Wrapped, target: Target, fault: str) -> list[str]:
    before = wrapped.wrapper.faults.total()
    with broken(target, fault) as told:
        sizes = [count_tokens(text) for text in wrapped.all()]
    found = [f"{size} tokens" for size in sizes if size > BUDGET]
    return found + (["not counted"] if told.calls and wrapped.wrapper.faults.total() == before else [])


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("group", ["compactors", "detectors", "rankers"])
def test_a_fault_never_lets_an_oversized_result_through(group: str, fault: str) -> None:
    called = chosen(group, Wrapped(20.0).all, 3 * FAULTS.index(fault))
    wrapped = Wrapped()
    failed = {str(target): found for target in called if (found := survived(wrapped, target, fault))}
    assert failed == {}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_archive_that_fails_costs_the_handle_and_nothing_else(fault: str) -> None:
    wrapped = Wrapped()
    assert survived(wrapped, Target(MemoryArchive, "put"), fault) == []


def test_a_archive_that_blocks_outside_python_does_not_hang_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = threading.Event()
    monkeypatch.setattr(MemoryArchive, "put", lambda *_: blocked.wait())
    monkeypatch.setattr(MemoryArchive, "get", lambda *_: blocked.wait())
    monkeypatch.setattr(timed_archive, "REST", 0.0)
    wrapped = Wrapped()
    try:
        assert all(count_tokens(text) <= BUDGET for text in wrapped.all())
        assert wrapped.wrapper.faults["store"] > 0
        with pytest.raises(brim.NotFound, match="cannot be read now"):
            wrapped.wrapper.archive.get("brim:00")
        left = [thread for thread in threading.enumerate() if thread.name == "brim-archive"]
        assert len(left) <= timed_archive.MOST_LOST
    finally:
        blocked.set()


def test_a_archive_that_was_late_is_left_alone_for_a_while() -> None:
    wrapped = Wrapped()
    with broken(Target(MemoryArchive, "put"), "hangs") as told:
        wrapped.all()
    assert told.calls == 1
