"""Recorded requests are read from whatever they were recorded in, one at a time, and what is bad is told."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim import zstd
from brim.replays.recorded import Problem, Recorded
from brim.replays.scanning import elements
from brim.replays.sources import ReplaySource, opened
from brim.stores.sqlite import SqliteStore
from tests.replays.chats import chat, lines

TALK = chat(3)
MARKS = (
    b"\n",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"\\ud800",
    b"1e999",
    b",",
    b'"tool_calls":[{}],',
    b'"role":"tool",',
)


def read(source: ReplaySource, transcripts: bool = False) -> tuple[list[Recorded], list[Problem]]:
    found = list(opened(source, transcripts).found)
    return [one for one in found if isinstance(one, Recorded)], [one for one in found if isinstance(one, Problem)]


def messages_of(recorded: Recorded) -> list[Any]:
    body = json.loads(recorded.body)
    return list(body["messages"] if isinstance(body, dict) else body)


def spread(values: list[Any]) -> bytes:
    return json.dumps(values, indent=2).encode()


PACKED = zstd.compress
WAYS = {
    "lines": lines(TALK),
    "lines with blank ones": b"\n" + lines(TALK).replace(b"\n", b"\n\n"),
    "lines with CRLF": lines(TALK).replace(b"\n", b"\r\n"),
    "lines with a mark of byte order": b"\xef\xbb\xbf" + lines(TALK),
    "an array": json.dumps(TALK).encode(),
    "an array over many lines": spread(TALK),
    "an array after blank lines": b"\n\n " + spread(TALK),
    "lines of arrays": lines([TALK[:2], TALK[2:]]),
    "lists of messages": lines([body["messages"] for body in TALK]),
    "bodies in envelopes": lines([{"body": body, "time": 5} for body in TALK]),
    "bodies as text": lines([{"request": json.dumps(body), "model": "gpt-4o"} for body in TALK]),
    "a batch file": lines([{"custom_id": "a", "method": "POST", "url": "/v1/chat", "body": body} for body in TALK]),
    "a message batch": lines([{"custom_id": "a", "params": body} for body in TALK]),
    "gzip": gzip.compress(lines(TALK)),
    "zstd": PACKED(lines(TALK)),
    "two frames of zstd": PACKED(lines(TALK[:1])) + PACKED(lines(TALK[1:])),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_requests_are_read_however_they_were_recorded(way: str, tmp_path: Path) -> None:
    file = tmp_path / "traffic"
    file.write_bytes(WAYS[way])
    found, problems = read(file)
    assert [messages_of(one) for one in found] == [body["messages"] for body in TALK]
    assert problems == []
    again, _ = read(io.BytesIO(WAYS[way]))
    assert [one.body for one in again] == [one.body for one in found]


def test_one_request_over_many_lines_is_one_request(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text(json.dumps(TALK[2], indent=1))
    found, problems = read(tmp_path / "body.json")
    assert ([messages_of(one) for one in found], problems) == ([TALK[2]["messages"]], [])
    assert found[0].place.endswith("body.json:1")


def test_a_list_of_messages_over_many_lines_is_one_request(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_bytes(spread(TALK[2]["messages"]))
    found, problems = read(tmp_path / "chat.json")
    assert ([messages_of(one) for one in found], problems) == ([TALK[2]["messages"]], [])


def test_python_objects_are_requests_too() -> None:
    given = [TALK[0], TALK[1]["messages"], json.dumps(TALK[2]), json.dumps(TALK[2]).encode()]
    found, problems = read(given)
    assert [messages_of(one) for one in found] == [TALK[n]["messages"] for n in (0, 1, 2, 2)]
    assert problems == []


def test_an_envelope_tells_the_model_the_session_and_the_time() -> None:
    kept = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    given = [
        {"body": kept, "url": "/v1beta/models/gemini-2.5-pro:generateContent", "session_id": 7, "time": 1763251200500},
        {"request": kept, "model": "gemini-2.5-flash", "thread_id": "t", "timestamp": "2025-11-16T00:00:00.5Z"},
    ]
    found, _ = read(given)
    assert [(one.model, one.session, one.at) for one in found] == [
        ("gemini-2.5-pro", "7", 1763251200.5),
        ("gemini-2.5-flash", "t", 1763251200.5),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"messages": [}', "is not JSON"),
        (b"plain text", "is not JSON"),
        (b"[1, 2]", "is no request"),
        (b'{"hello": 1}', "is no request: a line is a request body"),
        (b"3", "is no request"),
        (b'{"messages": "\xff"}', "is not UTF-8"),
        (b"[" * 5_000, "is"),
    ],
)
def test_a_bad_line_is_told_with_its_file_and_number_and_the_rest_goes_on(
    line: bytes, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "traffic.jsonl"
    file.write_bytes(lines(TALK[:1]) + line + b"\n" + lines(TALK[1:]))
    found, problems = read(file)
    assert [messages_of(one) for one in found] == [body["messages"] for body in TALK]
    assert {one.place for one in problems} == {f"{file}:2"}
    assert problem in problems[0].problem


def test_a_first_line_that_is_cut_off_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "traffic.jsonl").write_bytes(lines(TALK)[:50] + b"\n" + lines(TALK))
    found, problems = read(tmp_path / "traffic.jsonl")
    assert (len(found), len(problems)) == (3, 1)


def test_a_last_line_that_is_cut_off_says_so(tmp_path: Path) -> None:
    (tmp_path / "traffic.jsonl").write_bytes(lines(TALK)[:-40])
    found, problems = read(tmp_path / "traffic.jsonl")
    assert len(found) == 2
    assert "cut off" in problems[0].problem


def test_a_packed_file_that_is_cut_off_gives_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "traffic.gz").write_bytes(gzip.compress(lines(TALK * 20))[:-12])
    found, problems = read(tmp_path / "traffic.gz")
    assert len(found) > 10
    assert "cannot be unpacked to its end" in problems[-1].problem


def test_a_bad_element_of_an_array_is_told_with_its_line(tmp_path: Path) -> None:
    rows = ",\n".join([json.dumps(TALK[0]), '{"messages" 1}', json.dumps(TALK[1])])
    (tmp_path / "traffic.json").write_text(f"[\n{rows}\n]")
    found, problems = read(tmp_path / "traffic.json")
    assert [messages_of(one) for one in found] == [body["messages"] for body in TALK[:2]]
    assert [one.place for one in problems] == [f"{tmp_path / 'traffic.json'}:3"]


@pytest.mark.parametrize("bad", ['{"messages" 1}', "17", '{"hello": 1}'])
def test_a_bad_first_element_of_an_array_does_not_hide_the_others(bad: str, tmp_path: Path) -> None:
    (tmp_path / "traffic.json").write_text(f"[\n{bad},\n{json.dumps(TALK[0])}\n]")
    found, problems = read(tmp_path / "traffic.json")
    assert [messages_of(one) for one in found] == [TALK[0]["messages"]]
    assert [one.place for one in problems] == [f"{tmp_path / 'traffic.json'}:2"]


def test_an_array_on_the_first_line_does_not_hide_the_lines_after_it(tmp_path: Path) -> None:
    (tmp_path / "traffic.jsonl").write_bytes(b"[1, 2]\n" + lines(TALK))
    found, problems = read(tmp_path / "traffic.jsonl")
    assert [messages_of(one) for one in found] == [body["messages"] for body in TALK]
    assert {one.place for one in problems} == {f"{tmp_path / 'traffic.jsonl'}:1"}


def test_lines_of_the_gateways_log_that_hold_no_request_are_passed_over() -> None:
    log = {"at": "2026-11-16T00:00:00.000Z", "level": "info"}
    given = [
        {**log, "event": "fitted", "session": "a", "before": 9, "after": 8},
        {**log, "event": "content", "session": "a", "request": ["texts"], "body": TALK[0]},
        {**log, "event": "content", "session": "a", "request": ["texts"]},
    ]
    found, problems = read(given)
    assert [(messages_of(one), one.session) for one in found] == [(TALK[0]["messages"], "a")]
    assert [one.place for one in problems] == ["requests[2]"]
    assert "without the request's body" in problems[0].problem


def test_a_transcript_is_the_requests_that_it_was_made_of() -> None:
    whole = {"id": "run-1", "messages": [*chat(4)[3]["messages"], {"role": "assistant", "content": "Done."}]}
    found, problems = read([whole], transcripts=True)
    assert [messages_of(one) for one in found] == [body["messages"] for body in chat(4)]
    assert ({one.session for one in found}, problems) == ({"run-1"}, [])


def test_messages_line_by_line_are_a_transcript(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_bytes(lines(TALK[2]["messages"]))
    found, _ = read(tmp_path / "chat.jsonl")
    assert [messages_of(one) for one in found] == [body["messages"] for body in TALK]


def test_an_exported_session_is_replayed_request_by_request(tmp_path: Path) -> None:
    session = brim.Session(model="gpt-4o", id="s1")
    session.fit(TALK[2]["messages"])
    (tmp_path / "session.jsonl").write_text("\n".join(session.export()) + "\n")
    found, problems = read(tmp_path / "session.jsonl")
    assert [messages_of(one) for one in found] == [body["messages"] for body in TALK]
    assert ({(one.session, one.model) for one in found}, problems) == ({("s1", "gpt-4o")}, [])


def test_a_store_is_replayed_with_what_was_edited_away(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "brim.db")
    for name, topic in (("one", "harbour"), ("two", "lake")):
        session = brim.Session(model="gpt-4o", id=name, store=store)
        for body in chat(3, topic=topic):
            session.fit(body["messages"])
        edited = [*body["messages"][:-2], {"role": "user", "content": "No, wait."}]
        session.fit(edited)
    store.close()
    found, problems = read(tmp_path / "brim.db")
    assert problems == []
    lake = [messages_of(one) for one in found if one.session == "two"]
    # Sent in one go, cut back and sent with another end: three requests, then the edited one.
    assert lake[-1][-1] == {"role": "user", "content": "No, wait."}
    assert lake[:3] == [body["messages"] for body in chat(3, topic="lake")]
    assert {one.session for one in found} == {"one", "two"}


def test_a_damaged_store_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "brim.db").write_bytes(b"SQLite format 3\0" + b"no more than that" * 100)
    with pytest.raises(brim.BadInput, match=r"brim\.db: cannot be read as a store"):
        read(tmp_path / "brim.db")


class Endless(io.RawIOBase):
    """Many requests as a file that stands nowhere."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._left = self._left or next(self._parts, b"")
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


