"""The compiled search finds what the plain one finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.plan.relevance import find
from brim.plan.relevance.find import holders, plain_holders

TEXTS = st.lists(st.text(max_size=40) | st.text("abAB é_", max_size=40) | st.text("aA", max_size=8), max_size=8)
STRINGS = st.lists(st.text("ab é_", max_size=3) | st.text(max_size=4).map(str.lower), max_size=140)


@given(TEXTS, STRINGS)
def test_the_same_texts_hold_the_same_strings_with_and_without_a_compiler(texts: list[str], strings: list[str]) -> None:
    assert holders(texts, strings) == plain_holders(texts, strings)


def test_letters_of_either_case_are_found_to_the_last_character() -> None:
    assert holders(["The DOG", "a dot", "doG", "x", ""], ["dog", "x", "t", ""]) == [
        [0, 2], [3], [0, 1], [0, 1, 2, 3, 4],
    ]  # fmt: skip


@pytest.mark.skipif(find._compiled is None, reason="installed without a compiler")
@pytest.mark.parametrize("wrong", [([b"a"], ["a"]), (["a"], [1]), (("a",), ["a"])])
def test_what_is_no_list_of_strings_is_refused(wrong: tuple[list[str], list[str]]) -> None:
    with pytest.raises(TypeError):
        holders(*wrong)
