"""Turns that wait for a database which one gateway cannot reach, while another goes on with the same sessions."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from brim.stores import buffered
from brim.stores.buffered import Buffered
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Turn


class Shared(InMemoryStore):
    """A database that several reach."""

    def close(self) -> None:
        pass


class Line:
    """The way of one gateway to a database."""

    def __init__(self, database: Shared) -> None:
        self._database = database
        self.cut = False

    def __getattr__(self, name: str) -> Any:
        if self.cut:
            raise OSError("nothing comes back")
        return getattr(self._database, name)


class Remote(Buffered):
    at_once = remote = True

    def __init__(self, line: Line) -> None:
        self.line = line
        super().__init__("the test's database")

    def _opened(self) -> Any:
        return self.line

    def _describe(self, error: BaseException) -> str:
        return "cut off"


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Shared:
    monkeypatch.setattr(buffered, "RETRY_SECONDS", 0.0)
    return Shared()


def turn(*records: bytes, at: int, owner: str, blob: bytes = b"") -> Turn:
    return Turn("a", records, [blob] if blob else [], b"state of " + owner.encode(), expected=at, owner=owner, epoch=0)


def healed(store: Remote) -> None:
    store.line.cut = False
    store.put_value("anything", b"")  # the next write brings what waits
    assert store.degraded is None


def test_turns_that_another_has_written_meanwhile_are_not_written_twice(database: Shared) -> None:
    cut_off = Remote(Line(database))
    cut_off.commit(turn(b"0", b"1", at=0, owner="one"))
    cut_off.line.cut = True
    assert cut_off.commit(turn(b"2", b"3", at=2, owner="one", blob=b"archived by one")) is not None
    assert database.commit(Turn("a", [b"2", b"3", b"4", b"5"], expected=2, owner="two")) == 2
    assert cut_off.commit(turn(b"4", b"5", b"6", b"7", at=4, owner="one")) is not None
    healed(cut_off)
    assert list(database.records("a")) == [b"%d" % number for number in range(8)]
    assert database.get_blob(database.put_blobs([b"archived by one"])[0], "a") == b"archived by one"


def test_a_whole_conversation_that_began_while_cut_off_is_not_written_twice(database: Shared) -> None:
    cut_off = Remote(Line(database))
    cut_off.line.cut = True
    cut_off.commit(turn(b"0", b"1", b"2", at=0, owner="one"))
    database.commit(turn(b"0", b"1", b"2", b"3", at=0, owner="two"))
    cut_off.commit(turn(b"3", b"4", at=3, owner="one"))
    healed(cut_off)
    assert list(database.records("a")) == [b"0", b"1", b"2", b"3", b"4"]


def test_a_turn_of_a_session_that_could_not_be_read_goes_to_its_end_where_it_says_something_else(
    database: Shared,
) -> None:
    database.commit(turn(b"from yesterday", at=0, owner="two"))
    cut_off = Remote(Line(database))
    cut_off.line.cut = True
    cut_off.commit(turn(b"hello again", at=0, owner="one"))
    healed(cut_off)
    assert list(database.records("a")) == [b"from yesterday", b"hello again"]


def test_what_waits_is_written_without_another_request(database: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffered, "CATCH_UP_SECONDS", 0.01)
    store = Remote(Line(database))
    store.line.cut = True
    before = set(threading.enumerate())
    assert store.commit(turn(b"mhi", at=0, owner="one")) == 0
    assert store.degraded == "cut off"
    store.line.cut = False
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert store.degraded is None
    assert list(database.records("a")) == [b"mhi"]
    store.close()
