"""A real browser on dashboards that are served on loopback. Runs only with BRIM_BROWSER set: see docs/dashboard.md."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from brim import settings
from brim.dashboard.app import create
from brim.gateway.demo import playing, reader
from brim.gateway.server.serving import Server, address
from brim.testing import FakeProvider
from tests.dashboard.sample import Sample

try:
    from playwright.sync_api import Browser, sync_playwright
except ImportError:
    collect_ignore_glob = ["test_*.py"]

if not os.environ.get("BRIM_BROWSER"):
    collect_ignore_glob = ["test_*.py"]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def sample() -> Sample:
    return Sample(content=True, turns=24, start=time.time() - 1_400, sticky=True)


@contextmanager
def served(data: Sample) -> Iterator[str]:
    """A dashboard of this data; its address."""
    app = Starlette(routes=[Mount("/brim", app=create(data))])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", ws="none"))
    bound = server.config.bind_socket()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([bound])), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}/brim"
    server.should_exit = True
    thread.join(10)
    bound.close()


@pytest.fixture(scope="session")
def url(sample: Sample) -> Iterator[str]:
    """The address of the dashboard of the sample."""
    with served(sample) as found:
        yield found


@pytest.fixture(scope="session")
def empty() -> Iterator[str]:
    """The address of a dashboard that has seen nothing yet."""
    data = Sample(content=True, turns=1)
    data.found.clear()
    data.last.clear()
    with served(data) as found:
        yield found


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the demo's dashboard, played to its end through a real gateway."""
    loaded = settings.load(tmp_path_factory.mktemp("demo"), {}, gateway={"port": 0, "log_content": True})
    over, stopping = threading.Event(), threading.Event()
    found: list[str] = []

    async def run() -> None:
        async with FakeProvider(window=playing.WINDOW, reader=reader.reply) as provider:
            server = Server(playing.prepared(loaded, provider.url))
            bound = server.listen()
            running = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
            await playing.play(server, address(bound), pause=0.0)
            found.append(f"{address(bound)}/brim")
            over.set()
            await asyncio.to_thread(stopping.wait)
            server.stop()
            await running

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert over.wait(60)
    yield found[0]
    stopping.set()
    thread.join(30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, from BRIM_BROWSER if that names a program."""
    named = os.environ["BRIM_BROWSER"]
    program = named if Path(named).is_file() else "/usr/bin/chromium"
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield made
        made.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The rules of axe-core, from the file that BRIM_AXE names."""
    named = os.environ.get("BRIM_AXE", "")
    if not Path(named).is_file():
        pytest.skip("BRIM_AXE names no axe.min.js: npm install axe-core")
    return Path(named).read_text()


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where screenshots go: BRIM_PICTURES, or a folder of their own."""
    given = os.environ.get("BRIM_PICTURES")
    found = Path(given) if given else Path(tempfile.mkdtemp(prefix="brim-pictures-"))
    found.mkdir(parents=True, exist_ok=True)
    return found
