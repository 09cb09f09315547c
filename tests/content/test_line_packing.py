from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, texts

from brim.content.line_packing import Tier, clip, head_and_tail, pack, worth_a_look

NUMBERED = [f"line {i} says {i * 7919 % 1000}" for i in range(500)]


@given(texts, budgets, st.lists(st.integers(0, 20), max_size=20), st.sampled_from(["", "…"]))
def test_what_is_packed_never_exceeds_the_room(text, tokens, wanted, gap):
    lines = text.split("\n")
    order = [index for index in wanted if index < len(lines)]
    got = pack(lines, [Tier(order, 0.5), Tier(range(len(lines)))], room(tokens), gap=gap, head="a head", also="colours")
    assert count(got) <= tokens


def test_wanted_lines_come_in_their_own_order_with_signs_for_gaps_and_one_mark():
    got = pack(NUMBERED, [Tier([400, 3, 4])], room(60, handle="brim:3f2a"))
    assert got.split("\n") == [
        "…",
        NUMBERED[3],
        NUMBERED[4],
        "…",
        NUMBERED[400],
        "…",
        "[… 497 of 500 lines left out, brim:3f2a]",
    ]


def test_a_tier_takes_no_more_than_its_share():
    got = pack(NUMBERED, [Tier(range(499, 0, -1), 0.3), Tier(range(500))], room(400))
    assert (
        0.2
        < sum(line in got.split("\n") for line in NUMBERED[250:]) / sum(line in got.split("\n") for line in NUMBERED)
        < 0.4
    )


def test_a_long_line_leaves_room_for_others():
    got = pack([*NUMBERED[:50], "x y " * 2_000], [Tier([50]), Tier(range(50))], room(200))
    assert "characters]" in got
    assert sum(line in got.split("\n") for line in NUMBERED[:50]) > 10


def test_what_is_missing_from_every_line_is_said_even_if_all_lines_stay():
    assert pack(["a", "b"], [Tier([0, 1])], room(50), also="3 of 5 columns") == "a\nb\n[… 3 of 5 columns left out]"


def test_notes_follow_their_lines():
    assert pack(["a", "b"], [Tier([0, 1])], room(50), notes={0: "×7"}) == "a\n×7\nb"


def test_a_clipped_line_keeps_both_ends_and_says_how_much_is_gone():
    got = clip("start " + "middle " * 500 + "end", 40, room(40))
    assert got.startswith("start middle")
    assert got.endswith("middle end")
    assert f"[… {3509 - (len(got) - len('[… 3,400 characters]')):,} characters]" in got
    assert count(got) <= 40


def test_both_ends_come_first_and_blank_lines_never():
    assert list(head_and_tail(["a", "", "b", "c", " ", "d"])) == [0, 5, 2, 3]


def test_of_very_many_lines_the_ends_and_those_with_a_word_are_looked_at():
    lines = ["plain"] * 1_000
    lines[500] = "an ERROR here"
    assert list(worth_a_look("\n".join(lines), lines, ("ERROR",), most=10)) == [*range(10), 500, *range(990, 1_000)]
