"""Terms: what is counted without stemming every word is what stemming every word would count."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from brim.plan.words import counted, split, words

ENDINGS = (
    "", "s", "es", "ies", "ied", "ed", "ing", "ingly", "edly", "eed", "y", "ly", "e", "ational", "ization", "ability",
    "iveness", "ousness", "fulness", "ements", "icate", "ative", "sion", "logy",
)  # fmt: skip
TEXTS = (
    "They adopted three children, and the cities' skies were dying gently",
    "getUserName() returns HTTPServer ids; user_name, USER and Users42 ran off",
    "Der Hund läuft nicht schnell, und die Katze ist müde von den Häusern",
    "東京タワー is near, Größenänderungen überprüfen",
)


def _by_all_terms(texts: list[str], wanted: set[str]) -> list[dict[str, int]]:
    return [{term: times for term, times in Counter(words(text)).items() if term in wanted} for text in texts]


def test_terms_of_any_script_are_counted_as_if_every_word_was_read() -> None:
    for term in {term for text in TEXTS for term in words(text)}:
        found = counted([split(text) for text in TEXTS], {term})
        assert any(found), term
        assert found == _by_all_terms(list(TEXTS), {term})


def test_a_text_without_the_terms_has_no_counts() -> None:
    assert counted([["They", "adopted", "cats"], [], ["dogs"]], {"adopt"}) == [{"adopt": 1}, {}, {}]


@given(st.lists(st.tuples(st.text("abelnotyz", max_size=5), st.sampled_from(ENDINGS)), min_size=1, max_size=12))
def test_no_form_of_a_word_is_missed_whatever_its_ending(made: list[tuple[str, str]]) -> None:
    text = " ".join(start + ending for start, ending in made)
    for term in set(words(text)):
        assert counted([split(text)], {term}) == _by_all_terms([text], {term})
