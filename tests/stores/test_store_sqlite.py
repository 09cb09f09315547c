"""What is particular to the store in a file."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import sqlite3
import threading
from importlib.resources import files
from pathlib import Path

import pytest

from brim.errors import BadSetting
from brim.stores import sqlite_schema
from brim.stores.protocol import Limits, Turn, blob_digest
from brim.stores.sqlite import SqliteStore

PHRASES = (
    "please look at the log of the second server",
    "the payment that failed on monday was repeated later",
    "the customer says that the amount left the account twice",
    "we should give it back before the weekend",
    "I have checked the orders of last month and found nothing unusual",
    "here is what the service answered when I asked for the invoice",
    "the refund was approved and will arrive in three to five days",
    "can you tell me which of the two accounts it came from?",
    "one of the transactions has no reference, so it cannot be matched",
    "let me know if you would like me to open a case for that",
)


def chat(session: int, turn: int) -> list[bytes]:
    """Two messages of a few hundred bytes, no two alike."""
    dice = random.Random(session * 1_000 + turn)
    said = (". ".join(f"{phrase} ({dice.randrange(10**6)})" for phrase in dice.sample(PHRASES, 5)) for _ in "12")
    return [json.dumps({"role": "user", "content": text}).encode() for text in said]


def test_the_file_and_a_new_folder_are_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "brim.db"
    store = SqliteStore(path)
    store.commit(Turn("a", [b"x"]))
    modes = {name.name: name.stat().st_mode & 0o777 for name in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert "brim.db-wal" in modes
    assert path.parent.stat().st_mode & 0o777 == 0o700
    store.close()
    path.chmod(0o644)
    SqliteStore(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_chats_take_less_than_two_fifths_of_their_json(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    store = SqliteStore(path)
    raw = 0
    for turn in range(60):
        for session in range(20):
            records = chat(session, turn)
            raw += sum(map(len, records))
            prefix = (blob_digest(b"%d/%d" % (session, turn)), 2 * turn + 2)
            store.commit(Turn(f"s{session}", records, state=b'{"high": %d}' % turn, prefixes=[prefix]))
    store.close()
    assert path.stat().st_size < 0.4 * raw


def test_equal_content_of_many_sessions_is_kept_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "brim.db")
    content = random.Random(0).randbytes(100_000)
    for number in range(30):
        store.commit(Turn(f"s{number}", [content], [content]))
    assert store.size() < 200_000
    for number in range(30):
        store.delete_session(f"s{number}")
    assert store.get_blob(blob_digest(content)) is None
    assert store.size() < 100_000
    store.close()


def test_deleted_content_leaves_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    store = SqliteStore(path, Limits(live_seconds=0, max_age_days=0))
    for number in range(20):
        store.commit(Turn(f"s{number}", [random.Random(number).randbytes(50_000)]))
    large = store.size()
    store.evict()
    store.close()
    assert store.path.stat().st_size < large / 4


def test_prefixes_far_back_are_thinned_and_those_near_the_end_are_all_there(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "brim.db")
    digests = [blob_digest(b"%d" % number) for number in range(400)]
    for number, digest in enumerate(digests):
        store.commit(Turn("a", [b"m"], prefixes=[(digest, number + 1)]))
    store.evict()
    for number in range(360, 400):
        assert store.find_prefix([digests[number]]) == ("a", number + 1)
    old = [number for number in range(340) if store.find_prefix([digests[number]])]
    assert 15 <= len(old) <= 85
    store.delete_session("a")
    assert store.evict().rows >= len(old) + 40
    store.close()


def test_actuals_are_written_with_the_next_commit_and_on_close(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    one, other = SqliteStore(path), SqliteStore(path)
    one.put_actual(b"k", 5)
    assert other.get_actual(b"j") is None
    one.commit(Turn("a", [b"x"]))
    assert other.get_actual(b"k") == 5
    one.put_actual(b"later", 6)
    one.close()
    other.close()
    again = SqliteStore(path)
    assert again.get_actual(b"later") == 6
    again.close()


def test_many_actuals_do_not_wait_for_a_commit(tmp_path: Path) -> None:
    store, other = SqliteStore(tmp_path / "brim.db"), SqliteStore(tmp_path / "brim.db")
    for number in range(1_500):
        store.put_actual(b"%d" % number, number)
    for thread in threading.enumerate():
        if thread.name == "brim-sizes":
            thread.join()
    assert other.get_actual(b"7") == 7
    store.close()
    other.close()


def test_sizes_are_put_and_asked_for_while_another_process_writes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "brim.db", timeout=600.0)
    other = sqlite3.connect(tmp_path / "brim.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(1_500):
        store.put_actual(b"%d" % number, number)
    assert other.in_transaction
    other.execute("COMMIT")
    store.close()
    again = SqliteStore(tmp_path / "brim.db")
    assert [again.get_actual(b"%d" % number) for number in (0, 1_499)] == [0, 1_499]
    again.close()
    other.close()


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "brim.db")

    def work(number: int) -> None:
        for turn in range(40):
            store.commit(Turn(f"s{number % 3}", [b"%d %d" % (number, turn)], [b"blob %d %d" % (number, turn)]))
            assert store.find_blob(blob_digest(b"blob %d %d" % (number, turn)).hex()[:16]) is not None

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = sorted(entry for number in range(3) for entry in store.records(f"s{number}"))
    assert said == sorted(b"%d %d" % (number, turn) for number in range(6) for turn in range(40))
    store.close()


def _work_in_a_process(path: Path, number: int) -> None:
    store = SqliteStore(path, timeout=30.0)
    for turn in range(60):
        store.commit(Turn("shared", [b"%d %d" % (number, turn)]))
    store.close()


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work_in_a_process, args=(path, number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    store = SqliteStore(path)
    said = [entry.split() for entry in store.records("shared")]
    for number in range(3):
        assert [int(turn) for who, turn in said if int(who) == number] == list(range(60))
    assert len(said) == 180
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_store_goes_on_in_a_forked_process(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "brim.db")
    store.commit(Turn("a", [b"parent"]))
    child = os.fork()
    if not child:
        store.commit(Turn("a", [b"child"]))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    store.commit(Turn("a", [b"parent again"]))
    assert list(store.records("a")) == [b"parent", b"child", b"parent again"]
    store.close()


def test_a_file_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    store = SqliteStore(path)
    store.commit(Turn("a", [b"gone"]))
    for name in list(tmp_path.iterdir()):
        name.unlink()
    store.commit(Turn("b", [b"here"]))
    assert list(SqliteStore(path).records("b")) == [b"here"]
    store.close()


def test_an_older_file_is_brought_to_the_newest_version_with_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "brim.db"
    store = SqliteStore(path)
    store.commit(Turn("a", [b"from before"]))
    store.close()
    step = "ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue';\nCREATE TABLE added(x)"
    newer = (*sqlite_schema.MIGRATIONS, step)
    db = sqlite_schema.connect(path, timeout=1.0, migrations=newer)
    assert sqlite_schema.version_of(db) == len(newer)
    assert db.execute("SELECT id, colour FROM sessions").fetchall() == [("a", "blue")]
    db.close()
    with pytest.raises(BadSetting, match=f"version {len(newer)} .* versions up to {len(sqlite_schema.MIGRATIONS)}"):
        SqliteStore(path)


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "brim.db"
    SqliteStore(path).close()
    with pytest.raises(sqlite3.OperationalError):
        sqlite_schema.connect(
            path,
            timeout=1.0,
            migrations=(*sqlite_schema.MIGRATIONS, "CREATE TABLE added(x);\nCREATE TABLE added(x)"),
        )
    store = SqliteStore(path)
    store.commit(Turn("a", [b"still works"]))
    assert list(store.records("a")) == [b"still works"]
    store.close()


def test_the_phrases_of_written_files_never_change() -> None:
    data = files("brim.stores").joinpath("phrases.txt").read_bytes()
    assert hashlib.sha256(data).hexdigest() == "bda6436abba53edc56a5e8a8b8d07f9728ad905a2853a641d713b8a311e46bfe"
