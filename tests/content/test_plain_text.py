from __future__ import annotations

import time

import pytest
from hypothesis import given
from rooms import budgets, count, is_verbatim, room, stays_inside, texts

from brim.content import plain_text
from brim.content.selection import paragraphed


def numbered(number: int) -> str:
    return "".join(f"line {i} of the report has value {i * 7919 % 1000}\n" for i in range(number))


@given(texts, budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(plain_text.extract, text, tokens, query[:30])


@given(texts, budgets)
def test_everything_kept_is_a_verbatim_stretch_of_the_text(text, tokens):
    got = plain_text.extract(text, room(tokens, handle="brim:3f2a"))
    assert got == text or is_verbatim(got, text)


def test_head_and_tail_stay_and_the_middle_says_how_much_is_missing():
    got = plain_text.extract(numbered(200), room(80)).splitlines()
    assert got[0].startswith("line 0 ")
    assert got[-1].startswith("line 199 ")
    marks = [line for line in got if line.startswith("[… ")]
    assert marks == [f"[… {200 - len(got) + 1} lines]"]


def test_the_room_is_filled():
    assert count(plain_text.extract(numbered(2000), room(1000))) >= 950
    assert count(plain_text.extract("word " * 50_000, room(1000))) >= 900


def test_lines_that_match_the_query_are_kept_from_the_middle():
    text = numbered(150) + "FATAL disk sdb1 is full\n" + numbered(150)
    got = plain_text.extract(text, room(80, query="which disk was full?"))
    assert "FATAL disk sdb1 is full\n" in got


def test_a_match_in_the_middle_of_a_huge_text_is_found():
    text = numbered(60_000) + "FATAL disk sdb1 is full\n" + numbered(60_000)
    got = plain_text.extract(text, room(80, query="which disk was full?"))
    assert "FATAL disk sdb1 is full\n" in got


def test_a_giant_line_is_cut_inside():
    got = plain_text.extract("start " + "word " * 100_000 + "end", room(40))
    assert got.startswith("start word")
    assert got.endswith("word end")
    assert "characters]" in got


def test_one_mark_carries_the_handle():
    text = numbered(100) + "FATAL disk sdb1 is full\n" + numbered(100)
    got = plain_text.extract(text, room(100, query="FATAL", handle="brim:3f2a", recall=True))
    assert got.count("recall brim:3f2a]") == 1
    assert got.count("[… ") == 2


def test_a_room_for_nothing_says_no_more_than_fits():
    assert plain_text.extract(numbered(50), room(0)) == ""
    assert plain_text.extract(numbered(50), room(1)) == "[…]"
    assert plain_text.extract(numbered(50), room(8)) == "[… 50 lines]"


def test_fifty_megabytes_take_little_time():
    for text in (numbered(1_000_000), "x" * 50_000_000, "\n" * 50_000_000):
        start = time.perf_counter()
        plain_text.extract(text, room(2000, query="value 77"))
        assert time.perf_counter() - start < 6


@pytest.mark.parametrize("text", ["😀👩‍👩‍👧" * 800, "".join(map(chr, range(0x4E00, 0x4E00 + 6_000))), "абвгдежз" * 600])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95])
def test_one_long_line_of_any_script_fills_its_room(text: str, share: float) -> None:
    tokens = int(share * count(text))
    assert 0.9 * tokens <= count(plain_text.extract(text, room(tokens, handle="brim:00000000"))) <= tokens


def test_many_blank_lines_are_read_in_linear_time() -> None:
    taken = []
    for length in (20_000, 160_000):
        start = time.process_time()
        paragraphed("a" + "\n" * length)
        taken.append(time.process_time() - start)
    assert taken[1] < 20 * taken[0] + 0.1
