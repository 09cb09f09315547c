"""Words that name one thing."""

from __future__ import annotations

from brim.relevance import Index
from brim.relevance.identifiers import holders, identifiers


def test_codes_are_identifiers_and_amounts_are_not() -> None:
    assert identifiers("On the 15th ORD-02407 and 100k at 30pm, build 4711234, prod-7 in 2024") == [
        "ord-02407",
        "4711234",
        "prod-7",
    ]


def test_an_identifier_is_not_found_inside_a_longer_one() -> None:
    assert holders("ord-1", ["see ORD-1.", "see ORD-12", "ORD-1-b", "x-ORD-1"], range(4)) == [0]


def test_an_identifier_that_most_texts_hold_names_none_of_them() -> None:
    assert holders("run-42", ["run-42: step"] * 50, range(50)) == []


def test_a_long_text_with_the_identifier_scores_above_short_ones_that_resemble_the_question() -> None:
    index = Index()
    for number in range(40):
        index.add(f"order ORD-{900 + number} was delayed, the order was delayed")
    index.add(
        "\n".join(f"carrier line {line}, weight {line} kg" for line in range(80)) + "\nORD-77123 held at the depot"
    )
    scores = index.score("why was order ORD-77123 delayed?")
    assert max(range(len(scores)), key=scores.__getitem__) == 40
