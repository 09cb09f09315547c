"""Pages over a store with 100,000 sessions, beside the same pages over one with 100."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser

from brim import settings
from brim.apis import Usage
from brim.gateway.observe.journal import Journal
from brim.gateway.observe.metrics import Metrics
from brim.gateway.observe.turns import GatewayTurn
from brim.gateway.server.app import Gateway
from brim.gateway.server.options import options_of
from brim.gateway.server.serving import Server, address, dashboard
from brim.stores.sqlite import SqliteStore

FEW, MANY = 100, 100_000
TIMES, LOADS = 3, 7
PATHS = ("/", "/?span=30d", "/sessions", "/sessions?query=9", "/models", "/settings")
# Ten days of traffic, so that every span has something to add up.
DAYS = 10


def fill(path: Path, sessions: int) -> str:
    """A store with so many sessions of one turn each; the id of the last."""
    store = SqliteStore(path)
    journal = Journal(Metrics(), store, "filler:1")
    now, id = time.time(), ""
    for number in range(sessions):
        id = f"t~s{number}.{number:08x}"
        at = now - DAYS * 86_400 * (1 - number / sessions)
        store.put_session(id, {"model": "gpt-4o", "client": f"client-{number % 20}"})
        turn = GatewayTurn(f"r{number}", 1, id, at, "openai_chat", "gpt-4o", "openai", f"client-{number % 20}", "t")
        turn.before, turn.after, turn.limit, turn.status, turn.outcome = 900, 500, 800, 200, "done"
        turn.usage, turn.cost, turn.saved = Usage(500, 20, 300), 0.01, 0.02
        journal.finish(turn)
        if not number % 2_000:
            journal._flush()
    journal._flush()
    store.close()
    return id


@contextmanager
def gateway(path: Path, folder: Path) -> Iterator[str]:
    """A gateway over a filled store; the address of its dashboard."""
    ready, stopping = threading.Event(), threading.Event()
    found: list[str] = []

    async def run() -> None:
        options = options_of(settings.load(folder, {}, gateway={"port": 0}))
        server = Server(Gateway(options, store=SqliteStore(path), dashboard=dashboard()))
        bound = server.listen()
        running = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
        await server.ready.wait()
        found.append(f"{address(bound)}/brim")
        ready.set()
        await asyncio.to_thread(stopping.wait)
        server.stop()
        await running

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert ready.wait(60)
    yield found[0]
    stopping.set()
    thread.join(30)


def seconds(browser: Browser, base: str, paths: list[str]) -> dict[str, float]:
    """The median time until a page is there, in the browser."""
    found = {}
    for path in paths:
        page = browser.new_page()
        page.goto(base + path)
        times = []
        for _ in range(LOADS):
            page.reload()
            times.append(page.evaluate("performance.getEntriesByType('navigation')[0].duration"))
        found[path] = statistics.median(times) / 1e3
        page.close()
    return found


def test_no_page_is_slower_than_three_times_with_a_thousand_times_the_sessions(
    browser: Browser, tmp_path: Path
) -> None:
    told = {}
    for sessions in (FEW, MANY):
        path = tmp_path / f"{sessions}.db"
        last = fill(path, sessions)
        with gateway(path, tmp_path) as base:
            paths = [*PATHS, f"/sessions/{last}", f"/sessions/{last}/turns/1"]
            times = seconds(browser, base, paths)
            told[sessions] = [times[path] for path in paths]
    ratios = {path: many / few for path, few, many in zip(paths, told[FEW], told[MANY], strict=True)}
    for path, few, many in zip(paths, told[FEW], told[MANY], strict=True):
        print(f"{path}: {few * 1e3:.0f} ms with {FEW:,} sessions, {many * 1e3:.0f} ms with {MANY:,}")
    assert {path: round(ratio, 2) for path, ratio in ratios.items() if ratio > TIMES} == {}
