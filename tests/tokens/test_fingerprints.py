"""Vocabularies are told by what they make of a few texts."""

from __future__ import annotations

import pytest

from brim.tokens.fingerprints import COUNTS, PROBES, identify
from brim.tokens.tokenizers import families, tokenizer


@pytest.mark.parametrize("family", COUNTS)
def test_the_table_holds_what_the_tokenizer_makes_of_the_texts(family: str) -> None:
    assert COUNTS[family] == tuple(map(tokenizer(family), PROBES))  # type: ignore[index]


@pytest.mark.parametrize("around", [0, 1, 2])
@pytest.mark.parametrize("family", [name for name in families() if name != "estimate" and "claude" not in name])
def test_a_vocabulary_is_taken_for_one_that_counts_the_same(family: str, around: int) -> None:
    found = identify([tokenizer(family)(text) + around for text in PROBES])
    assert found is not None
    sample = "".join(PROBES) + " Ein Satz, der in keiner Probe steht: 4711 Äpfel für Bjørn, ça va?\n\n\tfoo(bar)"
    assert abs(tokenizer(found)(sample) - tokenizer(family)(sample)) <= 1


def test_a_server_that_cuts_at_combining_marks_still_has_its_vocabulary() -> None:
    assert identify([31, 39, 30, 39, 40, 51, 48]) == "o200k"


def test_numbers_that_no_vocabulary_makes_are_none() -> None:
    assert identify([1, 2, 3, 4, 5, 6, 7]) is None
    wrong = list(COUNTS["o200k"])
    wrong[3] += 1
    assert identify(wrong) is None