@pytest.mark.parametrize("form", ["lines", "one array on one line"])
def test_a_file_that_is_larger_than_memory_is_read_as_a_stream(form: str) -> None:
    line = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "x" * 50_000}]}).encode()
    ends = (b"", b"\n", b"") if form == "lines" else (b"[", b", ", b"]")

    def parts() -> Iterator[bytes]:
        yield ends[0]
        for number in range(1_000):
            yield line + (ends[1] if number < 999 else b"")
        yield ends[2]

    tracemalloc.start()
    count = sum(isinstance(one, Recorded) for one in opened(io.BufferedReader(Endless(parts()))).found)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1_000
    assert peak < 8 << 20


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet='ab"\\[]{},\n é', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=5), st.integers(1, 7), st.sampled_from([None, 1]))
def test_the_elements_of_an_array_are_found_wherever_its_chunks_end(values: list[Any], size: int, indent: Any) -> None:
    data = json.dumps(values, indent=indent).encode()
    found = list(elements(data[at : at + size] for at in range(0, len(data), size)))
    assert [json.loads(raw) for _, raw in found] == values
    assert all(data.split(b"\n")[line - 1].lstrip().startswith(raw[:1]) for line, raw in found) or indent is None


@pytest.mark.parametrize(
    ("line", "time"),
    [
        (rb'{"model": "gpt-4o", "messages": [{"role": "user", "content": "\ud800"}]}', None),
        (rb'{"\ud800": 1, "model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}', None),
        (rb'{"odd": "\ud800", "seed": %b, "messages": [{"role": "user", "content": "hi"}]}' % (b"9" * 40), None),
        (rb'{"time": %b, "messages": [{"role": "user", "content": "hi"}]}' % (b"9" * 400), None),
        (rb'{"time": 1763251200000, "messages": [{"role": "user", "content": "hi"}]}', 1_763_251_200.0),
    ],
)
def test_odd_texts_and_numbers_beside_the_messages_are_read(line: bytes, time: float | None) -> None:
    [found], problems = read(io.BytesIO(line))
    assert problems == []
    assert found.at == time
    assert brim.replay([found], model="gpt-4o", budget=500).requests == 1


@given(st.data())
def test_lines_with_any_bytes_changed_are_read_or_told_and_never_raise(data: st.DataObject) -> None:
    good = bytearray(lines(TALK))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3) | st.sampled_from(MARKS))
    found = brim.replay(io.BytesIO(good), model="gpt-4o", budget=300)
    assert found.held
    assert found.requests + found.left_out > 0
