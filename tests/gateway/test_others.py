"""Pages, sessions and metrics tell of all gateways on a store, whichever of them is asked."""

from __future__ import annotations

from typing import Any

import pytest

from brim.gateway.observe import others, turn_log
from brim.gateway.observe.turn_log import TurnLog
from brim.gateway.observe.turns import GatewayTurn
from brim.stores.inmemory import InMemoryStore
from brim.testing import FakeProvider

from .conftest import Running, Start, long_chat
from .test_faults import until


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(others, "TOLD_SECONDS", 0.0)


@pytest.fixture
def both(start: Start) -> tuple[Running, Running]:
    store = InMemoryStore()
    return start(store=store, group="one machine"), start(store=store, group="one machine")


def hi(gateway: Running, text: str = "hi", **headers: str) -> None:
    assert gateway.chat({"messages": [{"role": "user", "content": text}]}, **headers).status == 200
    gateway.settled()


def number(text: str, name: str) -> float:
    """The sum of a metric over its labels."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def metrics(gateway: Running) -> str:
    return gateway.ask("GET", "/metrics").body.decode()


def test_each_gateway_lists_the_sessions_of_all(both: tuple[Running, Running]) -> None:
    one, other = both
    hi(one, x_brim_session="desk")
    hi(other, x_brim_session="shop")
    for gateway in both:
        until(lambda gateway=gateway: len(gateway.get("/brim/v1/sessions")["sessions"]) == 2)
        listed = gateway.get("/brim/v1/sessions")["sessions"]
        assert [row["id"].partition("~")[2].partition(".")[0] for row in listed] == ["shop", "desk"]
        assert [row["requests"] for row in listed] == [1, 1]


def test_the_turns_of_a_conversation_that_moves_stand_in_their_order_on_every_gateway(
    both: tuple[Running, Running],
) -> None:
    chat = long_chat(8)
    for place, end in enumerate((3, 5, 7, 9, 11)):
        both[place % 2].chat({"messages": chat[:end]}, x_brim_session="desk", x_brim_budget="2500")
    session = both[0].get("/brim/v1/sessions")["sessions"][0]["id"]
    for gateway in both:
        gateway.settled()
        until(lambda gateway=gateway: len(gateway.get(f"/brim/v1/sessions/{session}")["turns"]) == 5)
        turns = gateway.get(f"/brim/v1/sessions/{session}")["turns"]
        assert [turn["number"] for turn in turns] == [1, 2, 3, 4, 5]
        sizes = [turn["tokens_before"] for turn in turns]
        assert sizes == sorted(sizes)
        assert gateway.get(f"/brim/v1/sessions/{session}")["requests"] == 5
        assert gateway.get(f"/brim/v1/sessions/{session}/turns/2")["tokens_before"] == sizes[1]


def test_totals_and_the_last_turns_are_those_of_all(both: tuple[Running, Running]) -> None:
    one, other = both
    for gateway, times in ((one, 2), (other, 3)):
        for time in range(times):
            hi(gateway, f"hi {time}")
    until(lambda: one.get("/brim/v1/live")["requests"] == 5)
    told = one.get("/brim/v1/live")
    assert len(told["turns"]) == 5
    assert told["tokens_before"] == sum(turn["tokens_before"] for turn in told["turns"])


def test_metrics_are_the_sum_of_the_processes_behind_one_address(start: Start) -> None:
    store = InMemoryStore()
    here = [start(store=store, group="here") for _ in range(2)]
    there = start(store=store, group="there")
    for gateway in (*here, here[1], there):
        hi(gateway)
    for gateway in here:
        until(lambda gateway=gateway: number(metrics(gateway), "brim_requests_total") == 3)
        assert number(metrics(gateway), "brim_request_seconds_count") == 3
        assert number(metrics(gateway), 'brim_request_seconds_bucket{api="openai_chat",le="+Inf"}') == 3
    assert number(metrics(there), "brim_requests_total") == 1


def test_the_counters_of_a_process_end_with_it(start: Start) -> None:
    store = InMemoryStore()
    stays, ends = start(store=store, group="here"), start(store=store, group="here")
    for gateway in (stays, ends):
        hi(gateway)
    until(lambda: number(metrics(stays), "brim_requests_total") == 2)
    ends.call(ends.gateway.close())
    assert number(metrics(stays), "brim_requests_total") == 1


def test_a_store_that_does_not_answer_leaves_pages_with_what_is_known(start: Start, fake: FakeProvider) -> None:
    class Broken(InMemoryStore):
        broken = False

        def values(self, prefix: str) -> Any:
            if self.broken:
                raise OSError("gone")
            return super().values(prefix)

    store = Broken()
    gateway = start(store=store)
    hi(gateway)
    store.broken = True
    assert gateway.get("/brim/v1/live")["requests"] == 1
    assert number(metrics(gateway), "brim_requests_total") == 1


def test_a_gateway_that_looks_late_sees_all_that_the_log_still_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_log, "CHUNK", 4)
    monkeypatch.setattr(turn_log, "RING", 3)
    store = InMemoryStore()
    writer, reader = TurnLog(store, "writer"), TurnLog(store, "reader")

    def written(*numbers: int) -> None:
        for number in numbers:
            turn = GatewayTurn(f"{number}", 1, "a~b", 1e9 + number, "openai_chat", "gpt-4o", "openai", "test")
            writer.add(turn)
            writer.flush()

    def seen() -> list[int]:
        return [int(turn.id) for turn in reader.follow(1e9 + 99)]

    written(*range(6))
    assert seen() == [0, 1, 2, 3, 4, 5]
    written(*range(6, 9))
    assert seen() == [6, 7, 8]
    written(*range(9, 30))
    assert seen() == list(range(20, 30))
    assert seen() == []
    written(30)
    assert seen() == [30]
