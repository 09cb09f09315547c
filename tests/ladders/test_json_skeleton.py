"""Skeletons: the values that later steps need, beside their keys, at any threshold."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rooms import count
from rooms import texts as any_texts
from test_json import records, values

from brim.ladders.json.leaves import leaves, score, text_leaves
from brim.ladders.json.skeleton import Skeleton, skeleton

BOOKING = {
    "reservation_id": "4WQ150",
    "user_id": "mia_li_3668",
    "cabin": "economy",
    "notes": None,
    "flights": [
        {"flight_number": "HAT136", "origin": "JFK", "date": "2024-05-20", "price": 152},
        {"flight_number": "HAT039", "origin": "ATL", "date": "2024-05-20", "price": 103},
    ],
}


def test_identifiers_outrank_words_and_words_outrank_nothing_at_all() -> None:
    assert score("id", "4WQ150") > score("price", 152) > score("cabin", "economy") > score("notes", None)
    assert score("path", "./src/a.py") > score("title", "A plain title")
    assert score("email", "ann@example.org") > score("name", "Ann") > score("bio", "likes long walks")
    assert score("url", "https://x.org/a/b/c") < score("file", "a/b/c.txt")


def test_a_plain_word_that_names_something_outranks_one_that_describes() -> None:
    assert score("server_name", "filesystem") > score("cabin", "economy") + 2
    assert score("server_name", "filesystem") < score("tool_name", "read_file")


def test_an_escaped_line_break_is_no_path() -> None:
    found = {leaf.text for leaf in text_leaves(r"Reads files.\nUse it for:\n C:\Users\ann and ./src/a.py and \n more")}
    assert not any(text.endswith(r"\n") for text in found)
    assert {r"C:\Users\ann", "./src/a.py"} <= found


def test_place_in_a_long_list_counts_against_a_value_weakly() -> None:
    assert score("id", "A-17") > score("id", "A-17", place=400) > score("cabin", "economy")


def test_every_leaf_has_its_path_and_its_key() -> None:
    found = {leaf.path: leaf for leaf in leaves(BOOKING)}
    assert found["flights", 1, "flight_number"].text == "HAT039"
    assert found["flights", 1, "flight_number"].key == "flight_number"
    assert found["flights", 0, "price"].text == "152"


def test_of_prose_only_its_identifiers_are_leaves() -> None:
    text = (
        "The parser failed while it was reading the file ./src/parse.py at line 118, said ann@example.org to us. " * 2
    )
    found = {leaf.text for leaf in leaves({"message": text})}
    assert {"./src/parse.py", "118", "ann@example.org"} <= found
    assert not any("while it was" in leaf for leaf in found)


def test_plain_text_has_pairs_paths_numbers_dates_and_quoted_texts() -> None:
    text = 'Order: A-17\nshipped 2024-05-20 to "Main St" for 1,250.50 see ./out/a.txt and ../b/c.txt or ann@x.org'
    found = {leaf.text: leaf.key for leaf in text_leaves(text)}
    assert found["A-17"] == "Order"
    assert {"2024-05-20", "Main St", "1,250.50", "./out/a.txt", "../b/c.txt", "ann@x.org"} <= set(found)


def test_a_skeleton_shows_values_beside_their_keys_and_marks_the_rest() -> None:
    text = skeleton(BOOKING, lambda leaf: leaf.key.endswith("id") or leaf.key == "flight_number", "[… 8 fields]")
    assert text == "reservation_id:4WQ150,user_id:mia_li_3668,flights:[(flight_number)\nHAT136\nHAT039]\n[… 8 fields]"


def test_rows_that_lost_everything_are_counted() -> None:
    rows = [{"id": f"A-{at}", "word": "plain"} for at in range(10)]
    text = skeleton(rows, lambda leaf: leaf.text in ("A-2", "A-3"), "[…]")
    assert "A-2\nA-3\n…8 more" in text


def test_a_higher_threshold_keeps_less() -> None:
    bones = Skeleton(json.dumps(BOOKING))
    sizes = [len(bones.at(threshold)) for threshold in (-9, 0, 1, 2, 3, 9)]
    assert sizes == sorted(sizes, reverse=True)
    assert "4WQ150" in bones.at(2)
    assert bones.at(99) == bones.mark


def test_a_record_with_one_owned_value_stays_whole_and_others_go_whole() -> None:
    bones = Skeleton(json.dumps(BOOKING["flights"]))
    text = bones.at(-9, owned=lambda value: value == "HAT039")
    assert "HAT039" in text
    assert "ATL" in text
    assert "103" in text
    assert "HAT136" not in text
    assert "JFK" not in text


def test_a_whole_skeleton_needs_no_mark_but_prose_does() -> None:
    assert Skeleton('{"id": 7}').at(-9) == "id:7"
    assert Skeleton("The quick brown fox met A-17 today.").at(-9).endswith(Skeleton("").mark)


def test_text_results_keep_their_telling_lines() -> None:
    text = "Search results\nall good here\nID: 2507.12806v1\nnothing to see\nFile: ./a/b.py"
    got = Skeleton.of(text).at(0.5)
    assert "ID: 2507.12806v1" in got
    assert "./a/b.py" in got
    assert "nothing to see" not in got


def test_json_inside_an_envelope_is_taken_apart_too() -> None:
    inner = json.dumps([{"id": f"X-{at}", "title": "a plain title of some length"} for at in range(6)], indent=2)
    got = Skeleton(json.dumps({"content": [{"type": "text", "text": inner}]})).at(1.0)
    assert "(id)\nX-0\nX-1" in got


def test_the_estimate_follows_the_real_size() -> None:
    rows = [{"id": f"{at:05}-x", "name": f"user_{at}", "city": "Springfield", "n": at * 31} for at in range(120)]
    bones = Skeleton(json.dumps(rows), count=count)
    for threshold in (-9, 0.5, 1.5, 2.5):
        real = count(bones.at(threshold))
        assert 0.6 * real <= bones.tokens_at(threshold) <= 1.6 * real + 10


@given(st.one_of(values, records()), st.floats(-4, 4))
@settings(max_examples=200, deadline=None)
def test_a_skeleton_shows_only_what_is_there(value: Any, threshold: float) -> None:
    bones = Skeleton(json.dumps(value))
    text = bones.at(threshold)
    for leaf in bones.leaves:
        if leaf.score >= threshold and "\n" not in leaf.text and not isinstance(leaf.path[-1:], str):
            assert leaf.text in text.replace("\\n", "\n") or leaf.text in text
    assert bones.tokens_at(threshold) >= 0


@given(any_texts)
@settings(deadline=None)
def test_any_text_has_a_skeleton(text: str) -> None:
    bones = Skeleton(text)
    assert bones.tokens_at(-9) >= bones.tokens_at(9)
    assert isinstance(bones.at(0.0), str)


def test_what_a_list_says_again_counts_less_than_what_it_says_first() -> None:
    bones = Skeleton(json.dumps({"prices": [400.0, 400.0, 420.0, 400.0]}))
    firsts = [leaf.score for leaf in bones.leaves]
    assert firsts[0] == firsts[2] > firsts[1] == firsts[3]
    assert bones.at(firsts[0]).startswith("prices:[400.0,420.0,…2 more]")


def test_lines_that_were_joined_without_a_break_keep_their_labels() -> None:
    text = "For May, it says Price: $50.20Shipping: €4Stage: Q1Total Weight: 12Sent: no"
    found = [(leaf.key, leaf.text) for leaf in text_leaves(text)]
    assert found == [("Price", "$50.20"), ("Shipping", "€4"), ("Stage", "Q1"), ("Total Weight", "12")]
    assert [leaf.key for leaf in text_leaves("For May, see Model X1Carbon: 14")][-1:] == ["Model X1Carbon"]
    assert "S3Bucket" in {leaf.text for leaf in text_leaves("For May, see the S3Bucket: logs")}


def test_an_amount_is_worth_more_than_a_number_and_has_its_label() -> None:
    amount, number = text_leaves("we paid, in the end, for Freight: $240 and had Crates: 240")
    assert (amount.key, amount.text) == ("Freight", "$240")
    assert (number.key, number.text) == ("Crates", "240")
    assert amount.score > number.score


def test_a_tag_is_no_path_and_a_quoted_key_no_value() -> None:
    found = {leaf.text for leaf in text_leaves('see <b>this</b>, {"symbol": "AAPL"} and /etc/hosts')}
    assert {"AAPL", "/etc/hosts"} <= found
    assert not found & {"/b", "symbol"}


def test_a_quoted_pair_on_a_line_of_its_own_is_read_without_its_quotes() -> None:
    found = {leaf.text: leaf.key for leaf in text_leaves('{\n  "order_id": "A-17",\n  "note": "-"')}
    assert found["A-17"] == "order_id"


def test_of_a_list_of_hits_the_links_stay_before_what_every_hit_repeats() -> None:
    hits = "\n\n".join(
        f"{n}. [A report on personal ornaments from a cave, part {n}](https://journal-{n}.example/articles/{n}abc)\n"
        f"Date published: 2021\nSource: National Library"
        for n in range(1, 8)
    )
    bones = Skeleton(hits)
    worths = {leaf.text: leaf.score for leaf in bones.leaves}
    shown = bones.at(worths["https://journal-5.example/articles/5abc"])
    assert all(f"https://journal-{n}.example/articles/{n}abc" in shown for n in range(1, 8))
    assert shown.count("Date published: 2021") <= 1


@pytest.mark.parametrize(
    "letters",
    ["abcdefgh", "ABCDEFGH", "абвгдежз", "абвгдежз12", "漢字仮名交文", "😀😁👩", "ab.c", "ab-c_", "a@b.-", "a"],
)
def test_a_text_without_breaks_is_taken_apart_in_linear_time(letters: str) -> None:
    order = random.Random(7)
    taken = []
    for length in (5_000, 40_000):
        text = "".join(order.choices(letters, k=length))
        start = time.process_time()
        Skeleton(text)
        taken.append(time.process_time() - start)
    assert taken[1] < 20 * taken[0] + 0.3


def test_a_label_of_several_words_stands_whole_beside_its_value() -> None:
    text = (
        "Her Total Score: 96, while the McAdam Order Number: A-17 was sent from New York 44 days ago. total score: 81."
    )
    found = {leaf.text: leaf.key for leaf in text_leaves(text)}
    assert found["96"] == "Her Total Score"
    assert found["A-17"] == "McAdam Order Number"
    assert found["44"] == "York"  # no label: what is named is not said to be it
    assert found["81"] == "score"


def test_a_label_is_never_torn_in_a_word() -> None:
    for before in range(40, 80):
        text = "x" * before + "McDonald Total Score: 96"
        assert text_leaves(text)[-1].key == "Total Score"
