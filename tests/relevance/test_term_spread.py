"""What is found raises its neighbours alike with and without a compiler."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.relevance import term_spread
from brim.relevance.entries import Entries

ENTRIES = st.lists(st.tuples(st.sampled_from(["said", "asked?"]), st.integers(1, 200), st.integers(0, 2)), min_size=1)


def entries_of(made: list[tuple[str, int, int]]) -> Entries:
    entries = Entries()
    for text, tokens, session in made:
        entries.append(text, "", "", session, tokens, [])
    return entries


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
@given(ENTRIES, st.data())
def test_the_same_reaches_the_same_neighbours_to_the_last_bit(
    made: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    entries = entries_of(made)
    hits = data.draw(st.dictionaries(st.integers(0, len(made) - 1), st.floats(0, 9)))
    fast, slow = (array("d", [0.25]) * len(made) for _ in range(2))
    term_spread.share(hits, fast, entries)
    term_spread.plain_share(hits, slow, entries)
    assert fast == slow


def test_the_best_that_reaches_an_entry_counts_and_nothing_crosses_a_session() -> None:
    totals = term_spread.zeros(4)
    entries = entries_of([("said", 10, 0), ("said", 10, 0), ("said", 10, 0), ("said", 10, 1)])
    term_spread.share({0: 1.0, 2: 1.0}, totals, entries)
    assert totals[0] == totals[2] == 1.0
    assert 0 < totals[1] < 1.0
    assert totals[3] == 0.0


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
@pytest.mark.parametrize("hits", [{9: 1.0}, {-1: 1.0}, {"a": 1.0}, {0: "b"}])
def test_a_hit_that_is_none_is_refused(hits: dict[int, float]) -> None:
    with pytest.raises((IndexError, TypeError)):
        term_spread.share(hits, term_spread.zeros(1), entries_of([("said", 1, 0)]))


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
@given(ENTRIES, st.data())
def test_a_term_gives_the_same_to_the_last_bit(made: list[tuple[str, int, int]], data: st.DataObject) -> None:
    bm25 = term_spread.TermStatistics.of(entries_of(made))
    held = st.lists(st.integers(0, len(made) - 1), max_size=12).map(sorted)
    found = data.draw(st.lists(st.tuples(held, st.floats(0.01, 2.0)), max_size=3))
    widest = data.draw(st.sampled_from([0.0, 2.0, 1e9]))
    fast, slow = ([array("d", [first] * len(made)) for first in (0.25, 0.0)] for _ in range(2))
    term_spread.gather(found, *fast, bm25, widest)
    term_spread.plain_gather(found, *slow, bm25, widest)
    assert fast == slow


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
@pytest.mark.parametrize("held", [[9], [-1], ["a"], [1, 0]])
def test_a_holder_that_is_none_is_refused(held: list[int]) -> None:
    entries = entries_of([("said", 1, 0), ("said", 1, 0)])
    totals, roots = array("d", [0.0, 0.0]), array("d", [0.0, 0.0])
    with pytest.raises((IndexError, TypeError)):
        term_spread.gather([(held, 1.0)], totals, roots, term_spread.TermStatistics.of(entries), 9.0)


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
@given(st.lists(st.text(max_size=20) | st.integers(0, 900).map(lambda n: "x" * n), max_size=8))
def test_unread_texts_have_the_same_columns(texts: list[str]) -> None:
    fast, slow = Entries.unread(texts), Entries()
    slow.texts = list(texts)
    slow._measure()
    assert (fast.lengths, fast.tokens, fast.decay) == (slow.lengths, slow.tokens, slow.decay)
    assert (fast.total_length, fast.total_tokens) == (slow.total_length, slow.total_tokens)


COLUMN = st.lists(st.floats(0, 9), max_size=30)


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
@given(COLUMN, st.data())
def test_columns_are_raised_and_scaled_the_same_to_the_last_bit(values: list[float], data: st.DataObject) -> None:
    roots = array("d", [data.draw(st.floats(0, 3)) for _ in values])
    kinds = bytearray([data.draw(st.integers(0, 15)) for _ in values])
    fast, slow = array("d", values), array("d", values)
    term_spread.meet(fast, roots, 0.15)
    term_spread.plain_meet(slow, roots, 0.15)
    assert fast == slow
    gain = [1 + kind / 7 for kind in range(16)]
    term_spread.raise_kinds(fast, kinds, gain)
    term_spread.plain_raise_kinds(slow, kinds, gain)
    assert fast == slow
    assert term_spread.scale(fast) == term_spread.plain_scale(slow) == bool(values)
    assert fast == slow
    assert max(fast, default=1.0) == 1.0


def test_what_nothing_reaches_is_not_scaled() -> None:
    for scale in (term_spread.scale, term_spread.plain_scale):
        totals = term_spread.zeros(3)
        assert not scale(totals)
        assert totals == term_spread.zeros(3)


def test_the_best_are_chosen_until_one_is_too_long_and_of_equals_the_newer() -> None:
    for choose in (term_spread.choose_best, term_spread.plain_choose_best):
        chosen = {1}
        choose(array("d", [2.0, 9.0, 1.0, 2.0, 3.0]), [10, 10, 10, 10, 10], 25, chosen)
        assert chosen == {1, 3, 4}


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=40), st.integers(0, 120), st.data())
def test_the_same_are_chosen(made: list[tuple[int, int]], left: int, data: st.DataObject) -> None:
    ranks, lengths = array("d", [rank for rank, _ in made]), [length for _, length in made]
    before = data.draw(st.sets(st.integers(0, max(0, len(made) - 1))))
    fast, slow = set(before), set(before)
    term_spread.choose_best(ranks, lengths, left, fast)
    term_spread.plain_choose_best(ranks, lengths, left, slow)
    assert fast == slow


@pytest.mark.skipif(term_spread._compiled is None, reason="installed without a compiler")
def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="root"):
        term_spread.meet(term_spread.zeros(2), term_spread.zeros(1), 0.1)
    with pytest.raises(ValueError, match="kind"):
        term_spread.raise_kinds(term_spread.zeros(1), bytearray([3]), [1.0])
    with pytest.raises(ValueError, match="rank"):
        term_spread.choose_best(term_spread.zeros(1), [1, 2], 5, set())
