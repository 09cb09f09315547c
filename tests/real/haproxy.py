"""Two gateways on one store behind the real HAProxy, as deploy/ configures it; one gateway is killed meanwhile.

    apt-get install haproxy
    make haproxy
    CONVERSATIONS=200 TURNS=40 make haproxy

Turns are at least 20: a conversation that never outgrew its window is in no store, and there is nothing to compare.
The gateways are processes of their own, the provider is the fake one, which refuses what is above its window. Once each
conversation stays with a gateway, as the file says, and once HAProxy gives each request to the other one than the last.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from brim.testing import FakeProvider, Say
from tests.stores.servers import Postgres

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
# The balancer, the load and the count of lost turns are those of `brim bench scale`.
from scale_parts import load as scale  # noqa: E402
from scale_parts.balanced import BY_HASH, SHIPPED, balancer, restarted, served_by  # noqa: E402

CONVERSATIONS = int(os.environ.get("CONVERSATIONS", "20"))
TURNS = max(20, int(os.environ.get("TURNS", "20")))


@pytest.fixture
def database() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="brim-haproxy-"))  # the server's own user does not see pytest's folders
    server = Postgres(folder)
    yield server
    server.stop("immediate")
    shutil.rmtree(folder, ignore_errors=True)


async def played(
    folder: Path, database: Postgres, configuration: str
) -> tuple[scale.Outcome, tuple[int, int], dict[str, int], list[int]]:
    """What clients saw, turns lost and twice, who served how many before and after one gateway was killed."""
    gateways = None
    try:
        async with FakeProvider(window=scale.WINDOW, model=scale.MODEL, default=Say("All right, noted.")) as provider:
            gateways = scale.Gateways(folder, [database.url] * 2, provider.url)
            with balancer(folder, configuration, gateways.urls) as balanced:
                load = scale.Load(balanced, CONVERSATIONS, TURNS, seed=1)
                running = asyncio.create_task(load.run())
                killed_at = []
                while not running.done() and not killed_at:
                    await asyncio.sleep(0.05)
                    if load.outcome.answered >= CONVERSATIONS * TURNS // 3:
                        killed_at.append(load.outcome.answered)
                        gateways.processes[0].kill()
                        gateways.processes[0].wait()
                await running
            gateways.stop()  # what waits is written
            kept = await asyncio.to_thread(scale.kept, database.url, load.chats)
            return load.outcome, kept, served_by(folder / "haproxy.log"), killed_at
    finally:
        for process in gateways.processes if gateways is not None else ():
            process.kill()
            process.wait()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", ["as shipped", "alternating"])
def test_no_turn_is_lost_and_none_is_too_long_when_one_gateway_behind_haproxy_is_killed(
    way: str, tmp_path: Path, database: Postgres
) -> None:
    assert BY_HASH in SHIPPED
    configuration = SHIPPED if way == "as shipped" else SHIPPED.replace(BY_HASH, "balance roundrobin")
    outcome, (lost, twice), served, killed_at = asyncio.run(played(tmp_path, database, configuration))
    print(
        f"\n{way}: {outcome.answered} answered, {outcome.again} sent again, {outcome.over} over, {lost} turns lost, "
        f"{twice} twice; killed after {killed_at}; served by {served}; prefix reuse {outcome.reuse:.3f}; "
        f"slowest {outcome.slowest:.1f} s"
    )
    assert killed_at
    assert outcome.failed == []
    assert outcome.answered == CONVERSATIONS * TURNS
    assert (outcome.over, lost, twice) == (0, 0, 0)
    assert min(served.get(f"gateway-{number}", 0) for number in (1, 2)) > 0


@pytest.mark.timeout(900)
def test_no_request_fails_while_gateways_are_restarted_one_after_the_other(tmp_path: Path, database: Postgres) -> None:
    async def rolled() -> scale.Load:
        async with FakeProvider(window=scale.WINDOW, model=scale.MODEL, default=Say("All right, noted.")) as provider:
            gateways = scale.Gateways(tmp_path, [database.url] * 2, provider.url)
            try:
                with balancer(tmp_path, SHIPPED, gateways.urls) as balanced:
                    load = scale.Load(balanced, CONVERSATIONS, TURNS, seed=1)
                    running = asyncio.create_task(load.run())
                    await restarted(gateways, load, CONVERSATIONS * TURNS // 4)
                    await running
            finally:
                gateways.stop()
            return load

    load = asyncio.run(rolled())
    assert load.outcome.failed == []
    assert (load.outcome.answered, load.outcome.again, load.outcome.over) == (CONVERSATIONS * TURNS, 0, 0)
    assert scale.kept(database.url, load.chats) == (0, 0)


@pytest.mark.timeout(300)
def test_a_conversation_stays_with_one_gateway(tmp_path: Path, database: Postgres) -> None:
    with FakeProvider(window=scale.WINDOW, model=scale.MODEL, default=Say("All right, noted.")) as provider:
        gateways = scale.Gateways(tmp_path, [database.url] * 2, provider.url)
        try:
            with balancer(tmp_path, SHIPPED, gateways.urls) as balanced:
                load = scale.Load(balanced, 1, 12, seed=1)
                asyncio.run(load.run())
        finally:
            gateways.stop()
    assert load.outcome.answered == 12
    assert list(served_by(tmp_path / "haproxy.log").values()) == [12]
