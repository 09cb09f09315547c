"""What every store does, in memory and in a file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Limits, Store, Turn, blob_digest, prefix_range
from brim.stores.resilient import ResilientStore, open_store
from brim.stores.sqlite import SqliteStore
from brim.tokens.actuals import UsageRecord

DAY = 86_400.0


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 0.001
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "resilient"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    made: Store
    if request.param == "memory":
        made = InMemoryStore(now=clock)
    elif request.param == "sqlite":
        made = SqliteStore(tmp_path / "brim.db", now=clock)
    else:
        made = ResilientStore(tmp_path / "brim.db", Limits(), timeout=1.0)
    yield made
    made.close()


def record(number: int, size: int = 200) -> bytes:
    return f'{{"role":"user","content":"{number} {"word " * (size // 5)}"}}'.encode()


def test_records_come_back_in_order_with_their_numbers(store: Store) -> None:
    numbers = [store.commit(Turn("a", records=[record(2 * n), record(2 * n + 1)])) for n in range(60)]
    assert numbers == list(range(0, 120, 2))
    assert list(store.records("a")) == [record(n) for n in range(120)]
    for start in (1, 15, 16, 17, 118, 119, 120, 500):
        assert list(store.records("a", start)) == [record(n) for n in range(start, 120)]
    assert list(store.records("unknown")) == []


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


def test_large_records_and_blobs_come_back_whole(store: Store) -> None:
    large = [random.Random(n).randbytes(50_000 * n) for n in range(1, 4)]
    store.commit(Turn("a", records=[record(0), *large], blobs=large))
    assert list(store.records("a")) == [record(0), *large]
    assert [store.get_blob(blob_digest(data)) for data in large] == large


def test_a_turn_keeps_its_state_meta_and_prefixes(store: Store) -> None:
    store.commit(Turn("a", [record(0)], state=b"one", prefixes=[(blob_digest(b"p1"), 1)], meta={"title": "Ä"}))
    store.commit(Turn("a", [record(1)], state=b"two", prefixes=[(blob_digest(b"p2"), 2)]))
    store.commit(Turn("b", [record(2)], prefixes=[(blob_digest(b"q1"), 1)]))
    assert store.get_state("a") == b"two"
    assert store.get_state("b") is None
    found = store.get_session("a")
    assert found is not None
    assert (found.meta, found.records) == ({"title": "Ä"}, 2)
    unknown = [blob_digest(b"x%d" % n) for n in range(1_200)]
    assert store.find_prefix([*unknown, blob_digest(b"p2"), blob_digest(b"p1")]) == ("a", 2)
    assert store.find_prefix([blob_digest(b"p1")]) == ("a", 1)
    assert store.find_prefix([blob_digest(b"q1"), blob_digest(b"p1")]) == ("b", 1)
    assert store.find_prefix(unknown) is None
    assert store.find_prefix([]) is None


def test_a_turn_that_expects_another_length_is_not_written(store: Store) -> None:
    assert store.commit(Turn("a", [record(0)], expected=1)) is None
    assert store.get_session("a") is None
    assert store.commit(Turn("a", [record(0)], expected=0)) == 0
    assert store.commit(Turn("a", [record(1)], expected=0)) is None
    assert store.commit(Turn("a", [record(1)], expected=1)) == 1
    assert list(store.records("a")) == [record(0), record(1)]


def test_sessions_are_listed_newest_first_by_page_and_by_text(store: Store) -> None:
    for number in range(5):
        store.put_session(f"s{number}", {"title": f"Trip_{number} 100%"})
    store.touch("s1")
    listed = store.sessions()
    assert [one.id for one in listed] == ["s1", "s4", "s3", "s2", "s0"]
    assert [one.id for one in store.sessions(2, before=listed[1].touched)] == ["s3", "s2"]
    assert [one.id for one in store.sessions(query="trip_3")] == ["s3"]
    assert [one.id for one in store.sessions(query="S4")] == ["s4"]
    assert len(store.sessions(query="100%")) == 5
    assert store.sessions(query="1_0") == []


def test_a_deleted_session_leaves_nothing_and_others_keep_what_they_share(store: Store) -> None:
    shared, own, small = b"shared " * 3_000, b"own " * 3_000, b"small"
    store.commit(Turn("a", [shared], [shared, own, small], prefixes=[(blob_digest(b"p"), 1)]))
    store.commit(Turn("b", [shared], [shared]))
    assert store.delete_session("a")
    assert not store.delete_session("a")
    assert store.get_session("a") is None
    assert list(store.records("a")) == []
    assert store.find_prefix([blob_digest(b"p")]) is None
    assert store.get_blob(blob_digest(own)) is None
    assert store.get_blob(blob_digest(small)) is None
    assert store.get_blob(blob_digest(shared)) == shared
    assert list(store.records("b")) == [shared]
    store.commit(Turn("a", [record(7)]))
    assert list(store.records("a")) == [record(7)]


def test_a_fork_has_the_common_part_and_its_own_future(store: Store) -> None:
    large = b"large " * 2_000
    for number in range(30):
        store.commit(Turn("a", [record(2 * number), record(2 * number + 1)], [b"blob %d" % number, large]))
    store.commit(Turn("a", meta={"title": "trip"}))
    assert store.fork_session("a", "b", 21)
    assert not store.fork_session("a", "b", 5)
    assert not store.fork_session("unknown", "c", 5)
    store.commit(Turn("b", [b"new"], expected=21))
    assert list(store.records("b")) == [*(record(n) for n in range(21)), b"new"]
    assert len(list(store.records("a"))) == 60
    assert store.delete_session("a")
    assert list(store.records("b", 20)) == [record(20), b"new"]
    assert store.find_blob(blob_digest(b"blob 3").hex()[:8], "b") == b"blob 3"
    assert store.get_blob(blob_digest(large)) == large
    found = store.get_session("b")
    assert found is not None
    assert found.meta == {"title": "trip"}


def test_a_handle_finds_the_sessions_own_blob_and_never_that_of_another(store: Store) -> None:
    (mine,) = store.put_blobs([b"mine"], "a")
    (theirs,) = store.put_blobs([b"theirs"], "b")
    (free,) = store.put_blobs([b"free"])
    assert store.find_blob(mine.hex()[:8], "a") == b"mine"
    assert store.find_blob(mine.hex()[:8].upper(), "a") == b"mine"
    assert store.find_blob(theirs.hex()[:8], "a") is None
    assert store.find_blob(theirs.hex()[:8], "unknown") is None
    assert store.find_blob(theirs.hex()[:8]) == b"theirs"
    assert store.find_blob(free.hex()[:8], "a") is None
    assert store.find_blob(free.hex()[:8]) == b"free"
    assert store.get_blob(mine, "a") == b"mine"
    assert store.get_blob(theirs, "a") is None
    assert store.get_blob(theirs, "unknown") is None
    assert store.get_blob(free, "a") is None
    assert store.get_blob(free) == b"free"
    assert store.find_blob(free.hex()[:-1] + "g", "a") is None
    assert store.find_blob("", "a") is None
    assert store.get_blob(bytes(32)) is None


def test_an_ambiguous_handle_means_the_newest(store: Store) -> None:
    digit = blob_digest(b"blob 0").hex()[0]
    alike = [data for data in (b"blob %d" % n for n in range(200)) if blob_digest(data).hex()[0] == digit]
    for data in alike:
        store.put_blobs([data], "a")
    assert store.find_blob(digit, "a") == alike[-1]


def test_actuals_values_and_usage_are_kept(store: Store) -> None:
    assert store.get_actual(b"k") is None
    store.put_actual(b"k", 5)
    store.put_actual(b"k", 7)
    assert store.get_actual(b"k") == 7
    store.put_value("last model", b"m")
    assert store.get_value("last model") == b"m"
    store.put_value("last model", None)
    assert store.get_value("last model") is None
    noon = 1_700_049_600.0
    for number in range(6):
        model, status = ("x", "success") if number % 2 else ("y", "failed")
        store.add_usage(UsageRecord(f"r{number}", noon + DAY * (number // 4), "p", model, 100, 110, 90, 10, 40, status))  # type: ignore[arg-type]
    store.add_usage(UsageRecord("r1", noon, "p", "x", 100, 110, 95, 10, 0, "success"))
    assert [one.request for one in store.usage(limit=2)] in (["r5", "r4"], ["r4", "r5"])
    assert {one.request for one in store.usage(model="x")} == {"r1", "r3", "r5"}
    assert len(store.usage(since=noon + DAY)) == 2
    sums = store.usage_sums()
    assert [(one.day, one.model, one.requests, one.failed) for one in sums] == [
        ("2023-11-16", "x", 1, 0),
        ("2023-11-16", "y", 1, 1),
        ("2023-11-15", "x", 2, 0),
        ("2023-11-15", "y", 2, 2),
    ]
    assert (sums[2].actual_in, sums[2].cached, sums[2].estimated) == (185, 40, 200)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_old_sessions_and_blobs_go_and_live_ones_stay(kind: str, tmp_path: Path, clock: Clock) -> None:
    limits = Limits(max_age_days=30, live_seconds=60)
    made: Store = (
        InMemoryStore(limits, now=clock) if kind == "memory" else SqliteStore(tmp_path / "b.db", limits, now=clock)
    )
    shared = b"shared " * 2_000
    made.commit(Turn("old", [record(0), shared], prefixes=[(blob_digest(b"old"), 1)]))
    (loose,) = made.put_blobs([b"loose"])
    (kept,) = made.put_blobs([shared])
    clock.time += 31 * DAY
    made.commit(Turn("new", [record(1)], [shared], prefixes=[(blob_digest(b"new"), 1)]))
    evicted = made.evict()
    assert evicted.sessions + (made.get_session("old") is None) >= 1
    assert [one.id for one in made.sessions()] == ["new"]
    assert made.get_blob(loose) is None
    assert made.get_blob(kept) == shared
    assert made.find_prefix([blob_digest(b"old"), blob_digest(b"new")]) == ("new", 1)
    made.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_over_the_size_limit_the_oldest_go_first_and_live_ones_never(kind: str, tmp_path: Path, clock: Clock) -> None:
    limits = Limits(max_bytes=1 << 20, live_seconds=100)
    made: Store = (
        InMemoryStore(limits, now=clock) if kind == "memory" else SqliteStore(tmp_path / "b.db", limits, now=clock)
    )
    for number in range(40):
        clock.time += 10
        made.commit(Turn(f"s{number}", [random.Random(number).randbytes(100_000)]))
    made.evict()
    live = [f"s{number}" for number in range(39, 29, -1)]
    assert [one.id for one in made.sessions()][: len(live)] == live
    assert made.size() < 2 << 20
    assert made.get_session("s0") is None
    clock.time += 1_000
    made.evict()
    assert made.size() <= 1 << 20
    remaining = [one.id for one in made.sessions()]
    assert remaining == live[: len(remaining)]
    assert remaining
    made.close()


def test_a_prefix_of_hex_digits_is_a_range_of_numbers() -> None:
    assert prefix_range("ba7816bf") == (0xBA7816BF00000000, 0xBA7816BFFFFFFFFF)
    assert prefix_range("ba7816bf" * 8) == (0xBA7816BFBA7816BF, 0xBA7816BFBA7816BF)
    assert prefix_range("xyz") is None


def test_without_a_path_the_store_is_in_memory() -> None:
    store = open_store(None)
    assert isinstance(store, InMemoryStore)
    assert store.degraded is None
