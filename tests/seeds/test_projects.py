"""A large project in the instructions, a note of this turn and a history: nothing of them may starve the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

import brim
from brim import Attachment, Policy
from tests.seeds.projects import ASK_NOTE, ASK_PROJECT, Project, prose

# The plan's own sizes: 500k tokens of project, 20k carried, a note of 50k, 200k of history, 2k asked, into 128k. And
# 131,964 tokens of project, a note of 2,616 and six turns, in 32,000.
CASES = {
    "131,964 in 32,000": (Project(), 32_000),
    "a tenth of 500k/20k/50k/200k/2k in 128k": (Project(50_000, 2_000, 5_000, 20_000, 15, 200, 40), 12_800),
    "500k/20k/50k/200k/2k in 128k": (Project(500_000, 20_000, 50_000, 200_000, 15, 2_000, 400), 128_000 - 4_096),
}
POLICIES = {
    "agent": lambda limit: Policy.agent(),
    "layered": lambda limit: Policy.layered(total_budget=limit + 4_096),
    "rolling": lambda limit: Policy.rolling(max_prompt_tokens=limit + 512),
    "concise": lambda limit: Policy.concise(),
}


def fitted(case: str, policy: str, ask: str, seed: str = "a") -> brim.Fitted:
    project, limit = CASES[case]
    project = replace(project, seed=seed)
    return brim.fit(
        project.messages(ask),
        model="gpt-4.1",
        policy=POLICIES[policy](limit),
        context=project.context(),
        carried=project.earlier(),
        budget=limit,
        fit_timeout=None,
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_note_the_newest_turn_and_what_only_the_project_holds_are_all_there(policy: str, case: str) -> None:
    project, limit = CASES[case]
    asks_note, asks_project = fitted(case, policy, ASK_NOTE), fitted(case, policy, ASK_PROJECT)
    for one in (asks_note, asks_project):
        text = "\n".join(str(message["content"]) for message in one.messages)
        assert project.newest in text
        assert one.tokens <= limit
    assert project.note_answer in "\n".join(str(message["content"]) for message in asks_note.messages)
    assert project.only_here in "\n".join(str(message["content"]) for message in asks_project.messages)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_project_keeps_a_quarter_of_the_room_while_anything_else_can_give(policy: str) -> None:
    one = fitted("131,964 in 32,000", policy, ASK_NOTE)
    assert one.report.layers[0].after >= 0.25 * 31_000
    assert one.report.layers[2].after >= one.report.layers[2].before  # the note is whole
    assert one.report.layers[3].after >= one.report.layers[3].before  # and so is the history


def test_more_than_the_project_can_give_is_taken_from_the_oldest_turns() -> None:
    one = fitted("a tenth of 500k/20k/50k/200k/2k in 128k", "layered", ASK_NOTE)
    instructions, _, context, history, _ = one.report.layers
    assert 0.2 * 12_800 < instructions.after < 0.3 * 12_800
    assert context.after >= context.before
    assert history.after < history.before
    assert any("oldest turns" in warning for warning in one.report.warnings)


def test_what_is_left_out_of_a_project_is_named_and_can_be_recalled() -> None:
    one = fitted("131,964 in 32,000", "layered", ASK_PROJECT)
    text = one.messages[0]["content"]
    assert "passages left out" in text
    assert text.startswith("You are a careful assistant for this project.\n<project_context>")
    assert text.endswith("</project_context>")
    assert text.count("<file path=") == text.count("</file>")
    assert any(Project.only_here in original for original in one.archive.values())


def test_a_text_of_millions_of_tokens_is_not_counted_to_know_that_it_is_too_long() -> None:
    counted: list[int] = []
    project = Project(300_000, 0, 500, 600, 3)
    model = "gpt-4.1"
    counter = brim.tokens.tokenizers.tokenizer("o200k")
    real = counter.count
    object.__setattr__(counter, "count", lambda text: counted.append(len(text)) or real(text))
    try:
        one = brim.fit(project.messages(ASK_PROJECT), model=model, context=project.context(), budget=20_000)
    finally:
        object.__setattr__(counter, "count", real)
    assert one.tokens <= 20_000
    assert sum(counted) < 0.8 * len(project.instructions())  # each character of it at most once, and most never


@pytest.mark.parametrize("policy", ["agent", "layered", "concise"])
@pytest.mark.parametrize("budget", range(60, 700, 80))
def test_carried_context_keeps_its_opening_and_closing_tag_at_any_size(policy: str, budget: int) -> None:
    parts = "\n".join(f"## Part {n}\n\n{prose(200, str(n))}" for n in range(6))
    carried = [Attachment(parts, source="notes/harbour plan.md"), Attachment(prose(800, "z"), source="b.md")]
    try:
        one = brim.fit(
            [{"role": "user", "content": "Why?"}], model="gpt-4o", policy=policy, carried=carried, budget=budget
        )
    except brim.BudgetTooSmall:
        return
    text = "\n".join(message["content"] for message in one.messages)
    assert text.count("<prior_context source=") == text.count("</prior_context>")


def test_the_newest_turn_keeps_its_question_and_its_call_beside_instructions_of_90_percent() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "readNote", "arguments": '{"path": "a.md"}'}}
    messages = [
        Project(14_000, files=10).messages("")[0],
        {"role": "user", "content": "Look into a.md for the berth of the Aurora."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": prose(3_000, "note")},
        {"role": "assistant", "content": "The Aurora lies at berth 7."},
        {"role": "user", "content": "And the Borealis?"},
    ]
    one = brim.fit(messages, model="gpt-4o", policy=Policy.layered(total_budget=10_096), budget=6_000)
    assert [message["role"] for message in one.messages[-5:]] == ["user", "assistant", "tool", "assistant", "user"]
    assert one.messages[-5] == messages[1]
    assert one.messages[-2] == messages[4]
    assert one.tokens <= 6_000


def test_an_answer_is_cut_to_what_there_is_room_for_rather_than_to_its_first_characters() -> None:
    messages = [
        {"role": "user", "content": "[q0] Tell."},
        {"role": "assistant", "content": prose(6_000, "a")},
        {"role": "user", "content": "[q1] Go on."},
        {"role": "assistant", "content": prose(6_000, "b")},
        {"role": "user", "content": "And now?"},
    ]
    one = brim.fit(messages, model="gpt-4o", policy="layered", budget=4_000)
    assert 0.97 * 4_000 <= one.tokens <= 4_000


def test_a_log_pasted_into_the_current_message_has_a_line_of_its_own() -> None:
    log = "\n".join(f"2026-03-09T06:30:{n % 60:02}Z INFO checkout event={n * 7919:x} done" for n in range(400))
    request = [{"role": "user", "content": f"Why does this fail?\n```\n{log}\n```"}]
    layers = brim.fit(request, model="gpt-4o", policy="layered").report.layers
    assert layers[2].after == 0
    assert {part.name: part.after > 5_000 for part in layers[4].parts} == {"words": False, "pasted": True}


def test_the_history_is_split_into_user_assistant_results_by_tool_and_summary() -> None:
    messages = []
    for n in range(6):
        calls = [
            {"id": f"{tool}{n}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
            for tool in ("localSearch", "readNote")
        ]
        messages += [
            {"role": "user", "content": f"[q{n}] " + prose(60, f"q{n}")},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"localSearch{n}", "content": prose(600, f"s{n}")},
            {"role": "tool", "tool_call_id": f"readNote{n}", "content": prose(300, f"r{n}")},
            {"role": "assistant", "content": prose(80, f"a{n}")},
        ]
    one = brim.fit([*messages, {"role": "user", "content": "And now?"}], model="gpt-4o", policy="layered", budget=3_000)
    history = one.report.layers[3]
    parts = {part.name: part for part in history.parts}
    assert set(parts) == {"user", "assistant", "results of localSearch", "results of readNote", "summary"}
    assert sum(part.after for part in parts.values()) == history.after
    assert sum(part.before for part in parts.values()) == history.before
    assert parts["results of localSearch"].before > parts["results of readNote"].before > 1_000
