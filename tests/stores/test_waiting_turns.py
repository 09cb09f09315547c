"""Turns that wait for a database which one gateway cannot reach, while another goes on with the same sessions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from brim.apis import APIS
from brim.sessions.session import Session
from brim.stores import buffered
from brim.stores.buffered import Buffered
from brim.stores.inmemory import InMemoryStore
from brim.stores.log_records import replayed
from brim.stores.protocol import Turn, Wanted


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


API = "openai_chat"


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Shared:
    monkeypatch.setattr(buffered, "RETRY_SECONDS", 0.0)
    return Shared()


def turn(*records: bytes, at: int, owner: str, blob: bytes = b"") -> Turn:
    return Turn("a", records, [blob] if blob else [], b"state of " + owner.encode(), expected=at, owner=owner, epoch=0)


def healed(store: Remote) -> None:
    store.line.cut = False
    assert store.catch_up()
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


def said(*texts: str) -> list[bytes]:
    return [b'm{"role":"user","content":"%s"}' % text.encode() for text in texts]


def chat(*texts: str, at: int, owner: str = "one", records: Sequence[bytes] = ()) -> Turn:
    meta = {"api": API}
    return Turn("a", [*records, *said(*texts)], state=owner.encode(), meta=meta, expected=at, owner=owner)


def test_turns_of_both_sides_of_a_partition_are_one_log_where_they_say_the_same(database: Shared) -> None:
    cut_off = Remote(Line(database))
    cut_off.commit(chat("0", "1", at=0))
    cut_off.line.cut = True
    marked = b'm{"role":"user","content":[{"type":"text","text":"2","cache_control":{"type":"ephemeral"}}]}'
    cut_off.commit(chat("3", at=2, records=[marked]))  # the same message, with a breakpoint for the provider's cache
    rewritten = [b"c0", *said("0", "1", "2")]
    database.commit(Turn("a", rewritten, expected=2, owner="two"))  # the other side wrote its log anew
    cut_off.commit(chat("4", at=4))
    healed(cut_off)
    assert log_of(database, "a") == ["0", "1", "2", "3", "4"]
    assert [one.id for one in database.sessions()] == ["a"]
    assert database.get_state("a") == b"one"


def test_what_the_other_side_of_a_partition_has_already_leaves_its_view_alone(database: Shared) -> None:
    cut_off = Remote(Line(database))
    cut_off.commit(chat("0", at=0))
    cut_off.line.cut = True
    cut_off.commit(chat("1", at=1))
    database.commit(chat("1", "2", at=1, owner="two"))
    healed(cut_off)
    assert log_of(database, "a") == ["0", "1", "2"]
    assert database.get_state("a") == b"two"


def test_turns_that_differ_on_both_sides_of_a_partition_are_both_kept(database: Shared) -> None:
    cut_off = Remote(Line(database))
    cut_off.commit(chat("0", at=0))
    cut_off.line.cut = True
    cut_off.commit(chat("here", at=1))
    database.commit(Turn("a", said("there"), expected=1, owner="two"))
    healed(cut_off)
    logs = sorted(log_of(database, one.id) for one in database.sessions())
    assert logs == [["0", "here"], ["0", "there"]]


def test_a_session_that_waits_is_written_before_it_is_used(database: Shared) -> None:
    """Requests go on as soon as the database answers, however much waits for it."""
    store = Remote(Line(database))
    store.line.cut = True
    for name in ("a", "b"):
        store.commit(Turn(name, said("0"), expected=0, owner="one", epoch=0))
    store.line.cut = False
    store._bring = lambda session: None  # type: ignore[method-assign]  # nothing but the first is written yet
    assert not store.catch_up()
    assert store.degraded is None
    assert database.get_session("b") is None
    del store._bring
    found = store.load(Wanted("b"))
    assert found.session is not None
    assert found.records == tuple(said("0"))
    assert store.commit(Turn("b", said("1"), expected=1, owner="one", epoch=1)) == 1
    assert store.catch_up()
    assert [log_of(database, name) for name in ("a", "b")] == [["0"], ["0", "1"]]


def test_a_turn_numbered_before_one_was_brought_in_is_put_in_its_place_after_the_next_partition(
    database: Shared,
) -> None:
    cut_off = Remote(Line(database))
    cut_off.commit(chat("0", at=0))
    cut_off.line.cut = True
    cut_off.commit(chat("1", "2", at=1))
    database.commit(chat("1", "2", "3", "4", at=1, owner="two"))
    healed(cut_off)
    cut_off.line.cut = True
    cut_off.commit(chat("3", "4", "5", at=3))  # who made it was cut off again before it could look
    healed(cut_off)
    assert log_of(database, "a") == ["0", "1", "2", "3", "4", "5"]


def test_a_session_of_which_only_the_end_is_in_memory_is_told_anew_by_its_client(database: Shared) -> None:
    cut_off = Remote(Line(database))
    cut_off.commit(chat("0", "1", at=0))
    cut_off.line.cut = True
    cut_off.commit(chat("2", at=2))
    assert cut_off.load(Wanted("a")).session is None
    cut_off.commit(chat("0", "1", "2", "3", at=0))  # a session that begins anew in memory says all of it
    assert cut_off.load(Wanted("a")).records == tuple(said("0", "1", "2", "3"))
    healed(cut_off)
    assert log_of(database, "a") == ["0", "1", "2", "3"]


def test_a_gateway_that_was_cut_off_goes_on_with_what_the_other_wrote(database: Shared) -> None:
    one, two = Remote(Line(database)), Remote(Line(database))
    here, there = (Session(model="gpt-4o", store=store, id="a", budget=2_000) for store in (one, two))
    messages = [{"role": "user", "content": "hello"}]
    for number in range(12):
        one.line.cut = number in (3, 4, 5, 8)
        if number == 6:
            assert one.catch_up()
        (here if number % 3 else there).fit({"messages": messages})
        messages += [
            {"role": "assistant", "content": f"answer {number}"},
            {"role": "user", "content": f"more {number}"},
        ]
    one.line.cut = False
    assert one.catch_up()
    here.fit({"messages": messages})
    assert [found.id for found in database.sessions()] == ["a"]
    assert [message.text for message in Session.load("a", store=database).log] == [m["content"] for m in messages]


def log_of(store: Shared, session: str) -> list[str]:
    return [message.text for message in replayed(store.records(session), APIS[API].messages.get)]
