"""How vscode-prompt-tsx shares room, keeps pieces together and holds a cached prefix, asked of sections.

All that is shown is words of one token each in one message, so that its numbers are those of its tests: a budget of 100
is 100 words.
"""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import BudgetTooSmall, prompt
from brim.prompt import Budget, Section

FRAME = 7  # of a message, and of the start of the answer


def render(sections: Any, budget: int, separator: str = "\n") -> brim.Fitted:
    return prompt.render(sections, model="gpt-4", budget=budget, separator=separator)


def said(fitted: brim.Fitted) -> list[str]:
    return [message.text for message in fitted.conversation.messages]


def user(*children: Section | str) -> Section:
    return Section(role="user", children=children)


def echo(name: str, told: dict[str, int], uses: int = 0, **more: Any) -> Section:
    """A section that expands, says what it was told, and uses so many tokens."""

    def tell(budget: Budget) -> str:
        told[name] = int(budget)
        return " word" * uses

    return Section(expand=tell, name=name, **more)


def flex(*asked: tuple[str, int, dict[str, Any]]) -> dict[str, int]:
    """What each section is told of 100 tokens, one word of which stands beside them."""
    told: dict[str, int] = {}
    sections = [echo(name, told, uses, **more) for name, uses, more in asked]
    render([user("Word", *sections)], 100 + FRAME + 1, separator="")
    return told


GROW: dict[str, Any] = {"flex_grow": 1}


# Room that is shared. What one of several equals did not use is the next one's, which prompt-tsx leaves free.


def test_who_grows_later_is_told_what_the_first_left() -> None:
    assert flex(("content", 10, {}), ("grow", 0, GROW)) == {"content": 100, "grow": 90}


def test_a_reserve_is_kept_for_who_grows_later() -> None:
    assert flex(("content", 10, {}), ("grow", 0, {**GROW, "flex_reserve": 20})) == {"content": 80, "grow": 90}


