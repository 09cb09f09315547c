"""The same call again: what changed since the last time, and nothing where that would not be smaller."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from brim.content.delta import delta
from brim.tokens import text_counter

count = text_counter("gpt-4o")


def rows(number: int = 60) -> list[dict[str, object]]:
    return [{"id": n, "name": f"parcel {n}", "state": "open", "weight": n * 3} for n in range(number)]


def test_an_unchanged_result_is_one_word() -> None:
    text = json.dumps(rows())
    assert delta(text, text, count) == "unchanged"


def test_changed_rows_are_named_by_their_id_with_old_and_new_value() -> None:
    after = rows()
    after[17]["state"] = "closed"
    del after[4]
    after.append({"id": 60, "name": "parcel 60", "state": "open", "weight": 1})
    assert delta(json.dumps(rows()), json.dumps(after), count) == (
        '1 changed, 1 added, 1 removed\n[id=17].state: "open" → "closed"\n'
        '+ [59]: {"id":60,"name":"parcel 60","state":"open","weight":1}\n- [id=4]'
    )


def test_rows_in_another_order_are_told_in_that_order() -> None:
    found = delta(json.dumps(rows(8)), json.dumps(rows(8)[::-1]), count)
    assert found is not None
    assert "in the order of id [7,6,5,4,3,2,1,0]" in found


def test_a_true_that_became_a_one_is_a_change() -> None:
    before, after = [*rows(), {"id": 99, "ok": True}], [*rows(), {"id": 99, "ok": 1}]
    assert delta(json.dumps(before), json.dumps(after), count) == "1 changed\n[id=99].ok: true → 1"


def test_lines_are_shown_with_one_line_around_them() -> None:
    before = [f"line {n} of the log, all is well" for n in range(200)]
    after = [*before[:50], "line 50 of the log, the disk is full", *before[51:]]
    assert delta("\n".join(before), "\n".join(after), count) == (
        "1 added, 1 removed of 200 lines\n@@ line 50\n line 49 of the log, all is well\n"
        "-line 50 of the log, all is well\n+line 50 of the log, the disk is full\n line 51 of the log, all is well"
    )


def test_a_result_that_has_little_in_common_is_sent_as_it_is() -> None:
    assert delta("one\ntwo\nthree", "alpha\nbeta\ngamma", count) is None


@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=30).map("\n".join),
    st.lists(st.sampled_from("abcdefgh"), max_size=30).map("\n".join),
)
def test_the_old_lines_and_the_delta_give_the_new_ones(before: str, after: str) -> None:
    found = delta(before, after, lambda text: 0 if text != after else 1)
    assert found is not None
    assert patched(before, found) == after


def patched(before: str, found: str) -> str:
    """Apply a delta of lines, as a reader would."""
    if found == "unchanged":
        return before
    old, made, at = before.split("\n"), [], 0
    for block in found.split("\n@@ line ")[1:]:
        head, *lines = block.split("\n")
        shared = int(head) - 1 - len(made)
        made += old[at : at + shared]
        at += shared
        for line in lines:
            if line[0] == "-":
                assert old[at] == line[1:]
            elif line[0] == " ":
                assert old[at] == line[1:]
                made.append(line[1:])
            else:
                made.append(line[1:])
            at += line[0] != "+"
    return "\n".join(made + old[at:])


@given(
    st.lists(st.fixed_dictionaries({"id": st.integers(0, 9), "v": st.booleans() | st.integers(0, 2)}), max_size=6),
    st.lists(st.fixed_dictionaries({"id": st.integers(0, 9), "v": st.booleans() | st.integers(0, 2)}), max_size=6),
)
def test_results_with_other_values_are_never_called_the_same(before: list[object], after: list[object]) -> None:
    one, two = json.dumps(before), json.dumps(after, indent=1)
    found = delta(one, two, lambda text: 0 if text != two else 1)
    same = "the same values, written differently"
    assert (found in (same, "unchanged")) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))
