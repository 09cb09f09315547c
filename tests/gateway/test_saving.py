"""When a turn is written: while the upstream works, and before the client gets its answer."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Turn
from brim.testing import Fail, FakeProvider, Say
from tests.gateway.conftest import Start, long_chat

SECONDS = 5.0


class Slow(InMemoryStore):
    """A store that writes no turn before the upstream was asked, and takes its time then."""

    def __init__(self, fake: FakeProvider) -> None:
        super().__init__()
        self._fake = fake
        self.asked_before: list[bool] = []

    def commit(self, turn: Turn) -> int | None:
        until = time.monotonic() + SECONDS
        while not self._fake.posts and time.monotonic() < until:
            time.sleep(0.005)
        self.asked_before.append(bool(self._fake.posts))
        threading.Event().wait(0.2)
        return super().commit(turn)


@pytest.mark.parametrize("answer", [Say("It said item three."), Fail(500)], ids=["answered", "failed"])
def test_a_turn_is_written_while_the_upstream_works_and_before_it_is_answered(
    answer: Any, start: Start, fake: FakeProvider
) -> None:
    store = Slow(fake)
    gateway = start(store=store)
    fake.script(answer)
    gateway.chat({"messages": long_chat(9)}, x_brim_budget="3000", x_brim_session="desk")
    (session,) = store.sessions()
    assert session.records == 20
    assert store.asked_before == [True]


def test_a_store_that_fails_meanwhile_is_told_with_the_turn(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    gateway = start(store=store)

    def broken(turn: Turn) -> int | None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(store, "commit", broken)
    answer = gateway.chat({"messages": long_chat(9)}, x_brim_budget="3000", x_brim_session="desk")
    assert answer.status == 200
    assert "the request went on without the store" in gateway.last.note
    monkeypatch.undo()
    gateway.chat({"messages": long_chat(9)}, x_brim_budget="3000", x_brim_session="desk")
    (session,) = store.sessions()
    assert session.records == 20
