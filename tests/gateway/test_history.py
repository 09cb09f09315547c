"""Numbers over time and the last turns: kept in the store, the same after a restart, added up over processes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from brim import settings
from brim.apis import Usage
from brim.gateway.admin.numbers import SPANS, numbers
from brim.gateway.fitting.conversations import Conversations
from brim.gateway.observe import history as kept
from brim.gateway.observe.history import History
from brim.gateway.observe.turn_log import CHUNK, RING, TurnLog
from brim.gateway.observe.turns import GatewayTurn
from brim.gateway.proxy.client import Client
from brim.gateway.server.app import Gateway
from brim.gateway.server.options import options_of
from brim.gateway.server.serving import Server, address
from brim.stores.inmemory import InMemoryStore
from brim.stores.sqlite import SqliteStore
from brim.testing import FakeProvider

NOON = 1_790_000_000.0


def turn(number: int, at: float = NOON, **given: object) -> GatewayTurn:
    made = GatewayTurn(f"r{number}", number, "t~s1", at, "openai_chat", "gpt-4o", "openai", "app", "t", status=200)
    made.before, made.after, made.limit, made.upper, made.outcome = 200, 120, 150, 130, "done"
    made.changed, made.cost, made.saved, made.usage = True, 0.5, 0.25, Usage(120, 10, 60)
    for name, value in given.items():
        setattr(made, name, value)
    return made


def totals(history: History, now: float = NOON, **wanted: str) -> dict[str, float]:
    found: dict[str, float] = numbers(history, "24h", wanted, lambda _: True, now)["totals"]
    return found


def test_numbers_survive_a_restart(tmp_path: Path) -> None:
    with_store = SqliteStore(tmp_path / "brim.db")
    first = History(with_store, "here:1")
    first.add(turn(1))
    first.flush()
    again = History(with_store, "here:1")
    again.add(turn(2))
    assert totals(again)["requests"] == 2  # before it is written …
    again.flush()
    assert totals(again) == totals(History(with_store, "here:1"))  # … and after
    found = totals(again)
    assert (found["overflows_avoided"], found["tokens_before"], found["cached"]) == (2, 400, 120)
    assert (found["cost_usd"], found["saved_usd"]) == (1.0, 0.5)
    with_store.close()


def test_processes_that_share_a_store_are_added_up() -> None:
    store = InMemoryStore()
    one, two = History(store, "a:1"), History(store, "b:1")
    for history in (one, two, one):
        history.add(turn(1))
        history.flush()
    assert totals(one)["requests"] == totals(two)["requests"] == 3


def test_numbers_are_told_by_column_and_by_name() -> None:
    history = History(None, "")
    history.add(turn(1, NOON - 7_200))
    history.add(turn(2, model="gpt-4o-mini", client="other"))
    found = numbers(history, "24h", {}, lambda _: True, NOON)
    assert sum(point["requests"] for point in found["points"]) == 2
    assert len(found["points"]) == 48
    assert {row["name"]: row["requests"] for row in found["models"]} == {"gpt-4o": 1, "gpt-4o-mini": 1}
    assert totals(history, model="gpt-4o")["requests"] == 1
    assert totals(history, client="nobody")["requests"] == 0
    assert numbers(history, "1h", {}, lambda _: True, NOON)["totals"]["requests"] == 1


@pytest.mark.parametrize("span", SPANS)
def test_a_turn_of_this_moment_is_in_every_span(span: str) -> None:
    history, now = History(None, ""), time.time()
    history.add(turn(1, now))
    assert numbers(history, span, {}, lambda _: True, now)["totals"]["requests"] == 1


def test_the_usual_span_is_the_shortest_that_has_everything_of_the_last_day() -> None:
    history, store = History(None, ""), InMemoryStore()
    history.add(turn(1, NOON - 60))
    assert numbers(history, "", {}, lambda _: True, NOON)["span"] == "15m"
    history.add(turn(2, NOON - 1_800))
    assert numbers(history, "", {}, lambda _: True, NOON)["span"] == "1h"
    assert numbers(History(store, "a:1"), "", {}, lambda _: True, NOON)["span"] == "24h"


def test_the_last_minutes_are_not_told_where_other_processes_have_numbers_too() -> None:
    store = InMemoryStore()
    for name in ("a:1", "b:1"):
        history = History(store, name)
        history.add(turn(1, NOON - 60))
        history.flush()
    found = numbers(history, "15m", {}, lambda _: True, NOON)
    assert (found["span"], found["totals"]["requests"]) == ("1h", 2)
    assert "15m" not in found["spans"]


def test_a_tenant_sees_its_own_numbers_alone() -> None:
    history = History(None, "")
    history.add(turn(1, tenant="mine"))
    history.add(turn(2, tenant="theirs", model="secret-model"))
    found = numbers(history, "24h", {}, lambda tenant: tenant == "mine", NOON)
    assert found["totals"]["requests"] == 1
    assert "secret-model" not in str(found)


def test_names_that_clients_make_up_do_not_fill_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_ROWS", 10)
    history = History(InMemoryStore(), "here")
    for number in range(50):
        history.add(turn(number, model=f"m{number}"))
    assert len(list(history.rows(NOON - 3_600, NOON))) == 11
    assert totals(history)["requests"] == 50


def test_the_last_turns_are_restored_in_order(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "brim.db")
    log = TurnLog(store, "here:1")
    for number in range(1, 2 * CHUNK + 4):
        log.add(turn(number, NOON + number))
        log.flush()
    later = TurnLog(store, "here:1")
    later.add(turn(2 * CHUNK + 4, NOON + 2 * CHUNK + 4, note="the last"))
    later.flush()
    found = TurnLog(store, "elsewhere").restore(NOON + 3_600, 1_000)
    assert [one.number for one in found] == list(range(1, 2 * CHUNK + 5))
    assert (found[-1].note, found[-1].usage, found[-1].outcome) == ("the last", Usage(120, 10, 60), "done")
    store.close()


def test_what_is_kept_of_turns_has_a_bound() -> None:
    store = InMemoryStore()
    log = TurnLog(store, "here")
    for number in range(1, CHUNK * (RING + 3)):
        log.add(turn(number, NOON + number / 1_000))
        if not number % 500:
            log.flush()
    log.flush()
    found = TurnLog(store, "here").restore(NOON + 10, 10**6)
    assert len(found) <= CHUNK * RING
    assert found[-1].number == CHUNK * (RING + 3) - 1


def test_a_restored_conversation_goes_on_with_the_next_number() -> None:
    conversations = Conversations()
    conversations.restore([turn(3), turn(4)])
    live = conversations.get("t~s1")
    assert live is not None
    assert ([one.number for one in live.turns], live.client, live.tenant) == ([3, 4], "app", "t")
    conversations.add(live, turn(0))
    assert live.turns[-1].number == 5


def test_a_gateway_that_is_started_anew_shows_what_the_last_one_did(tmp_path: Path) -> None:
    async def run(ask: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        async with FakeProvider() as provider:
            options = options_of(settings.load(tmp_path, {}, gateway={"port": 0}), upstream=provider.url)
            gateway = Gateway(options, store=SqliteStore(tmp_path / "brim.db"))
            server = Server(gateway)
            bound = server.listen()
            running = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
            await server.ready.wait()
            if ask:
                client = Client(connect_timeout=5, read_timeout=30, connections=1)
                body = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}'
                url = f"{address(bound)}/v1/chat/completions"
                headers = [(b"content-type", b"application/json"), (b"x-brim-session", b"one")]
                async with await client.send("POST", url, headers, body) as answer:
                    await answer.read(1 << 20)
                await client.close()
            found = await asyncio.to_thread(gateway.views.numbers, "24h")
            sessions = gateway.views.sessions()
            server.stop()
            await running
            return found["totals"], sessions

    first, told = asyncio.run(run(True))
    again, restored = asyncio.run(run(False))
    assert again == first
    assert again["requests"] == 1
    assert [one["id"] for one in restored] == [one["id"] for one in told]
    assert restored[0]["tokens_after"] == told[0]["tokens_after"] > 0
