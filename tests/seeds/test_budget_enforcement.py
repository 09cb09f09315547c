"""Scenarios of the plan for one total budget over five layers, enforced where everything is put together."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from typing import Any

import pytest

import brim
from brim import Attachment, Policy
from brim.conversation import Message
from brim.testing import FakeProvider
from tests.gateway.conftest import Start


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def prose(tokens: int, tag: str = "") -> str:
    """Text of about so many tokens, in numbered sentences."""
    return "".join(f"{tag}Sentence {n} tells of the harbour. " for n in range(max(1, tokens // 8)))


def history(turns: int, tokens: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for n in range(turns):
        found += [user(f"[q{n}] " + prose(tokens // 2)), assistant(f"[a{n}] " + prose(tokens // 2))]
    return found


def layered(messages: list[dict[str, Any]], model: str = "gpt-4o", **more: Any) -> brim.Fitted:
    settings = more.pop("settings", {})
    return brim.fit(messages, model=model, policy=Policy.layered(**settings), **more)


def project(tokens: int) -> dict[str, Any]:
    text = "".join(f"<file path='n{n}.md'>\n{prose(500, f'f{n} ')}\n</file>\n" for n in range(max(1, tokens // 500)))
    return {"role": "system", "content": f"You answer from notes.\n<project_context>\n{text}</project_context>"}


def test_the_total_budget_is_128000_tokens_with_4096_for_the_answer() -> None:
    policy = Policy.layered()
    assert (policy.total_budget, policy.output_reserve) == (128_000, 4_096)
    assert (policy.block_chars, policy.preview_chars) == (50_000, 500)


@pytest.mark.parametrize("policy", [Policy.layered(total_budget=1_048_575), Policy.agent()])
def test_2_7_million_tokens_over_all_layers_never_reach_a_model_of_one_million(policy: Policy) -> None:
    messages = [project(1_900_000), *history(15, 40_000), user("What is in note n3?")]
    context = [Attachment(prose(150_000, "c "), source="c.md")]
    carried = [Attachment(prose(50_000, "p "), source="p.md")]
    fitted = brim.fit(
        messages, model="gpt-4.1", policy=policy, context=context, carried=carried, budget=1_048_575, fit_timeout=None
    )
    assert fitted.report.before > 2_700_000
    assert 0.9 * 1_000_000 < brim.count(fitted.messages, model="gpt-4.1").tokens <= 1_048_575
    assert fitted.messages[-1] == user("What is in note n3?")
    text = "".join(message["content"] for message in fitted.messages)
    assert "f3 Sentence 0 tells of the harbour." in text  # what is asked for
    assert prose(20_000, "c ") in text  # this turn's context
    assert messages[-2]["content"] in text  # the newest turn


def test_what_the_instructions_take_makes_context_shrink_earlier() -> None:
    context = [Attachment(prose(60_000), source="c.md")]
    small = layered([{"role": "system", "content": "Be brief."}, user("Why?")], context=context)
    large = layered([{"role": "system", "content": prose(90_000)}, user("Why?")], context=context)
    assert small.report.layers[2].after > 50_000
    assert large.report.layers[2].after < 40_000
    assert large.tokens <= 128_000 - 4_096


def test_project_context_inside_the_instructions_shrinks_before_context_of_this_turn() -> None:
    fitted = layered([project(90_000), user("Why?")], context=[Attachment(prose(60_000), source="c.md")])
    instructions, context = fitted.report.layers[0], fitted.report.layers[2]
    assert context.after >= context.before > 60_000
    assert instructions.after < 60_000 < instructions.before
    assert fitted.report.upper > 0.97 * fitted.report.limit


def test_the_oldest_complete_turns_are_dropped_until_the_history_fits_its_budget() -> None:
    messages = [{"role": "system", "content": "Be brief."}, *history(10, 2_000), user("And now?")]
    fitted = layered(messages, settings={"total_budget": 12_000, "output_reserve": 2_000})
    notice, *kept = fitted.messages[1:]
    assert "earlier turns" in notice["content"]
    assert kept == messages[-len(kept) :]
    assert kept[0]["role"] == "user"
    assert fitted.report.turns_dropped
    assert fitted.tokens <= 10_000
    # One turn more would not have fitted.
    assert brim.count([messages[0], *messages[-len(kept) - 2 :]], model="gpt-4o").tokens > 10_000


def test_the_most_recent_turn_is_always_there_whatever_the_other_layers_take() -> None:
    messages = [project(11_000), *history(10, 800), user("And now?")]
    fitted = layered(messages, context=[Attachment(prose(9_000), source="c.md")], settings={"total_budget": 16_000})
    shown = [message["content"] for message in fitted.messages]
    assert any(text.startswith("[q9]") for text in shown)
    assert any(text.startswith("[a9]") for text in shown)
    assert fitted.tokens <= 16_000 - 4_096


def test_long_answers_are_cut_to_their_first_characters_when_dropping_is_not_enough() -> None:
    messages = [user("[q0] Tell."), assistant("[a0] " + prose(20_000)), user("And now?")]
    fitted = layered(messages, settings={"total_budget": 8_000})
    answer = next(message["content"] for message in fitted.messages if message["role"] == "assistant")
    assert answer.startswith(messages[1]["content"][:1_000])
    assert fitted.tokens <= 8_000 - 4_096
    assert messages[1]["content"] in fitted.archive.values()


def test_dropped_turns_are_a_warning_to_the_log_the_callback_and_the_report(caplog: pytest.LogCaptureFixture) -> None:
    events: list[brim.Event] = []
    with caplog.at_level(logging.WARNING, logger="brim"):
        fitted = layered(
            [*history(10, 2_000), user("And now?")], settings={"total_budget": 12_000}, on_event=events.append
        )
    assert "oldest turns" in caplog.text
    assert [event.kind for event in events].count("warning") == 1
    assert "oldest turns" in str(fitted.report)


def test_a_request_over_budget_with_only_its_last_turn_warns_and_proceeds_within_the_budget() -> None:
    messages = [user("[q0] " + prose(9_000)), assistant("[a0] " + prose(9_000)), user("And now?")]
    fitted = layered(messages, settings={"total_budget": 8_000})
    assert any("over its budget" in warning for warning in fitted.report.warnings)
    assert fitted.tokens <= 8_000 - 4_096
    assert fitted.messages[-1] == user("And now?")


def test_blocks_over_50000_characters_are_summarised_by_map_and_reduce() -> None:
    asked: list[int] = []

    def summarize(messages: Sequence[Message], previous: str, tokens: int) -> str:
        asked.append(sum(len(message.text) for message in messages))
        return "A part about the harbour."

    block, small = prose(60_000), prose(4_000)
    context = [Attachment(block, source="big.md"), Attachment(small, source="small.md")]
    fitted = layered([user("Why?")], context=context, summarize=summarize, settings={"total_budget": 40_000})
    assert len(asked) >= len(block) // 50_000
    assert max(asked) <= 50_000
    text = "".join(message["content"] for message in fitted.messages)
    assert "A part about the harbour." in text
    assert small in text
    assert block in fitted.archive.values()
    assert fitted.messages[-1] == user("Why?")


def test_earlier_context_is_carried_as_structure_and_previews_with_its_source() -> None:
    note = "".join(f"## Part {n}\n\n{prose(400)}\n\n" for n in range(6))
    fitted = layered([user("Why?")], carried=[Attachment(note, source="notes/harbour.md")])
    block = fitted.messages[0]["content"]
    assert block.startswith("<prior_context")
    assert "notes/harbour.md" in block
    assert all(f"## Part {n}" in block for n in range(6))
    assert len(block) < 6 * 700


def test_context_of_a_turn_is_carried_into_the_next_ones_in_short() -> None:
    note = "".join(f"## Part {n}\n\n{prose(400)}\n\n" for n in range(6))
    session = brim.Session(model="gpt-4o", policy=Policy.layered())
    session.attach(note, source="notes/harbour.md", type="file")
    first = session.say("What is in part 2?")
    session.record({"choices": [{"message": assistant("Sentences.")}]})
    second = session.say("And in part 3?")
    assert note in first.messages[0]["content"]
    assert [row.after > 0 for row in first.report.layers] == [True, False, True, False, True]
    block = next(message["content"] for message in second.messages if "<prior_context" in message["content"])
    assert "notes/harbour.md" in block
    assert note not in block
    assert {"role": "user", "content": "What is in part 2?"} in second.messages  # the bare words
    assert [row.after > 0 for row in second.report.layers] == [True, True, False, True, True]


def test_context_that_a_client_pastes_between_tags_is_carried_in_short_beside_the_bare_words() -> None:
    note = "".join(f"## Part {n}\n\n{prose(400)}\n\n" for n in range(6))
    asked = f'What is in part 2?\n<note_context path="notes/harbour.md">\n{note}</note_context>\nBe brief.'
    session = brim.Session(model="gpt-4o", policy=Policy.layered())
    first = session.say(asked)
    assert first.messages == [user(asked)]
    session.record({"choices": [{"message": assistant("Sentences.")}]})
    said = session.say("And in part 3?").messages[0]["content"]
    assert said.startswith("What is in part 2?\n<prior_context source=")
    assert said.endswith("</prior_context>\nBe brief.")
    assert "notes/harbour.md" in said
    assert all(f"## Part {n}" in said for n in range(6))
    assert len(said) < 6 * 700
    handle = re.search(r"brim:[0-9a-f]+", said)
    assert handle
    assert session.recall(handle.group()).strip() == note.strip()
    assert session.say("And now?").messages[0]["content"] == said  # the same from then on


def test_fit_a_session_and_the_gateway_hold_one_budget(start: Start, fake: FakeProvider) -> None:
    chat = [{"role": "system", "content": "Be brief."}, *history(10, 2_000), user("And now?")]
    fitted = brim.fit(chat, model="gpt-4o", policy="layered", budget=6_000)
    assert fitted.report.turns_dropped
    in_session = brim.Session(model="gpt-4o", policy="layered", budget=6_000).fit(chat)
    assert without_handles(in_session.messages) == without_handles(fitted.messages)
    headers = {"x-brim-policy": "layered", "x-brim-budget": "6000"}
    assert start().ask("POST", "/v1/chat/completions", {"model": "gpt-4o", "messages": chat}, headers).status == 200
    assert without_handles(fake.posts[-1].json["messages"]) == without_handles(fitted.messages)


def without_handles(messages: list[dict[str, Any]]) -> str:
    return re.sub(r"brim:[0-9a-f]+", "brim:", json.dumps(messages))


def test_the_report_shows_every_layer_the_total_the_threshold_and_what_was_dropped() -> None:
    fitted = layered(
        [project(1_000), *history(6, 3_000), user("And now?")],
        context=[Attachment(prose(500), source="c.md")],
        carried=[Attachment(prose(500), source="p.md")],
        settings={"total_budget": 16_000},
    )
    told = fitted.report.as_dict()
    assert [row["layer"] for row in told["layers"]] == [1, 2, 3, 4, 5]
    assert all(row["after"] > 0 for row in told["layers"])
    assert sum(row["after"] for row in told["layers"]) == told["after"] == fitted.tokens
    assert told["limit"] == 16_000 - 4_096
    assert told["turns_dropped"] > 0


def test_tool_results_of_earlier_turns_are_compacted_where_the_budget_is_tight() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "localSearch", "arguments": "{}"}}
    messages = [
        user("Find the tide tables."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "<localSearch>\n" + prose(9_000) + "</localSearch>"},
        assistant("They are in n3.md."),
        user("And now?"),
    ]
    fitted = layered(messages, settings={"total_budget": 8_000})
    assert [message["role"] for message in fitted.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert fitted.tokens <= 8_000 - 4_096


def searched(turns: int) -> list[Any]:
    """Turns of which each looks something up in a long list."""
    found: list[Any] = []
    for turn in range(turns):
        hits = [{"path": f"notes/{turn}-{n}.md", "score": n / 7, "kind": "note"} for n in range(400)]
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "localSearch", "arguments": "{}"}}
        found += [user(f"Look for number {turn}."), {"role": "assistant", "content": None, "tool_calls": [call]}]
        found += [{"role": "tool", "tool_call_id": f"c{turn}", "content": json.dumps(hits)}, assistant("There it is.")]
    return found


def test_tool_results_are_compacted_when_their_turn_is_saved_though_all_of_it_fits() -> None:
    session = brim.Session(model="gpt-4o", policy="layered")
    chat = searched(3)
    running = session.fit(chat[:3]).messages
    assert running == chat[:3]  # the model is at work with it
    saved = session.fit([*chat[:4], chat[4]]).messages
    assert len(str(saved[2])) < len(str(chat[2])) / 2
    assert saved[2]["tool_call_id"] == "c0"
    assert [saved[n] for n in (0, 1, 3, 4)] == [chat[n] for n in (0, 1, 3, 4)]
    later = session.fit([*chat, user("Which one was it?")]).messages
    assert later[:4] == saved[:4]
    assert all(len(str(later[n])) < len(str(chat[n])) / 2 for n in (6, 10))


def test_a_saved_result_is_lossless_or_its_original_can_be_recalled() -> None:
    session = brim.Session(model="gpt-4o", policy="layered", budget=20_000)
    chat = searched(2)
    shown = session.fit([*chat, user("Which one was it?")]).messages[2]["content"]
    handle = re.search(r"brim:[0-9a-f]+", shown)
    original = session.recall(handle.group()) if handle else json.dumps(brim.decode(shown))
    assert json.loads(original) == json.loads(chat[2]["content"])
