"""What a plan says of each item: how faithful it is, under which handle its original is, and its layer."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import Attachment
from tests.planning.chats import SYSTEM, chat, user, words

POLICIES = ["agent", "rolling", "concise", "layered"]


def layers(fitted: brim.Fitted) -> dict[int, int]:
    return {use.layer: use.after for use in fitted.report.layers}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_item_that_left_the_prompt_names_the_handle_of_its_original(policy: str) -> None:
    fitted = brim.fit([SYSTEM, *chat(14, 1_500)], model="gpt-4o", budget=3_000, policy=policy)
    gone = [decision for decision in fitted.plan if decision.form in ("archived", "summary", "dropped")]
    assert gone
    for decision in gone:
        assert decision.fidelity == "recoverable"
        assert decision.handle in fitted.archive


def test_a_session_names_the_handles_of_what_it_archived() -> None:
    session = brim.Session(model="gpt-4o", budget=4_000)
    messages: list[Any] = [SYSTEM, *chat(30, 1_200)]
    for end in range(2, len(messages) + 1, 2):
        fitted = session.fit(messages[:end])
    archived = [decision for decision in fitted.plan if decision.form == "archived"]
    assert archived
    for decision in archived:
        assert session.recall(decision.handle)


def test_fidelity_is_part_of_the_report_as_data() -> None:
    fitted = brim.fit([SYSTEM, *chat(14, 1_500)], model="gpt-4o", budget=3_000)
    told = fitted.report.as_dict()["decisions"]
    assert {row["fidelity"] for row in told if row["form"] == "full"} == {"full"}
    assert {row["fidelity"] for row in told if row["form"] not in ("full", "dense")} == {"recoverable"}


def test_a_rolling_summary_counts_as_history() -> None:
    plain = brim.fit([SYSTEM, user("hi")], model="gpt-4o", policy="rolling")
    fitted = brim.fit([SYSTEM, *chat(14, 1_500)], model="gpt-4o", budget=3_000, policy="rolling")
    assert layers(fitted)[1] == layers(plain)[1]
    assert sum(layers(fitted).values()) == fitted.tokens


def test_context_of_an_earlier_turn_is_carried_context() -> None:
    session = brim.Session(model="gpt-4o")
    session.attach(Attachment(words(4_000), "a.md"))
    first = session.say("What does it say?")
    assert layers(first)[3] > 500 > layers(first)[2] == 0
    session.record({"choices": [{"message": {"role": "assistant", "content": "Much."}}]})
    later = session.say("And what else?")
    assert (layers(later)[2], layers(later)[3]) == (layers(first)[3], 0)


def test_rolling_tells_carried_context_from_that_of_this_turn() -> None:
    pieces = {"context": [Attachment(words(2_000, "[new]"), "b.md")], "carried": [Attachment(words(6_000), "a.md")]}
    found = layers(brim.fit([SYSTEM, user("What now?")], model="gpt-4o", policy="rolling", **pieces))
    assert found[2] > 2 * found[3] > 0
