from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

import brim
from brim.content.logs import lines as logs
from brim.errors import NotDecodable

log_lines = st.one_of(
    st.builds(
        "2024-05-{:02d} 10:00:{:02d} {} worker-{} {}".format,
        st.integers(1, 28),
        st.integers(0, 59),
        st.sampled_from(["INFO", "WARN", "ERROR"]),
        st.integers(1, 9),
        st.sampled_from(["started", "got 5 items", 'said "x"', "id=ab12 | {}", "<> ×2 left", ""]),
    ),
    st.text(alphabet='ab1"|×^=<>{} ,\r\t', max_size=12),
)
log_texts = st.lists(log_lines, max_size=60).map("\n".join)


def server_log(lines: int) -> str:
    out = []
    for i in range(lines):
        clock = f"2024-05-01 10:{i // 60 % 60:02d}:{i % 60:02d}"
        out.append(f"{clock},{i % 1000:03d} INFO [pool-{i % 4}] Served /items/{i} in {i % 90} ms")
        if i % 50 == 7:
            out.append(f"{clock},500 WARN [gc] Pause of {i} ms")
        if i == lines // 2:
            out.append("2024-05-01 10:20:00,000 ERROR [db] Lost connection to replica db-7: timeout")
            out.append("2024-05-01 10:20:00,001 INFO [db] Switching to primary")
    return "\n".join(out)


@given(st.one_of(texts, log_texts), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(logs.extract, text, tokens, query[:30])


@given(log_texts, st.integers(30, 200))
def test_every_line_of_an_extract_is_a_line_of_the_log_or_a_note_in_brackets_or_a_count(text, tokens):
    got = logs.extract(text, room(tokens))
    if got.startswith("#brim log"):
        assert logs.decode(got) == text
        return
    lines = set(text.split("\n"))
    assert all(line in lines or line.startswith(("[", "×")) or "[… " in line for line in got.split("\n"))


@given(st.one_of(texts, log_texts, log_texts.map(lambda text: "\n".join([text] * 4))))
def test_the_dense_form_decodes_to_the_same_log(text):
    form = logs.dense(text)
    assert form is None or (logs.decode(form) == text and len(form) < len(text))


def test_the_dense_form_of_a_server_log_takes_less_than_half():
    text = server_log(500)
    form = logs.dense(text)
    assert form is not None
    assert logs.decode(form) == text
    assert count(form) < 0.6 * count(text)


@pytest.mark.parametrize("text", ["", "hello", "#brim log: other\na 1", "#brim csv ,: x"])
def test_what_is_no_dense_log_is_not_decoded(text):
    with pytest.raises(NotDecodable):
        logs.decode(text)


def test_a_row_that_repeats_a_missing_value_is_not_decoded():
    form = logs.dense("\n".join(f"at {i}:00 served {i} of 100" for i in range(40)))
    assert form is not None
    with pytest.raises(NotDecodable):
        logs.decode(form + '\na " "\n|x\na " "')


def test_the_one_error_among_thousands_of_lines_stays_verbatim():
    got = logs.extract(server_log(5000), room(400))
    assert "2024-05-01 10:20:00,000 ERROR [db] Lost connection to replica db-7: timeout" in got.split("\n")
    assert "Switching to primary" in got


def test_an_extract_says_how_often_a_shape_occurs_and_from_when_to_when():
    got = logs.extract(server_log(1000), room(400))
    assert got.startswith("[1,022 lines of 4 shapes, 2024-05-01 10:00:00,000 to 2024-05-01 10:16:39,999")
    assert "\n×1000\n" in got
    assert "\n×20\n" in got


def test_frames_of_a_trace_do_not_crowd_out_the_messages_of_a_log():
    frames = [
        f"\tat com.acme.{a}{b}.call({a}.java:{i})" for i, (a, b) in enumerate((a, b) for a in "abcdefgh" for b in "xyz")
    ]
    text = server_log(400).replace("WARN [gc]", "\n".join(["ERROR [gc] java.lang.OutOfMemoryError", *frames, "x"]), 1)
    events = "".join(
        f"2024-05-01 11:00:00 INFO [{word}] {word} is ready\n" for word in ("cart", "mail", "auth", "feed")
    )
    got = logs.extract(text + "\n" + events, room(320))
    assert all(f"INFO [{word}] {word} is ready" in got for word in ("cart", "mail", "auth", "feed"))
    assert "java.lang.OutOfMemoryError" in got


def test_lines_of_the_query_come_before_the_rest():
    got = logs.extract(server_log(3000), room(300, "what happened to /items/1234"))
    assert "Served /items/1234 in" in got


def test_a_summary_mark_counts_what_is_left_out_and_names_the_handle():
    got = logs.extract(server_log(1000), room(300, handle="brim:3f2a", recall=True))
    last = got.split("\n")[-1]
    kept = sum(line.startswith("2024") for line in got.split("\n"))
    assert last == f"[… {1022 - kept:,} of 1,022 lines left out, recall brim:3f2a]"


def test_the_room_is_filled_when_there_is_more_to_say():
    assert count(logs.extract(server_log(3000), room(1000))) >= 950


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000_000,
        "a1 " * 3_000_000,
        "\n" * 2_000_000,
        "\n".join(f"{i * 7919 % 10_007} word{chr(97 + i % 26)} ERROR {i}" for i in range(300_000)),
    ],
    ids=["one line", "one line of words", "blank lines", "many lines"],
)
def test_huge_logs_take_no_more_than_moments(text):
    start = time.perf_counter()
    got = logs.extract(text, room(500))
    assert time.perf_counter() - start < 15
    assert 0 < count(got) <= 500


def test_json_on_a_line_of_a_log_is_shortened_as_json():
    body = json.dumps({"total": 400, "items": [{"id": n, "name": f"item {n}", "state": "open"} for n in range(400)]})
    head = [f"* step {n} of the handshake" for n in range(9)]
    text = "\n".join([*head, "> GET /items HTTP/2", "< HTTP/2 200", body + "* Connection #0 left intact"])
    got = brim.compact(text, 400, "log").text
    assert "< HTTP/2 200" in got
    assert "400 rows × 3 fields" in got
    assert "399, item 399" in got
