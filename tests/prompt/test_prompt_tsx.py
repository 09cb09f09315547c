"""The pruning of vscode-prompt-tsx as behaviour: what its own tests ask of a prompt, asked of sections."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import BudgetTooSmall, prompt
from brim.prompt import Section
from tests.planning.chats import MODEL

PLENTY = 100_000
# Longer than a word, so that each takes tokens of its own and is found in the text.
A, B, C, D, E, F = (f"<{letter * 6} piece>" for letter in "abcdef")
PIECES = (A, B, C, D, E, F)


def render(sections: Any, budget: int = PLENTY, **more: Any) -> brim.Fitted:
    return prompt.render(sections, budget=budget, **{"model": MODEL, "separator": "\n", **more})


def said(fitted: brim.Fitted) -> list[str]:
    return [message.text for message in fitted.conversation.messages]


def leaving(*sections: Section) -> list[str]:
    """The pieces in the order in which they leave as the budget falls, those that leave at once joined."""
    given = [*sections, Section("Stays.", role="user")]
    whole = render(given)
    there, found = [piece for piece in PIECES if piece in "".join(said(whole))], []
    for budget in range(whole.tokens, 0, -1):
        try:
            text = "".join(said(whole.at(budget)))
        except BudgetTooSmall:
            break
        left = [piece for piece in there if piece not in text]
        there = [piece for piece in there if piece in text]
        if left:
            found.append("".join(piece[1] for piece in left))
    return found


def names(fitted: brim.Fitted) -> list[str]:
    return [step.item for step in fitted.plan if step.after]


def user(*children: Section | str, **more: Any) -> Section:
    return Section(role="user", children=children, **more)


def system(*children: Section | str, **more: Any) -> Section:
    return Section(role="system", children=children, **more)


# Priorities.


def test_siblings_leave_lowest_priority_first() -> None:
    assert leaving(user(Section(A, priority=1), Section(B, priority=2), Section(C, priority=3))) == ["a", "b", "c"]


def test_pieces_that_share_a_word_leave_together() -> None:
    both = [Section(A, priority=1, keep_with="chunk"), Section(B, priority=2, keep_with="chunk")]
    assert leaving(user(*both, Section(C, priority=3))) == ["ab", "c"]


def test_a_group_without_a_priority_does_not_scope_those_inside_it() -> None:
    group = Section(children=[Section(A, priority=0), Section(C, priority=2)])
    assert leaving(user(Section(B, priority=1), group, Section(D, priority=3))) == ["a", "b", "c", "d"]


def test_a_group_with_a_priority_scopes_those_inside_it() -> None:
    one = Section(children=[Section(A, priority=1), Section(B, priority=10)], priority=1)
    two = Section(children=[Section(C, priority=2), Section(D, priority=15)], priority=2)
    assert leaving(user(one, two)) == ["a", "b", "c", "d"]


def test_groups_of_equal_standing_are_compared_by_what_is_inside_them() -> None:
    one = Section(children=[Section(A, priority=1), Section(B, priority=10)])
    two = Section(children=[Section(C, priority=2), Section(D, priority=15)])
    assert leaving(user(one, two)) == ["a", "c", "b", "d"]


def test_a_list_leaves_from_its_start_or_from_its_end() -> None:
    rising = Section(children=[Section(text, priority=n) for n, text in enumerate([A, B, C])], priority=1)
    falling = Section(children=[Section(text, priority=-n) for n, text in enumerate([D, E, F])], priority=2)
    assert leaving(user(rising, falling)) == ["a", "b", "c", "f", "e", "d"]


def test_priorities_are_compared_across_messages() -> None:
    one = user(Section(A, priority=1), Section(B, priority=10))
    two = system(Section(C, priority=2), Section(D, priority=15))
    assert leaving(one, two) == ["a", "c", "b", "d"]


def test_a_message_with_a_priority_scopes_what_is_inside_it() -> None:
    one = user(Section(A, priority=1), Section(B, priority=10), priority=1)
    two = system(Section(C, priority=2), Section(D, priority=15), priority=2)
    assert leaving(one, two) == ["a", "b", "c", "d"]


def test_without_priorities_on_groups_one_order_holds_for_the_whole_prompt() -> None:
    one = user(
        Section(children=[Section(A, priority=1), Section(B, priority=10)]),
        Section(children=[Section(C, priority=2), Section(D, priority=15)]),
    )
    assert leaving(one, user(Section(E, priority=5))) == ["a", "c", "e", "b", "d"]


def test_a_group_passes_the_priorities_inside_it_on() -> None:
    group = Section(children=[Section(B, priority=2), Section(E, priority=5)])
    found = leaving(user(Section(A, priority=1), group, Section(C, priority=3), Section(D, priority=4), priority=1))
    assert found == ["a", "b", "c", "d", "e"]


def test_a_group_in_a_group_passes_them_on_too() -> None:
    group = Section(children=[Section(children=[Section(B, priority=2)]), Section(E, priority=5)])
    found = leaving(user(Section(A, priority=1), group, Section(C, priority=3), Section(D, priority=4), priority=1))
    assert found == ["a", "b", "c", "d", "e"]


# A prompt of many messages. gpt-4 has the vocabulary that prompt-tsx counts with: numbers of tokens are its own, and a
# budget is 3 above its `modelMaxPromptTokens`, which leaves out the start of the answer.


def message(role: str, text: str, priority: float | None = None, name: str = "") -> Section:
    value = {"role": role, "content": text} | ({"name": name} if name else {})
    return Section(message=value, priority=priority)


JARGON = [
    (
        "system",
        "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
        "",
    ),
    ("system", "New synergies will help drive top-line growth.", "example_user"),
    ("system", "Things working well together will increase revenue.", "example_assistant"),
    (
        "system",
        "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
        "example_user",
    ),
    ("system", "Let's talk later when we're less busy about how to do better.", "example_assistant"),
    ("user", "This late pivot means we don't have time to boil the ocean for the client deliverable.", ""),
]
CHEER = [
    message("system", "You are a helpful assistant that cheers people up.", 1000),
    message("system", "How are you?", 900, "example_user"),
    message("system", "I am fantastic. How are you?", 900, "example_assistant"),
    message("system", "What time is it?", 100, "example_user"),
    message("system", "It's high time to be happy!", 100, "example_assistant"),
    message("system", "What is your name?", 700, "example_user"),
    message("system", "My name is Happy Copilot.", 700, "example_assistant"),
    message("user", "Hello, how are you?", 499),
    message("assistant", "I am terrific, how are you?", 500),
    message("user", "What time is it?", 900),
]


def test_messages_with_names_are_counted() -> None:
    fitted = render([message(role, text, name=name) for role, text, name in JARGON], model="gpt-4")
    assert fitted.tokens == 129
    assert [one.get("name", "") for one in fitted.messages] == [name for _, _, name in JARGON]


@pytest.mark.parametrize(
    ("budget", "tokens", "gone"),
    [(8_192, 130, []), (130, 130, []), (129, 118, [3]), (110, 102, [3, 4]), (54, 53, [3, 4, 5, 6, 7, 8])],
)
def test_messages_leave_lowest_priority_first_of_equals_the_first(budget: int, tokens: int, gone: list[int]) -> None:
    fitted = render(CHEER, budget, model="gpt-4")
    assert fitted.messages == [section.message for n, section in enumerate(CHEER) if n not in gone]
    assert fitted.tokens == tokens


def test_what_leaves_goes_on_as_the_budget_falls() -> None:
    whole = render(CHEER, model="gpt-4")
    assert [whole.at(budget).tokens for budget in (130, 129, 110, 54)] == [130, 118, 102, 53]


# Chunks inside messages.

EXAMPLES = [
    'Example 1:\nUser: "I have a list of numbers, how do I sum them?"\nAssistant: "You can use the reduce function."',
    'Example 2:\nUser: "What is the airspeed velocity of an unladen swallow?"\n'
    'Assistant: "Sorry, I can\'t assist with that."',
    'Example 3:\nUser: "What is the difference between map and forEach?"\n'
    'Assistant: "The map function returns a new array, the forEach function does not."',
]
RULES = [
    "You are a helpful assistant that cheers people up.",
    "Here are some examples of how you should respond to the user:",
]
SNIPPETS = ["```ts\nconsole.log(42)\n```", '```ts\nconsole.log("Don\'t Panic")\n```']
CHUNKS = [
    system(
        Section(RULES[0], priority=21),
        Section(RULES[1], priority=20),
        *(Section(text, priority=12 - n) for n, text in enumerate(EXAMPLES)),
    ),
    user("Here are some relevant code snippets:", Section(SNIPPETS[0], priority=13), Section(SNIPPETS[1], priority=9)),
    Section("What is your name?", role="user", priority=31),
]


def test_chunks_of_a_message_join_with_the_separator_that_was_chosen() -> None:
    fitted = render(CHUNKS, model="gpt-4")
    assert said(fitted) == [
        "\n".join([*RULES, *EXAMPLES]),
        "\n".join(["Here are some relevant code snippets:", *SNIPPETS]),
        "What is your name?",
    ]
    assert fitted.tokens == 165
    assert said(render(CHUNKS, separator=" | "))[1].startswith("Here are some relevant code snippets: | ```")


def test_chunks_of_several_messages_leave_in_one_order() -> None:
    # prompt-tsx lets the question go before any chunk, since what has no priority counts as highest there.
    fitted = render(CHUNKS, 140, model="gpt-4")
    assert said(fitted) == [
        "\n".join([*RULES, *EXAMPLES[:2]]),
        f"Here are some relevant code snippets:\n{SNIPPETS[0]}",
        "What is your name?",
    ]


def test_a_prompt_that_a_tool_made_leaves_by_its_own_priorities_inside_that_of_its_result() -> None:
    made = Section(children=[Section(f"hello{n}", priority=n) for n in (50, 60, 70, 80, 90)], priority=50)
    outer = [Section(f"outer{n}", priority=n) for n in (40, 60, 70, 80, 90)]
    fitted = render([user(outer[0], made, *outer[1:])], 20 + 3, model="gpt-4")
    assert said(fitted) == ["hello90\nouter60\nouter70\nouter80\nouter90"]


def test_the_message_with_the_lowest_priority_leaves_before_any_piece_of_a_better_one() -> None:
    low = user(Section(A, priority=1000), Section(B, priority=500), priority=1000)
    high = user(Section(C, priority=2000), Section(D, priority=2000), priority=2000)
    assert leaving(low, high) == ["b", "a", "c", "d"]


def test_of_two_long_lists_the_better_one_stays_and_its_end() -> None:
    lists = [
        Section(children=[Section(f"{n:03d}", priority=n) for n in range(start, start + 100)], priority=priority)
        for start, priority in ((0, 900), (100, 1001))
    ]
    fitted = render([Section("Hello there.", role="system"), user(*lists)], 100)
    text = said(fitted)[-1]
    assert "199" in text
    assert "099" not in text
    assert "000" not in text


def test_a_text_is_cut_where_it_may_be() -> None:
    first, second = (" ".join(f"{number}{letter}" for letter in "abcdefghijklmnop") for number in (1, 2))
    sections = [user(Section(first, priority=2, break_on=" "), Section(second, priority=1, break_on=" "))]
    whole = render(sections)
    text = said(whole.at(whole.tokens - 10))[0]
    assert text.startswith(first + "\n2a")
    assert not text.endswith("2p")
    assert text.split()[-1] in second.split()


def test_two_texts_that_may_be_cut_share_the_room() -> None:
    first, second = (" ".join(f"{number}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz") for number in (1, 2))
    grow = [Section(expand=lambda budget, text=text: text, break_on=" ") for text in (first, second)]
    fitted = render([user(*grow)], 40, model="gpt-4")
    one, two = said(fitted)[0].split("\n")
    assert (first.startswith(one), second.startswith(two)) == (True, True)
    assert abs(len(one.split()) - len(two.split())) <= 4  # the first is charged with the frame of its message
    assert 36 <= fitted.tokens <= 40


# What is told of what stayed and what left.


def test_the_plan_names_what_stayed() -> None:
    assert names(render([user(Section(A, name="a"), Section(B, name="b"))])) == ["a", "b"]


def test_the_plan_and_the_archive_tell_what_left() -> None:
    whole = render([user(Section(A * 9, name="a", priority=1)), Section("Foo", role="user", name="foo")])
    fitted = whole.at(whole.tokens - 1)
    assert names(fitted) == ["foo"]
    assert list(fitted.archive.values()) == [A * 9]


def test_the_plan_names_what_stands_deep_inside() -> None:
    inner = Section(children=[Section(children=[Section(B, name="deep")])])
    assert names(render([Section(A, role="user", name="top"), user(inner)])) == ["top", "deep"]


# The shape of messages.


def test_an_empty_message_is_not_sent() -> None:
    assert said(render([Section("", role="system"), Section("Hello!", role="user")])) == ["Hello!"]


def test_pieces_join_without_a_break_where_the_separator_is_empty() -> None:
    assert said(render([user("Hello ", Section("world"), "!")], separator="")) == ["Hello world!"]


def test_pieces_join_with_a_break_where_the_separator_is_one() -> None:
    assert said(render([user(Section("world"), Section("world"))])) == ["world\nworld"]


def test_what_is_nested_stays_in_its_place() -> None:
    inner = Section(children=["inbefore", Section("wrapped"), "inafter"])
    assert said(render([user("before", inner, "after")])) == ["before\ninbefore\nwrapped\ninafter\nafter"]


def test_children_may_be_made_one_by_one() -> None:
    parts = (text for text in ("hello", " everyone", " in", " the ", "world!"))
    assert said(render([Section(role="user", children=parts)], separator="")) == ["hello everyone in the world!"]  # type: ignore[arg-type]


def test_a_call_and_its_result_stay_or_leave_together() -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "tool", "arguments": "{}"}}
    call = Section(message={"role": "assistant", "content": None, "tool_calls": [asked]}, priority=9)
    result = Section(message={"role": "tool", "tool_call_id": "c1", "content": A}, priority=1)
    whole = render([call, result, Section("Stays.", role="user")])
    assert len(whole.messages) == 3
    assert said(whole.at(whole.tokens - 1)) == ["Stays."]


# Limits.


def listed(*texts: str) -> list[Section]:
    return [Section(text, priority=-n) for n, text in enumerate(texts)]


def test_a_limit_holds_where_the_budget_would_not() -> None:
    limited = Section(children=listed("12345", "67890", "extra"), limit=6, priority=10)
    assert said(render([user(Section("outside", priority=1), limited)])) == ["outside\n12345\n67890"]


def test_an_outer_limit_holds_what_an_inner_one_allows() -> None:
    inner = Section(children=listed(D, E), limit=1_000, priority=15)
    outer = Section(children=[*listed(A, B), inner], limit=16)
    assert said(render([user(outer)])) == [f"{A}\n{D}\n{E}"]


def test_an_inner_limit_holds_what_an_outer_one_allows() -> None:
    inner = Section(children=listed("12345", "67890", "extra"), limit=6)
    outer = Section(children=[*listed(A, B), inner], limit=1_000)
    assert said(render([user(outer)])) == [f"{A}\n{B}\n12345\n67890"]


# What is kept together, and refusals.


def test_a_heading_goes_with_its_list() -> None:
    assert leaving(user(Section(A, keep_with="list"), Section(B, name="list", priority=1))) == ["ab"]


@pytest.mark.parametrize("model", [MODEL, "claude-sonnet-4-5"])
def test_where_a_small_budget_takes_all_that_is_kept_together_the_budget_is_refused(model: str) -> None:
    sections = [
        Section("A question. " * 9, role="user", name="question", priority=2, keep_with="pair"),
        Section("Its answer. " * 9, role="assistant", priority=1, keep_with="pair"),
        Section("Be brief.", role="system", keep_with="pair", priority=3),
    ]
    whole = prompt.render(sections, model=model, budget=PLENTY).tokens
    for budget in range(1, whole):
        with pytest.raises(BudgetTooSmall):
            prompt.render(sections, model=model, budget=budget)


def test_an_answer_that_would_be_left_without_its_question_refuses_the_budget() -> None:
    sections = [
        Section("word " * 20, role="user", name="m", priority=2, keep_with="g"),
        Section("word " * 20, role="assistant", name="n", priority=3),
        Section("x", role="assistant", name="m", priority=2),
    ]
    whole = prompt.render(sections, model="claude-sonnet-4-5", budget=PLENTY).tokens
    with pytest.raises(BudgetTooSmall) as refused:
        prompt.render(sections, model="claude-sonnet-4-5", budget=whole // 2)
    assert refused.value.needed <= whole
    assert prompt.render(sections, model="claude-sonnet-4-5", budget=refused.value.needed).tokens <= whole