def test_a_reserve_may_be_a_part_of_the_budget() -> None:
    quarter = {**GROW, "flex_reserve": "/4"}
    told = flex(("content", 10, {}), ("grow1", 45, quarter), ("grow2", 45, quarter))
    assert told == {"content": 100 - 2 * (108 // 4), "grow1": 45, "grow2": 45}


def test_equals_share_what_is_left() -> None:
    assert flex(("content", 10, {}), ("grow1", 45, GROW), ("grow2", 45, GROW)) == {
        "content": 100,
        "grow1": 45,
        "grow2": 45,
    }


def test_three_orders_of_growing_are_asked_one_after_the_other() -> None:
    told = flex(
        ("1", 5, {}), ("2", 10, {}), ("3", 5, {}), ("last", 1, {"flex_grow": 2}), ("greedy", 79, {"flex_grow": 1})
    )
    assert told == {"1": 33, "2": 47, "3": 85, "greedy": 80, "last": 1}


def test_what_is_nested_shares_as_what_is_not() -> None:
    deep: dict[str, int] = {}
    inner = [echo("content", deep, 10), Section(children=[echo("grow", deep)], flex_grow=1)]
    render([user("Word", Section(children=[inner[0]]), inner[1])], 100 + FRAME + 1, separator="")
    assert deep == flex(("content", 10, {}), ("grow", 0, GROW))


def test_what_is_used_deep_inside_counts() -> None:
    told: dict[str, int] = {}
    nested = Section(children=[Section(children=[Section(" word" * 42)])])
    growing = [echo("grow1", told, 29, flex_grow=1), echo("grow2", told, 29, flex_grow=1)]
    render([user(nested, *growing)], 100 + FRAME, separator="")
    assert told == {"grow1": 29, "grow2": 29}


def test_a_basis_of_two_has_two_parts_of_what_is_shared() -> None:
    assert flex(("one", 33, {}), ("two", 66, {"flex_basis": 2})) == {"one": 33, "two": 67}
    told = flex(
        ("content1", 13, {}),
        ("content2", 26, {"flex_basis": 2}),
        ("grow1a", 15, {"flex_grow": 1, "flex_reserve": 20}),
        ("grow1b", 20, {"flex_grow": 1, "flex_reserve": 20}),
        ("grow2a", 0, {"flex_grow": 2, "flex_reserve": 10}),
        ("grow2b", 0, {"flex_grow": 2, "flex_reserve": 10, "flex_basis": 2}),
    )
    assert told == {"content1": 13, "content2": 27, "grow1a": 20, "grow1b": 26, "grow2a": 8, "grow2b": 26}


def test_a_basis_holds_for_groups_and_inside_them() -> None:
    told: dict[str, int] = {}
    first = Section(role="system", children=[echo("foo", told, flex_basis=2), echo("bar", told, flex_basis=3)])
    sections = [
        Section(role="system", children=first.children, flex_basis=2),
        Section(role="user", children=[echo("one", told)], flex_basis=1),
        Section(role="user", children=[echo("four", told)], flex_basis=4),
    ]
    render([*sections, "Why?"], 100)
    assert told["one"] < told["foo"] + told["bar"] < told["four"]
    assert told["foo"] < told["bar"]


@pytest.mark.parametrize("basis", [0, -1, float("inf"), float("nan"), "2"])
def test_a_basis_that_cannot_be_is_named(basis: Any) -> None:
    with pytest.raises(brim.BadInput, match=r"sections\[0\].flex_basis"):
        render([Section("x", flex_basis=basis)], 100)


def test_what_grows_fills_its_room_and_no_more() -> None:
    def fill(budget: Budget) -> str:
        text = "hi"
        while budget.count(text + "a") <= budget:
            text += "a"
        return text

    fitted = render([user(Section(expand=fill), "smaller")], 50 + 3)
    assert 50 <= fitted.tokens <= 53
    assert said(fitted)[0].startswith("hiaaaa")
    assert said(fitted)[0].endswith("a\nsmaller")


def test_what_grows_beyond_its_room_is_cut() -> None:
    fitted = render([user(Section(expand=lambda budget: "hi" * 1_000), "smaller")], 50 + 3)
    assert fitted.tokens <= 53
    assert said(fitted)[0].endswith("\nsmaller")


def test_what_expands_inside_a_limit_is_told_the_limit() -> None:
    told: dict[str, int] = {}
    render([user(echo("free", told, 1), Section(children=[echo("held", told, 1)], limit=10))], 8_192)
    assert told["held"] <= 10 < 4_000 < told["free"]


def test_a_limit_above_the_room_changes_nothing() -> None:
    bare: dict[str, int] = {}
    held: dict[str, int] = {}
    render([user(echo("a", bare, 1), echo("b", bare, 1))], 8_192)
    render([user(echo("a", held, 1), echo("b", held, 1, limit=10_000))], 8_192)
    assert held == bare


def test_a_small_limit_leaves_its_share_to_the_others() -> None:
    told: dict[str, int] = {}
    limited = Section(children=[echo("small", told)], limit=100)
    large = Section(children=[echo("large", told)], limit=10_000)
    render([user("Word", limited, echo("a", told), echo("b", told), large)], 8_192, separator="")
    assert told["small"] <= 100
    assert min(told["a"], told["b"], told["large"]) >= 2_695


# What is kept together.


def texts_as_the_budget_falls(*sections: Section) -> list[str]:
    """What is sent, budget by budget; a request that would be empty is refused and left out here."""
    whole, found = render(sections, 10_000), []
    for budget in range(whole.tokens, 0, -1):
        try:
            text = "".join(said(whole.at(budget)))
        except BudgetTooSmall:
            break
        found += [text] if [text] != found[-1:] else []
    return found


def group(*children: Section | str, priority: float, keep_with: str) -> Section:
    return Section(children=children, priority=priority, keep_with=keep_with)


def test_a_group_that_is_kept_with_others_takes_them_along_when_it_is_empty() -> None:
    kept = user(
        group(Section("a", priority=1), Section("b", priority=2), priority=1, keep_with="all"),
        group("c", priority=2, keep_with="all"),
        group("d", priority=3, keep_with="all"),
        "stays",
    )
    assert texts_as_the_budget_falls(kept) == ["a\nb\nc\nd\nstays", "b\nc\nd\nstays", "stays"]


def test_what_goes_takes_along_what_is_kept_with_it_and_so_on() -> None:
    kept = user(
        group(Section("a", priority=1), Section("b", priority=2), priority=1, keep_with="1"),
        group(Section("c#", keep_with="2"), "c", priority=2, keep_with="1"),
        group("d", priority=3, keep_with="1"),
        group("e", priority=4, keep_with="2"),
        group("f", priority=5, keep_with="3"),
        "stays",
    )
    assert texts_as_the_budget_falls(kept) == [
        *("a\nb\nc#\nc\nd\ne\nf\nstays", "b\nc#\nc\nd\ne\nf\nstays", "f\nstays", "stays")
    ]


def call(*ids: str) -> Section:
    calls = [{"id": one, "type": "function", "function": {"name": f"tool{one}", "arguments": '"a"'}} for one in ids]
    return Section(message={"role": "assistant", "content": None, "tool_calls": calls}, priority=9)


def result(of: str, priority: float) -> Section:
    return Section(message={"role": "tool", "tool_call_id": of, "content": f"result {of}"}, priority=priority)


def test_a_message_of_calls_goes_with_the_first_result_that_goes() -> None:
    both = [call("1", "2"), result("1", 1), result("2", 2)]
    whole = render([*both, call("3"), result("3", 3), user("Why?")], 1_000)
    fewer = whole.at(whole.tokens - 1)
    assert [message.get("tool_call_id") for message in fewer.messages] == [None, "3", None]
    assert [message["role"] for message in fewer.at(fewer.tokens - 1).messages] == ["user"]


# A cached prefix.

CACHED = user(
    Section("Lorem", priority=1),
    Section("Ipsum", priority=2, cache_breakpoint=True),
    Section("Dolor", priority=3),
    Section("Sit", priority=4),
)


def test_what_stands_before_the_last_breakpoint_stays_while_anything_after_it_can_leave() -> None:
    assert said(render([CACHED], 10 + 3)) == ["Lorem\nIpsum\nSit"]
    assert said(render([CACHED], 8 + 3)) == ["Lorem\nIpsum"]


def test_a_budget_that_not_even_the_cached_prefix_fits_is_refused() -> None:
    letters = user(Section("A", priority=1), Section("B", priority=2, cache_breakpoint=True), Section("C", priority=3))
    with pytest.raises(BudgetTooSmall):
        render([letters], 1 + 3)


def test_breakpoints_of_several_messages_are_marked_where_the_api_takes_marks() -> None:
    messages = [user(Section(text, cache_breakpoint=True), "World") for text in ("Hello", "Another")]
    fitted = prompt.render(messages, model="claude-sonnet-4-5", budget=1_000)
    assert [[block.get("cache_control") for block in one["content"]] for one in fitted.messages] == [
        *([{"type": "ephemeral"}, None], [{"type": "ephemeral"}, None])
    ]
    assert [message["content"] for message in render(messages, 1_000).messages] == ["Hello\nWorld", "Another\nWorld"]


# What needs no element of its own.


@pytest.mark.parametrize(("found", "shown"), [("Not an empty string", "Not an empty string"), ("", "empty alt!")])
def test_a_text_for_what_is_empty_is_written_in_python(found: str, shown: str) -> None:
    assert said(render([user(Section(found or "empty alt!"))], 100)) == [shown]


def test_pictures_are_messages_as_the_api_takes_them() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"}}
    message = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}
    assert render([Section(message=message)], 5_000).messages == [message]
