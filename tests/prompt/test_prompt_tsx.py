"""The pruning of vscode-prompt-tsx as behaviour: what its own tests ask of a prompt, asked of sections."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import BudgetTooSmall, prompt
from brim.prompt import Budget, Section
from tests.planning.chats import MODEL

PLENTY = 100_000
# Longer than a word, so that each takes tokens of its own and is found in the text.
A, B, C, D, E, F = (f"<{letter * 6} piece>" for letter in "abcdef")
PIECES = (A, B, C, D, E, F)


def render(sections: Any, budget: int = PLENTY, **more: Any) -> brim.Fitted:
    return prompt.render(sections, model=MODEL, budget=budget, **{"separator": "\n", **more})


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


def user(*children: Section | str, **more: Any) -> Section:
    return Section(role="user", children=children, **more)


def system(*children: Section | str, **more: Any) -> Section:
    return Section(role="system", children=children, **more)


def echo(name: str, told: dict[str, int], uses: int = 0, **more: Any) -> Section:
    """A section that expands, says what it was told, and uses about so many tokens."""

    def tell(budget: Budget) -> str:
        told[name] = int(budget)
        return " ".join(["word"] * uses) or "word"

    return Section(expand=tell, name=name, **more)


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


# A prompt of many messages.

CHEER = [
    Section("You are a helpful assistant that cheers people up.", role="system", priority=1000, name="you"),
    Section("How are you?", role="system", priority=900, name="how"),
    Section("I am fantastic. How are you?", role="system", priority=900, name="fine"),
    Section("What time is it?", role="system", priority=100, name="time"),
    Section("It's high time to be happy!", role="system", priority=100, name="happy"),
    Section("Hello, how are you?", role="user", priority=499, name="hello"),
    Section("I am terrific, how are you?", role="assistant", priority=500, name="terrific"),
    Section("What time is it now?", role="user", priority=900, name="ask"),
]


def names(fitted: brim.Fitted) -> list[str]:
    return [step.item for step in fitted.plan if step.after]


def test_what_fits_loses_nothing() -> None:
    assert names(render(CHEER)) == [section.name for section in CHEER]


def test_at_the_very_limit_nothing_leaves() -> None:
    whole = render(CHEER)
    assert whole.at(whole.tokens).messages == whole.messages


def test_a_token_less_takes_the_first_of_the_lowest() -> None:
    whole = render(CHEER)
    assert set(names(whole)) - set(names(whole.at(whole.tokens - 1))) == {"time"}


def test_less_again_takes_the_second_of_the_lowest() -> None:
    whole = render(CHEER)
    one = whole.at(whole.tokens - 1)
    assert set(names(whole)) - set(names(whole.at(one.tokens - 1))) == {"time", "happy"}


def test_much_less_leaves_the_best_messages_in_their_order() -> None:
    best = [section for section in CHEER if (section.priority or 0) >= 900]
    assert names(render(CHEER, render(best).tokens)) == ["you", "how", "fine", "ask"]


# Chunks inside messages.

CHUNKS = [
    system(
        Section("You cheer people up.", priority=21),
        Section("Here are examples of how to answer:", priority=20),
        *(Section(f"Example {n}:\nUser: how do I do {n}?\nYou: with {n}.", priority=13 - n) for n in (1, 2, 3)),
    ),
    user("Here are some snippets:", Section("```\nlog(42)\n```", priority=13), Section("```\nlog(0)\n```", priority=9)),
    Section("What is your name?", role="user", priority=31),
]


def test_chunks_of_a_message_join_with_the_separator_that_was_chosen() -> None:
    fitted = render(CHUNKS)
    assert said(fitted)[1] == "Here are some snippets:\n```\nlog(42)\n```\n```\nlog(0)\n```"
    assert said(render(CHUNKS, separator=" | "))[1].startswith("Here are some snippets: | ```")


def test_chunks_of_several_messages_leave_in_one_order() -> None:
    whole = render(CHUNKS)
    first = whole.at(whole.tokens - 1)
    second = whole.at(first.tokens - 1)
    assert "log(0)" not in str(first.messages)
    assert "Example 3" in str(first.messages)
    assert "Example 3" not in str(second.messages)
    assert "log(42)" in str(second.messages)


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


# Room that is shared.


def test_who_grows_later_is_told_what_the_first_left() -> None:
    told: dict[str, int] = {}
    render([user(echo("content", told, 20), echo("grow", told, flex_grow=1))], 200)
    assert 160 < told["grow"] <= told["content"] - 20


def test_a_reserve_is_kept_for_who_grows_later() -> None:
    free: dict[str, int] = {}
    held: dict[str, int] = {}
    render([user(echo("content", free, 10), echo("grow", free, flex_grow=1))], 200)
    render([user(echo("content", held, 10), echo("grow", held, flex_grow=1, flex_reserve=50))], 200)
    assert held["content"] == free["content"] - 50
    assert held["grow"] == free["grow"]


def test_a_reserve_may_be_a_part_of_the_budget() -> None:
    free: dict[str, int] = {}
    held: dict[str, int] = {}
    growing = [echo(name, free, flex_grow=1) for name in ("one", "two")]
    render([user(echo("content", free, 10), *growing)], 200)
    growing = [echo(name, held, flex_grow=1, flex_reserve="/4") for name in ("one", "two")]
    render([user(echo("content", held, 10), *growing)], 200)
    assert held["content"] == free["content"] - 100


def test_equals_share_what_is_left() -> None:
    told: dict[str, int] = {}
    render([user(echo("content", told, 10), echo("one", told, flex_grow=1), echo("two", told, flex_grow=1))], 200)
    assert told["one"] == pytest.approx((200 - 10) / 2, abs=10)
    assert told["two"] >= told["one"]  # what the first did not use is the second's


def test_one_after_another_each_is_told_what_is_left() -> None:
    told: dict[str, int] = {}
    render([user(*(echo(str(n), told, 10, flex_grow=n) for n in range(4)))], 200)
    assert [told[str(n)] - told[str(n + 1)] for n in range(3)] == pytest.approx([10, 10, 10], abs=2)


def test_what_is_nested_shares_as_what_is_not() -> None:
    flat: dict[str, int] = {}
    deep: dict[str, int] = {}
    render([user(echo("a", flat, 10), echo("b", flat, flex_grow=1))], 200)
    render([user(Section(children=[echo("a", deep, 10)]), Section(children=[echo("b", deep)], flex_grow=1))], 200)
    assert deep == flat


def test_what_is_used_deep_inside_counts() -> None:
    told: dict[str, int] = {}
    nested = system(Section(children=[Section("word " * 42)]))
    render([nested, user(echo("one", told, flex_grow=1), echo("two", told, flex_grow=1))], 200)
    assert told["one"] == pytest.approx((200 - 42) / 2, abs=10)


def test_what_grows_fills_its_room_and_no_more() -> None:
    def fill(budget: Budget) -> str:
        text = "hi"
        while budget.count(text + " a") <= budget:
            text += " a"
        return text

    fitted = render([user(Section(expand=fill), "smaller")], 50)
    assert 46 <= fitted.tokens <= 50
    assert said(fitted)[0].endswith(" a\nsmaller")


def test_what_grows_beyond_its_room_is_cut() -> None:
    fitted = render([user(Section(expand=lambda budget: "hi " * 1_000), "smaller")], 50)
    assert fitted.tokens <= 50
    assert said(fitted)[0].endswith("\nsmaller")


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


def test_what_expands_inside_a_limit_is_told_the_limit() -> None:
    told: dict[str, int] = {}
    render([user(echo("free", told), Section(children=[echo("held", told)], limit=10))])
    assert told["held"] <= 10 < told["free"]


def test_a_limit_above_the_room_changes_nothing() -> None:
    bare: dict[str, int] = {}
    held: dict[str, int] = {}
    render([user(echo("a", bare), echo("b", bare))], 200)
    render([user(echo("a", held), echo("b", held, limit=10_000))], 200)
    assert held == bare


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
