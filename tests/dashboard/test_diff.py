"""Pairs of messages and lines of a pair."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brim.dashboard import diff
from brim.dashboard.diff import DiffLine


def message(digest: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "digest": digest, "calls": [], "answers": [], **more}


def test_messages_with_one_digest_are_the_same() -> None:
    found = diff.pairs([message("a"), message("b"), message("c")], [message("a"), message("c")])
    assert [pair.status for pair in found] == ["same", "removed", "same"]
    assert found[1].at == 1


def test_a_shortened_result_is_paired_with_its_original_by_its_call() -> None:
    before = [message("a"), message("b", "tool", answers=["1"]), message("c", "tool", answers=["2"])]
    after = [message("a"), message("x"), message("d", "tool", answers=["2"])]
    found = [
        (pair.status, (pair.before or {}).get("digest"), (pair.after or {}).get("digest"))
        for pair in diff.pairs(before, after)
    ]
    assert ("changed", "c", "d") in found
    assert ("removed", "b", None) in found
    assert ("added", None, "x") in found


def test_lines_far_from_a_change_are_left_out() -> None:
    before = "\n".join(map(str, range(20)))
    found = diff.lines(before, before.replace("10", "ten"))
    assert found[0] == DiffLine("gap", "8 lines the same")
    assert found[1:6] == [
        DiffLine("same", "8", "8"),
        DiffLine("same", "9", "9"),
        DiffLine("changed", "10", "ten"),
        DiffLine("same", "11", "11"),
        DiffLine("same", "12", "12"),
    ]
    assert found[6] == DiffLine("gap", "7 lines the same")


def test_long_lines_and_long_texts_are_cut_and_say_by_how_much() -> None:
    assert diff.lines("x" * 5_000, "y")[0].left.endswith("… 3,800 more characters")
    found = diff.lines("\n".join(map(str, range(1_000))), "", most=50)
    assert len(found) == 51
    assert found[-1] == DiffLine("gap", "950 more lines")


def test_texts_of_many_different_lines_are_compared_in_bounded_time() -> None:
    before = "\n".join(f"a{number}" for number in range(20_000))
    after = "\n".join(f"b{number}" for number in range(20_000))
    start = time.process_time()
    assert diff.lines(before, after)[0].status == "changed"
    assert time.process_time() - start < 1


LINES = st.lists(st.sampled_from("abcd"), max_size=12)


@given(LINES, LINES)
def test_both_sides_can_be_read_back_from_the_lines(before: list[str], after: list[str]) -> None:
    found = [line for line in diff.lines("\n".join(before), "\n".join(after)) if line.status != "gap"]
    left = [line.left for line in found if line.status != "added"]
    right = [line.right for line in found if line.status != "removed"]
    gaps = sum(
        int(line.left.split()[0]) for line in diff.lines("\n".join(before), "\n".join(after)) if line.status == "gap"
    )
    assert len(left) + gaps == len(before)
    assert len(right) + gaps == len(after)
    rest = iter(before)
    assert all(line in rest for line in left)


@given(LINES, LINES)
def test_every_message_stands_in_one_pair(before: list[str], after: list[str]) -> None:
    found = diff.pairs([message(digest) for digest in before], [message(digest) for digest in after])
    assert [pair.before["digest"] for pair in found if pair.before] == before
    assert [pair.after["digest"] for pair in found if pair.after] == after
