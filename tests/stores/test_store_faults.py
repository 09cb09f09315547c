"""What a store does when its file cannot be used: it warns, goes on, and loses as little as can be."""

from __future__ import annotations

import logging
import os
import random
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from brim.stores import buffered, sqlite, sqlite_schema
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Turn, blob_digest
from brim.stores.resilient import ResilientStore, open_store
from brim.stores.sqlite import SqliteStore
from brim.stores.sqlite_schema import connect

SECRET = b"the secret word is albatross"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffered, "RETRY_SECONDS", 0.0)


@contextmanager
def full_disk(path: Path, room: int = 0) -> Iterator[None]:
    """No file may grow beyond the size that this one has, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    wal = path.with_name(path.name + "-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size + room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_costs_no_turn_and_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "brim.db"
    store = open_store(path)
    store.commit(Turn("a", [b"before"]))
    with full_disk(path):
        assert store.commit(Turn("a", [SECRET], [SECRET], b"state", [(blob_digest(b"p"), 2)])) == 1
        assert store.degraded == "disk I/O error"
        assert store.commit(Turn("b", [b"other"], expected=0)) == 0
        assert store.commit(Turn("a", [b"third"], expected=1)) is None
        assert list(store.records("a")) == [b"before", SECRET]
        assert list(store.records("a", 1)) == [SECRET]
        assert store.get_state("a") == b"state"
        assert store.find_prefix([blob_digest(b"p")]) == ("a", 2)
        assert store.find_blob(blob_digest(SECRET).hex()[:8], "a") == SECRET
        found = store.get_session("a")
        assert found is not None
        assert found.records == 2
        assert [one.id for one in store.sessions()] == ["b", "a"]
    assert "kept in memory only" in caplog.text
    assert store.commit(Turn("a", [b"after"])) == 2
    assert store.degraded is None
    assert "2 writes were caught up" in caplog.text
    store.close()
    again = open_store(path)
    assert list(again.records("a")) == [b"before", SECRET, b"after"]
    assert list(again.records("b")) == [b"other"]
    assert again.get_blob(blob_digest(SECRET)) == SECRET
    assert "albatross" not in caplog.text
    again.close()


def test_a_store_without_room_for_another_page_keeps_turns_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(path: Path, *, timeout: float) -> sqlite3.Connection:
        opened = connect(path, timeout=timeout)
        opened.execute("PRAGMA max_page_count = 60")
        return opened

    monkeypatch.setattr(sqlite, "connect", small)
    store = open_store(tmp_path / "brim.db")
    turns = [random.Random(number).randbytes(40_000) for number in range(10)]
    for number, data in enumerate(turns):
        assert store.commit(Turn("a", [data])) == number
    assert store.degraded == "database or disk is full"
    assert list(store.records("a")) == turns
    store.delete_session("a")
    assert list(store.records("a")) == []
    store.close()


def test_turns_that_never_reached_the_disk_are_counted_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "brim.db"
    store = open_store(path)
    store.commit(Turn("a", [b"before"]))
    with full_disk(path):
        store.commit(Turn("a", [b"lost"]))
        store.close()
    assert "1 writes are lost" in caplog.text
    again = open_store(path)
    assert list(again.records("a")) == [b"before"]
    again.close()


def test_too_many_waiting_turns_are_let_go_oldest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(buffered, "MOST_WAITING", 10_000)
    path = tmp_path / "brim.db"
    store = open_store(path)
    store.commit(Turn("s", [b"before"]))
    with full_disk(path):
        for number in range(8):
            store.commit(Turn(f"s{number}", [b"%d" % number * 3_000]))
    assert "5 turns are lost" in caplog.text or caplog.text.count("1 turns are lost") == 5
    store.commit(Turn("s", [b"after"]))
    assert {one.id for one in store.sessions()} == {"s", "s5", "s6", "s7"}
    store.close()


def test_a_locked_file_is_waited_for_and_then_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "brim.db"
    store = open_store(path, timeout=0.01)
    store.commit(Turn("a", [b"one"]))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert store.commit(Turn("a", [b"two"])) == 1
    assert store.degraded == "database is locked"
    other.execute("ROLLBACK")
    assert store.commit(Turn("a", [b"three"])) == 2
    assert store.degraded is None
    assert list(store.records("a")) == [b"one", b"two", b"three"]
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    store.close()
    other.execute("BEGIN EXCLUSIVE")
    blocked = open_store(path, timeout=0.01)
    assert blocked.degraded == "database is locked"
    assert "nothing will be remembered" in caplog.text
    blocked.commit(Turn("a", [b"four"]))
    other.close()
    blocked.close()
    assert list(open_store(path).records("a")) == [b"one", b"two", b"three", b"four"]


def test_a_path_that_cannot_be_a_file_gives_a_store_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    for path in (tmp_path / "file" / "brim.db", tmp_path, Path("/proc/no/brim.db")):
        store = open_store(path)
        assert store.degraded
        assert store.commit(Turn("a", [b"x"])) == 0
        assert list(store.records("a")) == [b"x"]
    assert caplog.text.count("cannot be used") == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_gives_a_store_in_memory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    store = open_store(tmp_path / "brim.db")
    tmp_path.chmod(0o700)
    assert store.degraded
    assert store.commit(Turn("a", [b"x"])) == 0


def test_a_file_that_turns_read_only_keeps_turns_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(path: Path, *, timeout: float) -> sqlite3.Connection:
        opened = connect(path, timeout=timeout)
        opened.execute("PRAGMA query_only = 1")
        return opened

    path = tmp_path / "brim.db"
    first = open_store(path)
    first.commit(Turn("a", [b"one"]))
    first.close()
    monkeypatch.setattr(sqlite, "connect", read_only)
    store = open_store(path)
    assert store.commit(Turn("a", [b"two"])) == 1
    assert store.degraded == "attempt to write a readonly database"
    assert list(store.records("a")) == [b"one", b"two"]
    store.close()


def test_a_newer_file_gives_a_store_in_memory_and_names_both_versions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "brim.db"
    SqliteStore(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    store = open_store(path)
    assert isinstance(store, InMemoryStore)
    assert "version 99" in caplog.text
    assert f"up to {len(sqlite_schema.MIGRATIONS)}" in caplog.text
    assert path.exists()


def filled(path: Path, sessions: int = 40) -> None:
    store = SqliteStore(path)
    for turn in range(20):
        for session in range(sessions):
            entries = [random.Random(session * 100 + turn).randbytes(300)]
            store.commit(Turn(f"s{session}", entries, entries, b"state", [(blob_digest(entries[0]), turn + 1)]))
    store.put_value("name", b"value")
    store.close()


@pytest.mark.parametrize("damage", ["garbage", "header", "empty pages", "text"])
def test_a_damaged_file_is_moved_aside_and_a_new_one_started(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "brim.db"
    filled(path, sessions=5)
    size = path.stat().st_size
    with path.open("r+b") as file:
        if damage == "garbage":
            file.write(random.Random(0).randbytes(size))
        elif damage == "header":
            file.write(b"\xff" * 100)
        elif damage == "empty pages":
            file.seek(4096)
            file.write(bytes(size - 4096))
        else:
            file.write(b"this is not a database, it is a letter to my aunt\n" * 100)
    store = open_store(path)
    assert isinstance(store, ResilientStore)
    assert store.degraded is None
    assert store.commit(Turn("new", [b"works"])) == 0
    assert list(store.records("new")) == [b"works"]
    store.close()
    moved = [name for name in os.listdir(tmp_path) if name.startswith("brim.db.corrupt-")]
    assert len([name for name in moved if not name.endswith(("-wal", "-shm"))]) == 1
    assert "was damaged" in caplog.text
    assert moved[0].removesuffix("-wal").removesuffix("-shm") in caplog.text


def test_sessions_that_the_damage_did_not_reach_are_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    filled(path)
    db = sqlite3.connect(path)
    (data,) = db.execute("SELECT data FROM chunks ORDER BY key LIMIT 1 OFFSET 9").fetchone()
    db.close()
    page = path.read_bytes().index(data[:200]) // 4096
    with path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(b"\xaa" * 4096)
    store = open_store(path)
    whole = 0
    for session in range(40):
        kept = list(store.records(f"s{session}"))
        expected = [random.Random(session * 100 + turn).randbytes(300) for turn in range(20)]
        assert kept == expected[: len(kept)]
        if len(kept) == 20:
            whole += 1
            assert store.get_state(f"s{session}") == b"state"
            assert store.find_prefix([blob_digest(expected[-1])]) == (f"s{session}", 20)
            assert store.find_blob(blob_digest(expected[3]).hex()[:8], f"s{session}") == expected[3]
    assert 25 <= whole < 40
    assert store.get_value("name") == b"value"
    store.close()


def test_damage_that_is_found_while_reading_is_handled_then(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "brim.db"
    filled(path, sessions=3)
    db = sqlite3.connect(path)
    key, data = db.execute("SELECT key, data FROM chunks ORDER BY key LIMIT 1").fetchone()
    flipped = bytearray(data)
    flipped[len(flipped) // 2] ^= 1
    db.execute("UPDATE chunks SET data = ? WHERE key = ?", (bytes(flipped), key))
    db.commit()
    db.close()
    store = open_store(path)
    assert list(store.records("s0")) == []
    assert len(list(store.records("s1"))) == 20
    assert "1 up to a damage" in caplog.text or "1 left behind" in caplog.text
    assert store.degraded is None
    store.close()


def test_two_processes_that_find_the_same_damage_move_it_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    filled(path, sessions=3)
    one, other = open_store(path), open_store(path)
    db = sqlite3.connect(path)
    db.execute("UPDATE chunks SET data = x'00'")
    db.commit()
    db.close()
    assert list(one.records("s0")) == []
    one.commit(Turn("s0", [b"new"]))
    assert list(other.records("s0")) == [b"new"]
    other.commit(Turn("s0", [b"newer"]))
    assert list(one.records("s0")) == [b"new", b"newer"]
    aside = [name for name in os.listdir(tmp_path) if "corrupt" in name and not name.endswith(("-wal", "-shm"))]
    assert len(aside) == 1
    one.close()
    other.close()


def test_a_folder_that_vanishes_is_not_the_callers_trouble(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    store = open_store(folder / "brim.db")
    store.commit(Turn("a", [b"one"]))
    shutil.rmtree(folder)
    folder.write_text("a file in its place")
    store.commit(Turn("a", [b"two"]))
    assert store.degraded
    assert list(store.records("a")) == [b"two"]
    folder.unlink()
    store.commit(Turn("a", [b"three"]))
    assert store.degraded is None
    assert list(store.records("a")) == [b"two", b"three"]
    store.close()


def test_warnings_are_given_once_until_the_file_works_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "brim.db"
    store = open_store(path)
    store.commit(Turn("a", [b"before"]))
    with full_disk(path), caplog.at_level(logging.WARNING):
        for number in range(5):
            store.commit(Turn("a", [b"%d" % number]))
    assert caplog.text.count("kept in memory only") == 1
    store.close()


def test_a_store_that_could_not_be_opened_is_caught_up_when_it_can_be(tmp_path: Path) -> None:
    blocking = tmp_path / "folder"
    blocking.write_text("not a folder")
    store = open_store(blocking / "brim.db")
    store.commit(Turn("a", [b"one"]))
    assert store.degraded
    blocking.unlink()
    store.commit(Turn("a", [b"two"]))
    assert store.degraded is None
    store.close()
    assert list(open_store(blocking / "brim.db").records("a")) == [b"one", b"two"]
