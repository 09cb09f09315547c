"""What is found raises its neighbours alike with and without a compiler."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.plan.relevance import share
from brim.plan.relevance.entries import Entries

ENTRIES = st.lists(st.tuples(st.sampled_from(["said", "asked?"]), st.integers(1, 200), st.integers(0, 2)), min_size=1)


def entries_of(made: list[tuple[str, int, int]]) -> Entries:
    entries = Entries()
    for text, tokens, session in made:
        entries.append(text, "", "", session, tokens, [])
    return entries


@pytest.mark.skipif(share._compiled is None, reason="installed without a compiler")
@given(ENTRIES, st.data())
def test_the_same_reaches_the_same_neighbours_to_the_last_bit(
    made: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    entries = entries_of(made)
    hits = data.draw(st.dictionaries(st.integers(0, len(made) - 1), st.floats(0, 9)))
    fast, slow = ([0.25] * len(made), [0.0] * len(made)), ([0.25] * len(made), [0.0] * len(made))
    share.share(hits, *fast, entries)
    share.plain_share(hits, *slow, entries)
    assert fast == slow
    share.share(hits, fast[0], None, entries)
    share.plain_share(hits, slow[0], None, entries)
    assert fast == slow


def test_the_best_that_reaches_an_entry_counts_and_nothing_crosses_a_session() -> None:
    totals = [0.0] * 4
    entries = entries_of([("said", 10, 0), ("said", 10, 0), ("said", 10, 0), ("said", 10, 1)])
    share.share({0: 1.0, 2: 1.0}, totals, None, entries)
    assert totals[0] == totals[2] == 1.0
    assert 0 < totals[1] < 1.0
    assert totals[3] == 0.0


@pytest.mark.skipif(share._compiled is None, reason="installed without a compiler")
@pytest.mark.parametrize("hits", [{9: 1.0}, {-1: 1.0}, {"a": 1.0}, {0: "b"}])
def test_a_hit_that_is_none_is_refused(hits: dict[int, float]) -> None:
    with pytest.raises((IndexError, TypeError)):
        share.share(hits, [0.0], None, entries_of([("said", 1, 0)]))
