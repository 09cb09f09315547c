from __future__ import annotations

import pytest

from .asking import Client
from .sample import Sample


@pytest.fixture(scope="session")
def closed() -> Sample:
    """Data with content logging off, as by default."""
    return Sample()


@pytest.fixture(scope="session")
def shown() -> Sample:
    """Data with content logging on."""
    return Sample(content=True)


@pytest.fixture
def client(closed: Sample) -> Client:
    return Client(closed)


@pytest.fixture
def reader(shown: Sample) -> Client:
    """A client that may see content."""
    return Client(shown)
