"""Reading a content that was put aside."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.docsearch.sizes import count_tokens
from brim.recall import Asked, asked, matching, page, read


@pytest.mark.parametrize("count", [count_tokens, len])
@given(text=st.text(max_size=2_000), offset=st.integers(-5, 2_100), budget=st.integers(90, 400))
def test_a_page_stays_within_its_budget(text: str, offset: int, budget: int, count: Callable[[str], int]) -> None:
    assert count(page(text, offset, budget, count)) <= budget


@pytest.mark.parametrize("count", [count_tokens, len])
def test_pages_put_together_are_the_text(count: Callable[[str], int]) -> None:
    text = "".join(f"line {number} of a file\n" for number in range(800))
    got, offset = "", 0
    while True:
        part, _, note = page(text, offset, 500, count).rpartition("\n[… ")
        got += part
        if "next offset" not in note:
            break
        offset = int(note.split("next offset ")[1].rstrip("]"))
    assert got == text


def test_a_text_that_fits_comes_without_a_note() -> None:
    assert page("short", 0, 100, count_tokens) == "short"
    assert page("", 0, 100, count_tokens) == ""
    assert page("short", 9, 100, count_tokens) == "[the text ends at character 5]"


def test_matching_lines_come_with_what_stands_around_them_and_their_offset() -> None:
    text = "\n".join(f"row {i} {'needle' if i == 500 else 'hay'}" for i in range(1_000))
    found = matching({"": text}, "needle", 200, count_tokens)
    assert "row 498 hay\nrow 499 hay\nrow 500 needle\nrow 501 hay\nrow 502 hay" in found
    assert found.startswith(f"[… offset {text.index('row 498')}]")
    assert "nothing matches 'zebra'" in matching({"": text}, "zebra", 200, count_tokens)
    assert matching({}, "zebra", 200, count_tokens) == "[nothing matches 'zebra']"


def test_lines_of_several_texts_stand_under_their_labels() -> None:
    texts = {
        "messages[1]": "the depot is in Porto\nsecond",
        "messages[2]": "nothing here",
        "messages[7]": "a depot too",
    }
    found = matching(texts, "depot", 200, count_tokens)
    assert found == ("[messages[1]]\nthe depot is in Porto\nsecond\n[messages[7]]\na depot too\n[2 matching lines]")


def test_a_single_long_line_is_searched_in_pieces() -> None:
    text = '{"a":' * 50_000 + '"needle"' + "}" * 50_000
    found = matching({"": text}, "needle", 500, count_tokens)
    assert '"needle"' in found
    assert count_tokens(found) <= 500


@pytest.mark.parametrize(
    ("arguments", "means"),
    [
        ({"handle": "brim:3f2a"}, Asked("brim:3f2a", "", 0)),
        ({"handle": " [3f2a] ", "offset": 400}, Asked("brim:3f2a", "", 400)),
        ({"handle": 7, "query": " words ", "offset": -3}, Asked("", "words", 0)),
        ({"handle": "", "query": None, "offset": True}, Asked("", "", 0)),
        (["handle"], Asked("", "", 0)),
        (None, Asked("", "", 0)),
    ],
)
def test_arguments_are_read_as_far_as_they_make_sense(arguments: object, means: Asked) -> None:
    assert asked(arguments) == means


def test_a_query_goes_before_an_offset() -> None:
    text = "one\ntwo\nthree\nfour\nfive\nsix\nseven"
    assert "seven" in read(text, Asked("brim:1", "seven", 2), 100, count_tokens)
    assert read(text, Asked("brim:1", "", 4), 100, count_tokens).startswith("two")
