"""A printed plan: what happened, why, and what more room would bring back, on one screen."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest

import brim


def sample() -> Any:
    return json.loads(files("brim").joinpath("testing/data/sample.json").read_bytes())


@pytest.fixture(scope="module")
def fitted() -> brim.Fitted:
    body = sample()
    return brim.fit(body["messages"], tools=body["tools"], model="gpt-4o", budget=4_000)


def section(text: str, title: str) -> list[str]:
    """The rows below a title."""
    return next(block for block in text.split("\n\n") if block.startswith(title)).splitlines()[1:]


def moves(rows: list[str]) -> dict[str, tuple[int, int]]:
    found = (re.match(r"  (messages\[\d+\]).*? ([\d,]+) -> +([\d,]+)", row) for row in rows)
    return {one[1]: (int(one[2].replace(",", "")), int(one[3].replace(",", ""))) for one in found if one}


def test_a_printed_plan_fits_one_screen(fitted: brim.Fitted) -> None:
    for text in (str(fitted.plan), str(fitted.at(8_000).plan), str(fitted.at(800).plan)):
        lines = text.splitlines()
        assert len(lines) <= 45
        assert max(map(len, lines)) <= 100 or any(line.startswith("warning") for line in lines)


def test_its_rows_add_up_to_the_report(fitted: brim.Fitted) -> None:
    report, text = fitted.report, str(fitted.plan)
    assert text.startswith(f"gpt-4o, policy agent: {report.before:,} -> {report.after:,} of 4,000 tokens")
    rows = [re.search(r" ([\d,]+) +([\d,]+)  ", row) for row in section(text, "layer")]
    assert sum(int(row[2].replace(",", "")) for row in rows if row) == report.after
    parts = [re.search(r"([\d,]+) +[\d,]+ +([\d,]+)  \S", row) for row in section(text, "what became of it")]
    assert sum(int(row[2].replace(",", "")) for row in parts if row) == len(fitted.plan)


def test_it_names_the_largest_changes_first(fitted: brim.Fitted) -> None:
    found = moves(section(str(fitted.plan), "where the room was found"))
    saved = [before - after for before, after in found.values()]
    assert len(saved) >= 3
    assert all(one >= two > 0 for one, two in pairwise(saved))


def test_what_it_says_would_come_back_comes_back(fitted: brim.Fitted) -> None:
    told = moves(section(str(fitted.plan), "with 2,000 tokens more"))
    wider: dict[str, int] = {}
    for one in fitted.at(6_000).plan:
        name = one.item.partition(".parts")[0]
        wider[name] = wider.get(name, 0) + one.after
    assert told
    assert all(wider[name] == after > before for name, (before, after) in told.items())


def test_a_request_that_fits_has_nothing_to_bring_back() -> None:
    text = str(brim.fit([{"role": "user", "content": "Is berth 12 free?"}], model="gpt-4o", budget=500).plan)
    assert "come back" not in text
    assert "room was found" not in text


def test_where_the_window_ends_no_more_room_is_promised() -> None:
    messages = [{"role": "user", "content": f"Note {n}: " + "calm sea, light wind. " * 300} for n in range(40)]
    messages.append({"role": "user", "content": "Which note was the last?"})
    assert "leaves no more room" in str(brim.fit(messages, model="gpt-4", budget=8_192).plan)


def test_a_sessions_plan_is_printed_too() -> None:
    session = brim.Session(model="gpt-4o", budget=4_000)
    messages: list[Any] = sample()["messages"]
    for end in (20, 40, len(messages)):
        plan = session.fit(messages[:end]).plan
    assert "shortened in a compaction" in str(plan)
    assert moves(section(str(plan), "with 2,000 tokens more"))


def test_a_plan_is_a_list_of_decisions(fitted: brim.Fitted) -> None:
    plan = fitted.plan
    assert tuple(plan) == fitted.report.decisions
    assert plan[0] in plan
    assert plan[:2] == fitted.report.decisions[:2]
    assert "\n" not in repr(plan)
    assert "\n" not in repr(fitted)
    assert json.dumps([decision.item for decision in plan])
