"""What every store does, in memory and in a file: the conformance kit, and what is beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Limits, Store, Turn, blob_digest, prefix_range
from brim.stores.resilient import ResilientStore, open_store
from brim.stores.sqlite import SqliteStore
from brim.testing.stores import StoreConformance


class TestMemory(StoreConformance):
    def make(self, limits: Limits, now: Callable[[], float]) -> Store:
        return InMemoryStore(limits, now=now)


class TestSqlite(StoreConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "brim.db"

    def make(self, limits: Limits, now: Callable[[], float]) -> Store:
        return SqliteStore(self.path, limits, now=now)

    def again(self, store: Store) -> Store:
        return SqliteStore(self.path, now=self.clock)


class TestResilient(TestSqlite):
    def make(self, limits: Limits, now: Callable[[], float]) -> Store:
        return ResilientStore(self.path, limits, timeout=5.0, now=now)

    def again(self, store: Store) -> Store:
        return ResilientStore(self.path, Limits(), timeout=5.0, now=self.clock)


@settings(max_examples=30)
@given(
    turns=st.lists(
        st.tuples(st.lists(st.binary(max_size=60), max_size=3), st.lists(st.integers(0, 9), max_size=2)),
        max_size=40,
    ),
    large=st.integers(0, 3),
)
def test_whatever_is_committed_can_be_read(
    turns: list[tuple[list[bytes], list[int]]], large: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("store") / "brim.db")
    said: list[bytes] = []
    blobs: set[bytes] = set()
    for records, names in turns:
        some = [b"blob %d " % name * (1 if name > large else 2_000) for name in names]
        store.commit(Turn("a", records=records, blobs=some))
        said += records
        blobs.update(some)
    assert list(store.records("a")) == said
    assert all(store.find_blob(blob_digest(blob).hex()[:8], "a") == blob for blob in blobs)
    assert all(store.get_blob(blob_digest(blob)) == blob for blob in blobs)
    store.close()


def test_a_prefix_of_hex_digits_is_a_range_of_numbers() -> None:
    assert prefix_range("ba7816bf") == (0xBA7816BF00000000, 0xBA7816BFFFFFFFFF)
    assert prefix_range("ba7816bf" * 8) == (0xBA7816BFBA7816BF, 0xBA7816BFBA7816BF)
    assert prefix_range("xyz") is None


def test_without_a_path_the_store_is_in_memory() -> None:
    store = open_store(None)
    assert isinstance(store, InMemoryStore)
    assert store.degraded is None
