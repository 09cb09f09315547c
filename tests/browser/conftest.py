"""A real browser on a dashboard that is served on loopback. Runs only with BRIM_BROWSER set: see docs/dashboard.md."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from brim.dashboard.app import create
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


@pytest.fixture(scope="session")
def url(sample: Sample) -> Iterator[str]:
    """The dashboard's address."""
    app = Starlette(routes=[Mount("/brim", app=create(sample))])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", ws="none"))
    bound = server.config.bind_socket()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([bound])), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}/brim"
    server.should_exit = True
    thread.join(10)
    bound.close()


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
def pictures() -> Path:
    """Where screenshots go: BRIM_PICTURES, or a folder of their own."""
    given = os.environ.get("BRIM_PICTURES")
    found = Path(given) if given else Path(tempfile.mkdtemp(prefix="brim-pictures-"))
    found.mkdir(parents=True, exist_ok=True)
    return found
