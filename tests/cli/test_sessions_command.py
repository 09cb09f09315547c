"""`brim sessions`: what a store holds, and how it comes out of it and back in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import brim
from brim.stores.resilient import open_store
from tests.cli.conftest import Run

IDS = ("desk-1.aaaa", "desk-2.bbbb")


@pytest.fixture
def held(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with two sessions, the second used last."""
    path = tmp_path / "brim.db"
    monkeypatch.setenv("BRIM_STORE_PATH", str(path))
    store = open_store(path)
    for id, model in zip(IDS, ("gpt-4o", "gpt-4.1"), strict=True):
        session = brim.Session(model=model, budget=4_000, store=store, id=id, system=None)
        session.say(f"hello from {id}")
        session.record({"choices": [{"message": {"role": "assistant", "content": "hello back\u2028there"}}]})
    store.close()
    return path


def messages(path: Path, id: str) -> list[bytes]:
    store = open_store(path)
    found = [message.raw for message in brim.Session.load(id, store=store).log]
    store.close()
    return found


@pytest.mark.usefixtures("held")
def test_sessions_are_listed_newest_first(run: Run) -> None:
    rows = [json.loads(line) for line in run("sessions", "list", "--json").out.splitlines()]
    assert [row["id"] for row in rows] == [IDS[1], IDS[0]]
    assert rows[0]["meta"]["model"] == "gpt-4.1"
    assert rows[0]["records"] == 2


@pytest.mark.usefixtures("held")
def test_a_text_and_a_limit_choose_what_is_listed(run: Run) -> None:
    assert IDS[1] not in run("sessions", "list", "desk-1").out
    assert IDS[0] in run("sessions", "list", "desk-1").out
    assert len(run("sessions", "list", "--limit", "1", "--json").out.splitlines()) == 1
    assert "no session with 'nothing'" in run("sessions", "list", "nothing").out
    assert run("sessions", "list", "--limit", "0").code == 2


@pytest.mark.usefixtures("held")
def test_a_session_is_shown_by_the_beginning_of_its_id(run: Run) -> None:
    done = run("sessions", "show", "desk-1")
    assert done.code == 0
    assert "gpt-4o" in done.out
    assert "user      hello from desk-1.aaaa" in done.out
    said = [json.loads(line) for line in run("sessions", "show", IDS[0], "--json").out.split("\n")[:-1]]
    assert [message["role"] for message in said] == ["user", "assistant"]


@pytest.mark.usefixtures("held")
def test_the_beginning_of_two_ids_is_asked_for_more(run: Run) -> None:
    done = run("sessions", "show", "desk")
    assert done.code == 2
    assert "give more of it" in done.err


def test_an_export_comes_back_in_another_store_as_it_was(held: Path, run: Run, tmp_path: Path) -> None:
    out, other = tmp_path / "one.jsonl", tmp_path / "other.db"
    assert run("sessions", "export", IDS[0], "--out", str(out)).code == 0
    done = run("sessions", "import", str(out), "--store", str(other))
    assert done.out == f"{IDS[0]}  2 messages\n"
    assert messages(other, IDS[0]) == messages(held, IDS[0])
    assert json.loads(out.read_text("utf-8").split("\n")[0])["budget"] == 4_000


def test_an_export_on_standard_output_is_read_from_standard_input(held: Path, run: Run) -> None:
    exported = run("sessions", "export", IDS[0]).out
    done = run("sessions", "import", "-", "--id", "copy", stdin=exported)
    assert done.code == 0
    assert messages(held, "copy") == messages(held, IDS[0])


def test_a_message_that_was_sent_on_several_lines_is_one_line_of_an_export(run: Run, tmp_path: Path) -> None:
    body = json.dumps([{"role": "user", "content": "one\ntwo"}], indent=2).encode()
    place = str(tmp_path / "lines.db")
    store = open_store(place)
    brim.Session(model="gpt-4o", store=store, id="lines").fit(body)
    store.close()
    rows = run("sessions", "export", "lines", "--store", place).out.split("\n")
    assert [json.loads(row) for row in rows[1:-1]] == [{"role": "user", "content": "one\ntwo"}]


@pytest.mark.usefixtures("held")
def test_an_import_does_not_write_into_a_session_that_is_there(run: Run) -> None:
    exported = run("sessions", "export", IDS[0]).out
    done = run("sessions", "import", "-", stdin=exported)
    assert done.code == 2
    assert "already" in done.err
    assert run("sessions", "show", IDS[0], "--json").out.count("\n") == 2


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("broken", ["", "hello", "[1]", "{}"])
def test_what_is_no_export_is_refused(run: Run, broken: str) -> None:
    done = run("sessions", "import", "-", stdin=broken)
    assert done.code == 2
    assert "line 1" in done.err


@pytest.mark.usefixtures("held")
def test_a_deleted_session_is_gone_and_the_other_is_not(run: Run) -> None:
    assert run("sessions", "delete", "desk-1").out == f"deleted {IDS[0]}\n"
    assert run("sessions", "show", IDS[0]).code == 1
    assert run("sessions", "show", IDS[1]).code == 0
    assert run("sessions", "delete", IDS[1], "desk-9").code == 1
    assert run("sessions", "show", IDS[1]).code == 0  # none is deleted if one is not there


def test_a_store_that_is_not_there_is_named_and_not_made(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "none.db"
    done = run("sessions", "list", "--store", str(place))
    assert done.code == 1
    assert str(place) in done.err
    assert not place.exists()
