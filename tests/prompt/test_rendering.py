"""A prompt in the form of every API, and the promises that hold for any prompt at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import BadBody, BadInput, BudgetTooSmall, apis, models, prompt
from brim.prompt import Section
from brim.tokens.counter import Counter
from tests.planning.chats import words

MODELS = {
    "openai_chat": "gpt-4o",
    "openai_responses": "gpt-4.1",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}
SECTIONS: list[Section | str] = [
    Section("Be brief.", role="system"),
    Section("Never lie.", role="system"),
    Section(children=[Section("Hello.", role="user"), Section("Hi!", role="assistant")]),
    "Look at this:",
    Section("a note", priority=1),
    Section("So?", role="user"),
]


def render(sections: Any, api: str, budget: int = 10_000, **more: Any) -> Any:
    return prompt.render(sections, model=MODELS[api], api=api, budget=budget, **more)


def test_the_body_of_a_chat() -> None:
    assert render(SECTIONS, "openai_chat").body == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "system", "content": "Never lie."},
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hi!"},
            {"role": "user", "content": "Look at this:\n\na note"},
            {"role": "user", "content": "So?"},
        ],
    }


def test_the_body_for_anthropic_has_its_instructions_in_their_field() -> None:
    body = render(SECTIONS, "anthropic").body
    assert body["system"] == "Be brief.\n\nNever lie."
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user", "user"]


def test_the_body_for_gemini() -> None:
    body = render(SECTIONS, "gemini").body
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief.\n\nNever lie."}]}
    assert body["contents"][1] == {"role": "model", "parts": [{"text": "Hi!"}]}
    assert "model" not in body


def test_the_body_for_responses() -> None:
    body = render(SECTIONS, "openai_responses").body
    assert body["input"][0] == {"type": "message", "role": "system", "content": "Be brief."}
    assert len(body["input"]) == 6


@pytest.mark.parametrize("api", sorted(MODELS))
def test_without_a_system_role_instructions_are_a_first_message_of_their_own(api: str) -> None:
    fitted = render(SECTIONS, api, system_role=False)
    texts = [message.text for message in fitted.conversation.messages]
    assert texts[0] == "[SYSTEM INSTRUCTIONS]\n\nBe brief.\n\nNever lie."
    assert texts[1:] == ["Hello.", "Hi!", "Look at this:\n\na note", "So?"]
    assert fitted.conversation.system is None
    assert {message.role for message in fitted.conversation.messages} == {"user", "assistant"}


def test_the_api_is_the_models_own_if_none_is_named() -> None:
    assert "system" in prompt.render(SECTIONS, model="claude-sonnet-4-5", budget=1_000).body
    assert "contents" in prompt.render(SECTIONS, model="gemini-2.5-pro", budget=1_000).body


def test_tools_and_other_fields_are_in_the_body_and_in_the_count() -> None:
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    bare, full = render(SECTIONS, "openai_chat"), render(SECTIONS, "openai_chat", tools=tools, fields={"stream": True})
    assert full.body["tools"] == tools
    assert full.body["stream"] is True
    assert full.tokens > bare.tokens


def test_breakpoints_are_marked_where_the_api_takes_marks() -> None:
    sections = [
        Section("Rules.", role="system", cache_breakpoint=True),
        Section(children=["One.", Section("Two.", cache_breakpoint=True), "Three."], role="user"),
    ]
    mark = {"cache_control": {"type": "ephemeral"}}
    body = render(sections, "anthropic").body
    assert body["system"] == [{"type": "text", "text": "Rules.", **mark}]
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "One.\n\nTwo.\n\n", **mark},
        {"type": "text", "text": "Three."},
    ]
    assert "cache_control" not in str(render(sections, "openai_chat").body)


def test_a_breakpoint_whose_section_left_marks_what_stands_before_it() -> None:
    sections = [
        Section("One.", role="user"),
        Section(words(4_000), role="user", priority=1, cache_breakpoint=True),
        Section("Three.", role="user"),
    ]
    body = render(sections, "anthropic", budget=60).body
    assert ["cache_control" in str(message) for message in body["messages"]] == [True, False]


def test_no_more_than_four_breakpoints_are_marked() -> None:
    sections = [Section(f"Part {n}.", role="user", cache_breakpoint=True) for n in range(7)]
    body = render(sections, "anthropic").body
    assert ["cache_control" in str(message) for message in body["messages"]] == [False] * 3 + [True] * 4


def test_without_a_budget_the_models_own_limit_holds() -> None:
    sections = [Section(words(900_000), priority=1, break_on=" "), Section("So?")]
    fitted = prompt.render(sections, model="gpt-4o")
    model = models.find("gpt-4o")
    assert 0.9 * model.max_input() < fitted.tokens <= model.max_input()


def test_a_reserve_for_the_answer_is_kept_free() -> None:
    sections = [Section(words(9_000), priority=1, break_on=" "), Section("So?")]
    assert prompt.render(sections, model="gpt-4o", budget=1_000, reserve=300).tokens <= 700


@pytest.mark.parametrize("api", sorted(MODELS))
def test_a_prompt_of_nothing_is_refused(api: str) -> None:
    for sections in ([], [Section("")], [Section("  ", role="user")]):
        with pytest.raises(BadInput, match="sections: make no message"):
            render(sections, api)


@pytest.mark.parametrize("api", sorted(MODELS))
def test_the_last_message_that_is_left_does_not_leave(api: str) -> None:
    sections = [Section(words(400), priority=1, name="a"), Section(words(400), priority=2, name="b")]
    assert [step.item for step in render(sections, api, 150).plan if step.after] == ["b"]
    with pytest.raises(BudgetTooSmall) as refused:
        render(sections, api, 20)
    assert refused.value.needed == render(sections[1:], api).tokens
    with pytest.raises(BudgetTooSmall):
        render([Section(expand=lambda budget: "word " * budget)], api, 2)


def test_for_anthropic_what_the_user_says_first_stays_before_an_answer_that_stays() -> None:
    sections = [
        Section("Rules.", role="system"),
        Section(words(900), role="user", priority=1, name="first"),
        Section("Yes.", role="assistant", name="answer"),
        Section("So?", role="user"),
    ]
    with pytest.raises(BudgetTooSmall) as refused:
        render(sections, "anthropic", 60)
    assert refused.value.must_stay[0][0] == "first"
    assert render(sections, "openai_chat", 60).messages[1]["role"] == "assistant"


def test_for_anthropic_an_answer_that_may_leave_goes_with_what_stood_before_it() -> None:
    sections = [
        Section(words(900), role="user", priority=1),
        Section("Yes.", role="assistant", priority=5, name="answer"),
        Section("So?", role="user"),
    ]
    fitted = render(sections, "anthropic", 60)
    assert fitted.messages == [{"role": "user", "content": "So?"}]
    assert fitted.plan[1].reason == "an answer cannot be the first message for anthropic"
    with pytest.raises(BadInput, match="would be the first message") as refused:
        render(sections[1:], "anthropic")
    assert refused.value.at == "sections[0]"


CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
ASKED: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": words(900)}


@pytest.mark.parametrize(
    ("messages", "at"),
    [([TOLD], "sections[1]"), ([ASKED], "sections[1]"), ([ASKED, "Wait.", TOLD], "sections[1]")],
)
def test_a_call_without_its_result_and_a_result_without_its_call_are_refused(messages: list[Any], at: str) -> None:
    sections = [message if isinstance(message, str) else Section(message=message) for message in messages]
    with pytest.raises(BadBody) as refused:
        render([Section("Read it.", role="user"), *sections, Section("So?", role="user")], "openai_chat")
    assert refused.value.at == at


def test_a_limit_takes_a_call_with_its_result() -> None:
    sections = [Section(message=ASKED), Section(message=TOLD, limit=50), Section("So?", role="user")]
    fitted = render(sections, "openai_chat")
    assert fitted.messages == [{"role": "user", "content": "So?"}]
    assert fitted.plan[0].reason == "goes with sections[1]"


def test_a_breakpoint_on_a_whole_message_is_marked() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    sections = [
        Section(message={"role": "user", "content": "A long document."}, cache_breakpoint=True),
        Section(message={"role": "assistant", "content": [thought]}, cache_breakpoint=True),
        Section(message={"role": "user", "content": [{"type": "text", "text": "So?"}]}, cache_breakpoint=True),
    ]
    mark = {"cache_control": {"type": "ephemeral"}}
    fitted = render(sections, "anthropic")
    assert [message["content"] for message in fitted.messages] == [
        [{"type": "text", "text": "A long document.", **mark}],
        [thought],
        [{"type": "text", "text": "So?", **mark}],
    ]


def test_marks_that_messages_have_already_count_among_the_four() -> None:
    block = {"type": "text", "text": "Mine.", "cache_control": {"type": "ephemeral"}}
    own = Section(message={"role": "user", "content": [block, block, block]})
    sections = [own, *(Section(f"Part {n}.", role="user", cache_breakpoint=True) for n in range(3))]
    assert str(render(sections, "anthropic").body).count("cache_control") == 4


def test_instructions_and_messages_are_not_given_twice() -> None:
    sections = [Section("Rules.", role="system"), "So?"]
    with pytest.raises(BadInput, match=r"fields\.system: sections with the role system say them too"):
        render(sections, "anthropic", fields={"system": "Others."})
    assert render(["So?"], "anthropic", fields={"system": "Others."}).body["system"] == "Others."
    with pytest.raises(BadInput, match=r"fields\.messages: is made of the sections"):
        render(sections, "anthropic", fields={"messages": []})
    with pytest.raises(BadInput, match="fields: must be"):
        render(sections, "anthropic", fields=[1])


@pytest.mark.parametrize("api", sorted(MODELS))
def test_the_frame_of_a_message_belongs_to_its_layer(api: str) -> None:
    report = render([Section("Hello.", role="user"), Section("Hi!", role="assistant"), "So?"], api).report
    bare = render(["So?"], api).report
    assert report.layers[0].after == bare.layers[0].after
    assert report.layers[4].after == bare.layers[4].after
    assert sum(layer.after for layer in report.layers) == report.after


def test_a_budget_above_the_window_is_held_by_the_window() -> None:
    fitted = prompt.render([Section(words(900_000), priority=1, break_on=" "), "So?"], model="gpt-4o", budget=900_000)
    assert fitted.report.limit == 128_000
    assert "its window leaves 128,000" in fitted.report.warnings[0]


PRIORITY = st.none() | st.integers(0, 4)
TEXTS = st.integers(1, 600).map(words) | st.sampled_from(["日本語のテキスト。" * 9, "🎉 party 🎉 " * 20, "a\nb\n" * 60])
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "priority": PRIORITY,
        "limit": st.integers(0, 200),
        "keep_with": st.sampled_from(["x", "y"]),
        "break_on": st.sampled_from([" ", "\n", "。"]),
        "cache_breakpoint": st.booleans(),
        "flex_grow": st.integers(0, 2),
        "flex_basis": st.sampled_from([1, 2, 0.5]),
        "flex_reserve": st.integers(0, 200) | st.sampled_from(["/2", "/7"]),
    },
)


def made(kind: str, content: Any, settings: dict[str, Any]) -> Section:
    if kind == "expand":
        return Section(expand=lambda budget: "word " * int(budget * content), **settings)
    return Section(**{kind: content}, **settings)


LEAVES = st.builds(made, st.just("text"), TEXTS, SETTINGS) | st.builds(
    made, st.just("expand"), st.sampled_from([0, 0.5, 1, 3]), SETTINGS
)
GROUPS = st.recursive(
    LEAVES, lambda inner: st.builds(made, st.just("children"), st.lists(inner, min_size=1, max_size=4), SETTINGS)
)
ROLES: st.SearchStrategy[Any] = st.sampled_from([None, "system", "user", "assistant"])
ROLED = st.tuples(GROUPS, ROLES).map(
    lambda pair: pair[0] if pair[1] is None else Section(children=[pair[0]], role=pair[1])
)
PROMPTS = st.lists(ROLED, max_size=6)


def rendered(sections: Any, api: str, budget: int, **more: Any) -> Any:
    """The prompt, or None after a refusal that names more than the budget."""
    try:
        return render(sections, api, budget, **more)
    except BudgetTooSmall as refusal:
        listed = sum(tokens for _, tokens in refusal.must_stay)
        if refusal.needed <= refusal.budget or refusal.budget != budget or listed != refusal.needed:
            raise
        return None
    except BadInput as problem:  # nothing that could be a request was given
        if "would be the first message" not in str(problem) and "make no message" not in str(problem):
            raise
        return None


@given(PROMPTS, st.integers(5, 1_500), st.sampled_from(sorted(MODELS)), st.booleans())
def test_any_prompt_is_within_its_budget_or_refused(
    sections: list[Section], budget: int, api: str, system_role: bool
) -> None:
    fitted = rendered(sections, api, budget, system_role=system_role)
    if fitted is None:
        return
    measured = Counter(models.find(MODELS[api]), api).total(apis.parse(fitted.body, api))
    assert fitted.tokens == measured <= budget
    assert fitted.report.after == measured
    assert fitted.conversation.messages
    assert api != "anthropic" or fitted.messages[0]["role"] == "user"
    for step in fitted.plan:
        assert step.reason


@given(PROMPTS, st.integers(5, 1_500), st.sampled_from(sorted(MODELS)))
def test_the_limits_of_texts_hold_in_any_prompt(sections: list[Section], budget: int, api: str) -> None:
    fitted = rendered(sections, api, budget)
    if fitted is None:
        return
    limits = {f"sections[{n}]": section.limit for n, section in enumerate(sections) if not section.children}
    assert all(step.after <= limit for step in fitted.plan if (limit := limits.get(step.item)) is not None)


@given(PROMPTS, st.integers(5, 1_500))
def test_linked_sections_stay_or_leave_together_in_any_prompt(sections: list[Section], budget: int) -> None:
    flat = [
        Section(
            section.text,
            priority=section.priority,
            keep_with=section.keep_with,
            limit=section.limit,
            name=f"n{number}",
        )
        for number, section in enumerate(sections)
        if section.text
    ]
    fitted = rendered(flat, "openai_chat", budget)
    if fitted is None:
        return
    shown = {step.item for step in fitted.plan if step.after}
    for word in ("x", "y"):
        members = {section.name for section in flat if section.keep_with == word}
        assert members <= shown or not members & shown
