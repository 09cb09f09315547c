"""Counting no more of a long text than an answer needs."""

from __future__ import annotations

import pytest

from brim.tokens.bounded_count import known, up_to
from brim.tokens.tokenizers import tokenizer

TEXTS = ["short", "words of a text " * 2_000, "x9 é中 " * 5_000, "=" * 50_000, "0" * 20_000]


class Tally:
    """A tokenizer that knows how much it has read."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self, text: str) -> int:
        self.read += len(text)
        return tokenizer("o200k")(text)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("most", [0, 10, 1_000, 100_000])
def test_a_sparing_count_is_the_count_of_what_fits_and_above_the_room_for_the_rest(text: str, most: int) -> None:
    whole, found = tokenizer("o200k")(text), up_to(tokenizer("o200k"), most)(text)
    assert found == whole if whole <= most else most < found <= whole


def test_a_text_far_larger_than_its_room_is_hardly_read_and_only_once() -> None:
    tally = Tally()
    count = up_to(tally, 1_000)
    text = "some words of a text " * 50_000
    assert count(text) > 1_000
    assert count(text[:]) > 1_000
    assert tally.read < 10_000


def test_a_known_size_is_not_counted_again() -> None:
    tally = Tally()
    text = "words " * 100
    count = known(tally, text, 101)
    assert count(text) == 101
    assert tally.read == 0
    assert count("hello world") == 2
