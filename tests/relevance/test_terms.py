"""Terms that are looked for without stemming every word are found as if every word was stemmed."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brim.relevance import Index, Unread, scan
from brim.relevance.entries import kind_of
from brim.relevance.scan import Scan
from brim.relevance.terms import _is_foreign, split, words

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


WITH_AND_WITHOUT = pytest.mark.parametrize("compiled", [True, False])


def held_by_all_terms(texts: list[str], wanted: list[str]) -> dict[str, list[int]]:
    return {term: [n for n, text in enumerate(texts) for each in words(text) if each == term] for term in wanted}


def looked_for(texts: list[str], wanted: list[str], compiled: bool) -> Scan:
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(scan, "_compiled", None)
        return Scan(texts, wanted)


@WITH_AND_WITHOUT
def test_terms_of_any_script_are_found_as_if_every_word_was_read(compiled: bool) -> None:
    wanted = list(dict.fromkeys(term for text in TEXTS for term in words(text)))
    found = looked_for(list(TEXTS), wanted, compiled)
    assert found.held == held_by_all_terms(list(TEXTS), wanted)
    assert list(found.kinds) == [kind_of(text, split(text)) for text in TEXTS]


@WITH_AND_WITHOUT
def test_a_term_that_no_text_holds_is_held_by_none(compiled: bool) -> None:
    assert looked_for(["They adopted cats", "", "dogs"], ["adopt", "fish"], compiled).held == {"adopt": [0], "fish": []}


@given(st.lists(st.text("abAB1_ -.", max_size=70), min_size=1, max_size=3), st.sampled_from(["yesterday", "I", "b"]))
def test_words_and_their_parts_are_found_wherever_they_begin(texts: list[str], more: str) -> None:
    texts = [*texts, f"{texts[0]} {more}?"]
    wanted = list(dict.fromkeys(term for text in texts for term in words(text)))
    fast, slow = (looked_for(texts, wanted, compiled) for compiled in (True, False))
    assert fast.held == slow.held == held_by_all_terms(texts, wanted)
    assert fast.kinds == slow.kinds


@WITH_AND_WITHOUT
@given(made=st.lists(st.tuples(st.text("abelnotyz", max_size=5), st.sampled_from(ENDINGS)), min_size=1, max_size=12))
def test_no_form_of_a_word_is_missed_whatever_its_ending(made: list[tuple[str, str]], compiled: bool) -> None:
    text = " ".join(start + ending for start, ending in made)
    assume(not _is_foreign(split(text)))  # what says nothing in another language is looked for all the same
    wanted = list(dict.fromkeys(words(text)))
    assert looked_for([text], wanted, compiled).held == held_by_all_terms([text], wanted)


ANY_TEXT = st.text(max_size=40) | st.text("abAB1_ é?", max_size=40)


@given(st.lists(ANY_TEXT, max_size=6), st.lists(ANY_TEXT, max_size=4))
def test_texts_are_read_alike_with_and_without_a_compiler(texts: list[str], asked: list[str]) -> None:
    wanted = list(dict.fromkeys(term for text in [*asked, *texts[:2]] for term in words(text)))
    fast, slow = looked_for(texts, wanted, True), looked_for(texts, wanted, False)
    assert (fast.held, fast.kinds) == (slow.held, slow.kinds)
    more = [f"{term}s" for term in wanted]
    fast.add(more)
    slow.add(more)
    assert fast.held == slow.held


@given(
    st.lists(st.text("abc d?IT.", max_size=30) | st.sampled_from(TEXTS[:2]), max_size=8), st.text("abc d", max_size=20)
)
def test_texts_that_are_asked_about_once_score_as_in_an_index(texts: list[str], query: str) -> None:
    index, unread = Index(), Unread()
    for number, text in enumerate(texts):
        index.add(text, tokens=5, session=number // 3)
        unread.add(text, tokens=5, session=number // 3)
    assert unread.score(query, 0.2) == index.score(query, 0.2)
    assert unread.pack(query, 12) == index.pack(query, 12)
