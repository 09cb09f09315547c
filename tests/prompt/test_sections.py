"""What leaves a prompt and in which order, what is held together, and who is told which budget."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import brim
from brim import BadInput, BudgetTooSmall, prompt
from brim.prompt import Budget, Section
from tests.planning.chats import MODEL, size, words

NOTE = 400


def note(name: str, priority: float | None, characters: int = NOTE, **more: Any) -> Section:
    return Section(words(characters, f"[{name}]"), priority=priority, name=name, **more)


def render(sections: Any, budget: int, **more: Any) -> brim.Fitted:
    return prompt.render(sections, model=MODEL, budget=budget, **more)


def text(fitted: brim.Fitted) -> str:
    return "\n".join(message.text for message in fitted.conversation.messages)


def kept(fitted: brim.Fitted) -> list[str]:
    """The names of the sections of which something is left."""
    return [step.item for step in fitted.plan if step.after]


def whole(sections: Any) -> int:
    return render(sections, 1_000_000).tokens


def test_what_fits_is_there_whole_and_in_order() -> None:
    fitted = render([Section("Be brief.", role="system"), note("a", 1), note("b", 0), "So?"], 1_000)
    assert kept(fitted) == ["sections[0]", "a", "b", "sections[3]"]
    assert fitted.messages[1]["content"] == f"{words(NOTE, '[a]')}\n\n{words(NOTE, '[b]')}\n\nSo?"
    assert fitted.tokens == size(fitted.messages)


def test_the_lowest_priority_leaves_first() -> None:
    sections = [note("a", 3), note("b", 1), note("c", 2), Section("So?", name="ask")]
    total = whole(sections)
    order = [kept(render(sections, budget)) for budget in (total, total - 1, total - 110, total - 220)]
    assert order == [["a", "b", "c", "ask"], ["a", "c", "ask"], ["a", "ask"], ["ask"]]


def test_of_equal_priorities_the_first_leaves_first() -> None:
    sections = [note("old", 5), note("new", 5), Section("So?", name="ask")]
    assert kept(render(sections, whole(sections) - 1)) == ["new", "ask"]


def test_what_leaves_at_one_budget_leaves_at_every_smaller_one() -> None:
    sections = [note(f"n{n}", (n * 7) % 5, 200 + 90 * n) for n in range(9)] + [Section("So?")]
    before: set[str] | None = None
    for budget in range(whole(sections), 20, -37):
        now = set(kept(render(sections, budget)))
        assert before is None or now <= before
        before = now


def test_a_section_without_priority_stays() -> None:
    sections = [note("rules", None), note("a", 9), Section("So?", name="ask")]
    assert kept(render(sections, whole(sections[:1]) + 8)) == ["rules", "ask"]


def test_what_must_stay_and_cannot_is_refused_with_its_numbers() -> None:
    sections = [note("rules", None), note("a", 9), Section("So?", name="ask")]
    with pytest.raises(BudgetTooSmall) as refused:
        render(sections, 50)
    assert refused.value.budget == 50
    assert refused.value.needed == whole([sections[0], sections[2]])
    assert [name for name, _ in refused.value.must_stay][:1] == ["rules"]
    assert "a" not in [name for name, _ in refused.value.must_stay]


def test_priorities_inside_a_section_are_compared_with_each_other() -> None:
    inside = Section(children=[note("x", 100), note("y", 50)], priority=1)
    sections = [inside, note("beside", 10), Section("So?", name="ask")]
    total = whole(sections)
    order = [kept(render(sections, budget)) for budget in (total - 1, total - 110, total - 220)]
    assert order == [["x", "beside", "ask"], ["beside", "ask"], ["ask"]]


def test_a_section_without_priority_passes_the_priorities_inside_it_on() -> None:
    sections = [Section(children=[note("x", 5), note("y", 1)]), note("beside", 3), Section("So?", name="ask")]
    total = whole(sections)
    order = [kept(render(sections, budget)) for budget in (total - 1, total - 110, total - 220)]
    assert order == [["x", "beside", "ask"], ["x", "ask"], ["ask"]]


def test_what_has_no_priority_inside_a_section_with_one_leaves_last_and_with_it() -> None:
    inside = Section(children=[note("head", None), note("item", 9)], priority=1)
    sections = [inside, note("beside", 10), Section("So?", name="ask")]
    total = whole(sections)
    assert kept(render(sections, total - 1)) == ["head", "beside", "ask"]
    assert kept(render(sections, total - 110)) == ["beside", "ask"]


def test_linked_sections_go_together() -> None:
    sections = [
        note("call", 8, keep_with="step"),
        note("between", 5),
        note("result", 1, keep_with="step"),
        Section("So?", name="ask"),
    ]
    assert kept(render(sections, whole(sections) - 1)) == ["between", "ask"]


def test_a_section_may_be_linked_to_another_by_its_name() -> None:
    sections = [Section("Notes:", keep_with="a", name="title"), note("a", 1), note("b", 2), Section("So?", name="ask")]
    assert kept(render(sections, whole(sections) - 1)) == ["b", "ask"]


def test_links_reach_over_links() -> None:
    sections = [
        note("a", 1, keep_with="b"),
        note("b", 5, keep_with="c"),
        note("c", 7),
        note("d", 2),
        Section("So?", name="ask"),
    ]
    assert kept(render(sections, whole(sections) - 1)) == ["d", "ask"]


def test_a_call_and_its_result_are_linked_by_their_id() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    sections = [
        Section("Read it.", role="user"),
        Section(message={"role": "assistant", "content": None, "tool_calls": [call]}, priority=5, name="call"),
        Section(message={"role": "tool", "tool_call_id": "c1", "content": words(900)}, priority=1, name="result"),
        Section("So?", role="user"),
    ]
    full = render(sections, whole(sections))
    assert [message["role"] for message in full.messages] == ["user", "assistant", "tool", "user"]
    short = render(sections, whole(sections) - 1)
    assert [message["role"] for message in short.messages] == ["user", "user"]
    assert any("tool_call_id" in left for left in short.archive.values())


def test_a_text_is_cut_where_it_may_be_and_keeps_its_start() -> None:
    lines = "".join(f"line {n} of the log\n" for n in range(200))
    fitted = render([Section(lines, priority=1, break_on="\n", name="log"), Section("So?")], 300)
    shown = fitted.messages[0]["content"].removesuffix("\n\nSo?")
    assert lines.startswith(shown)
    assert shown.endswith("\n")
    assert 290 < fitted.tokens <= 300
    assert lines in fitted.archive.values()


def test_a_text_that_may_not_be_cut_is_there_whole_or_not_at_all() -> None:
    sections = [note("a", 1, 2_000), Section("So?", name="ask")]
    assert kept(render(sections, whole(sections) - 1)) == ["ask"]


def test_cutting_a_text_comes_before_anything_of_higher_priority_leaves() -> None:
    sections = [note("cut", 1, 3_000, break_on=" "), note("b", 2), Section("So?", name="ask")]
    fitted = render(sections, whole(sections) - 200)
    assert kept(fitted) == ["cut", "b", "ask"]
    assert fitted.tokens > whole(sections) - 210


@pytest.mark.parametrize("break_on", ["", "\n", ". "])
@pytest.mark.parametrize("priority", [None, 3])
def test_a_limit_holds_though_there_is_room(break_on: str, priority: float | None) -> None:
    section = note("a", priority, 4_000, limit=100, break_on=break_on)
    fitted = render([section, Section("So?")], 5_000)
    step = fitted.plan[0]
    assert step.after <= 100
    assert step.after > 80 or break_on == "\n"
    assert "limit of 100 tokens" in step.reason or step.reason.startswith("priority 3")


def test_a_limit_on_a_group_lets_its_lowest_priorities_leave() -> None:
    group = Section(children=[note(f"n{n}", n) for n in range(6)], limit=200, name="notes")
    fitted = render([group, note("beside", 0), Section("So?", name="ask")], 5_000)
    assert kept(fitted) == ["n4", "n5", "beside", "ask"]


def test_a_limit_on_a_group_of_messages_counts_their_frames() -> None:
    turns = [Section(words(200, f"[{n}]"), role="user", priority=n, name=f"m{n}") for n in range(10)]
    fitted = render([Section(children=turns, limit=200), Section("So?", role="user", name="ask")], 5_000)
    assert size(fitted.messages[:-1]) - size([]) <= 200
    assert kept(fitted)[-2:] == ["m9", "ask"]


def test_a_limit_holds_where_nothing_inside_may_leave() -> None:
    group = Section(children=[note("a", None), note("b", None), note("c", None)], limit=120)
    fitted = render([group, Section("So?", name="ask")], 5_000)
    assert sum(step.after for step in fitted.plan[:3]) <= 120
    assert fitted.plan[0].form == "full"


def test_the_inner_of_two_limits_holds_first() -> None:
    group = Section(children=[note("a", 1, 900, limit=50), note("b", 2, 900, limit=50)], limit=120)
    fitted = render([group, "So?"], 5_000)
    assert [0 < step.after <= 50 for step in fitted.plan[:2]] == [True, True]


def test_a_section_that_expands_is_told_what_is_left() -> None:
    told: list[Budget] = []

    def fill(budget: Budget) -> str:
        told.append(budget)
        return "word " * budget

    fitted = render([note("a", None), Section(expand=fill, name="docs"), "So?"], 600)
    assert len(told) == 1
    assert 400 < told[0] < 600
    assert told[0].count("hello world") == 2
    assert 595 <= fitted.tokens <= 600


def test_a_section_that_expands_too_far_is_cut() -> None:
    fitted = render([Section(expand=lambda budget: "one two three. " * 5_000, break_on=". "), "So?"], 300)
    assert fitted.tokens <= 300
    assert fitted.messages[0]["content"].endswith("three. \n\nSo?")


def test_a_section_that_expands_is_not_asked_when_nothing_is_left() -> None:
    def never(budget: Budget) -> str:
        raise AssertionError("it was asked")

    sections = [note("a", None), "So?"]
    fitted = render([*sections, Section(expand=never, name="docs")], whole(sections))
    assert fitted.report.warnings == ("docs found no room",)


def test_a_section_that_expands_may_say_nothing() -> None:
    assert render([Section(expand=lambda budget: ""), "So?"], 300).messages == [{"role": "user", "content": "So?"}]


def test_equal_flex_shares_alike_and_what_one_leaves_the_next_may_take() -> None:
    told: dict[str, int] = {}

    def taking(name: str, share: float) -> Section:
        def fill(budget: Budget) -> str:
            told[name] = budget
            return "word " * int(budget * share)

        return Section(expand=fill, flex_grow=1, role="user")

    render([taking("a", 0.2), taking("b", 1.0), taking("c", 1.0), Section("So?", role="user")], 1_000)
    assert 300 < told["a"] < 340
    assert 430 < told["b"] < 480
    assert abs(told["b"] - told["c"]) < 12


def test_lower_flex_is_asked_first_and_a_reserve_is_left_for_the_others() -> None:
    told: list[tuple[str, int]] = []

    def taking(name: str, **more: Any) -> Section:
        def fill(budget: Budget) -> str:
            told.append((name, budget))
            return "word " * budget

        return Section(expand=fill, role="user", **more)

    render([taking("history", flex_grow=2, flex_reserve="/5"), taking("files", flex_grow=1), "So?"], 1_000)
    assert [name for name, _ in told] == ["files", "history"]
    assert 750 < told[0][1] < 800
    assert 180 < told[1][1] <= 200


def test_a_reserve_makes_lower_priorities_leave() -> None:
    told: list[int] = []

    def fill(budget: Budget) -> str:
        told.append(budget)
        return "word " * budget

    docs = Section(expand=fill, priority=5, flex_reserve=200, name="docs")
    sections = [note("low", 1), note("high", 9), docs, Section("So?", name="ask")]
    fitted = render(sections, whole(sections[:2]) + 140)
    assert kept(fitted) == ["high", "docs", "ask"]
    assert told[0] >= 190
    assert kept(render([note("low", 1), *sections[1:2], Section("So?", name="ask")], whole(sections[:2]) + 140)) == [
        *("low", "high", "ask")
    ]


def test_a_reserve_gives_way_to_what_has_more_priority_or_must_stay() -> None:
    docs = Section(expand=lambda budget: "word " * budget, priority=1, flex_reserve=5_000, name="docs")
    sections = [note("high", 9), note("rules", None), docs]
    fitted = render(sections, whole(sections[:2]) + 50)
    assert kept(fitted) == ["high", "rules", "docs"]
    assert fitted.tokens <= whole(sections[:2]) + 50


def test_a_limit_holds_for_what_expands() -> None:
    told: list[int] = []

    def fill(budget: Budget) -> str:
        told.append(budget)
        return "word " * 900

    fitted = render([Section(children=[note("a", None), Section(expand=fill)], limit=150), "So?"], 2_000)
    assert told[0] < 70
    assert sum(step.after for step in fitted.plan[:2]) <= 150


def test_a_heading_goes_with_the_list_that_found_no_room() -> None:
    heading = Section("Documents:", keep_with="docs", name="heading")
    docs = Section(expand=lambda budget: "word " * budget, name="docs")
    sections = [note("a", None), "So?"]
    shown = []
    for extra in range(2, 20):
        said = text(render([*sections, heading, docs], whole([*sections, heading]) - 2 + extra))
        assert ("Documents:" in said) == ("word" in said)
        shown.append("Documents:" in said)
    assert shown == sorted(shown)
    assert set(shown) == {False, True}


def test_a_heading_comes_back_when_something_larger_leaves_after_it() -> None:
    heading = Section("Documents:", keep_with="docs", priority=3)
    docs = Section(expand=lambda budget: "word " * budget, name="docs", priority=3, flex_reserve=50)
    fitted = render([note("large", 9, 4_000), heading, docs, "So?"], 200)
    assert "Documents:\n\nword word" in text(fitted)
    assert fitted.tokens > 190


def test_what_stands_before_the_last_cache_breakpoint_leaves_last() -> None:
    sections = [
        note("a", 1),
        note("b", 2, cache_breakpoint=True),
        note("c", 8),
        note("d", 9),
        Section("So?", name="ask"),
    ]
    total = whole(sections)
    order = [kept(render(sections, budget)) for budget in (total - 1, total - 110, total - 220, total - 330)]
    assert order == [["a", "b", "d", "ask"], ["a", "b", "ask"], ["b", "ask"], ["ask"]]


def test_a_cached_prefix_does_not_leave_for_a_reserve() -> None:
    docs = Section(expand=lambda budget: "word " * budget, flex_reserve=300, name="docs")
    sections = [note("a", 1, cache_breakpoint=True), docs, Section("So?", name="ask")]
    fitted = render(sections, whole(sections[:1]) + 60)
    assert kept(fitted)[0] == "a"


def test_the_plan_says_what_became_of_every_section_and_why() -> None:
    sections = [Section("Be brief.", role="system", name="rules"), note("a", 1), note("b", 2), "So?"]
    fitted = render(sections, whole(sections) - 1)
    assert [(step.item, step.form, step.reason) for step in fitted.plan] == [
        ("rules", "full", "must stay"),
        ("a", "dropped", "priority 1: the lowest that was left"),
        ("b", "full", "there was room for it"),
        ("sections[3]", "full", "must stay"),
    ]
    assert fitted.report.before == whole(sections)
    assert fitted.report.after == fitted.tokens
    assert sum(layer.after for layer in fitted.report.layers) == fitted.tokens
    assert words(NOTE, "[a]") in fitted.archive.values()


def test_the_same_prompt_can_be_tried_at_any_other_budget() -> None:
    sections = [note("a", 1), note("b", 2), Section("So?", name="ask")]
    fitted = render(sections, 1_000)
    assert kept(fitted.at(130)) == ["b", "ask"]
    assert kept(fitted.at(130).at(1_000)) == ["a", "b", "ask"]


@pytest.mark.parametrize(
    ("section", "at"),
    [
        (Section("x", children=[Section("y")]), "sections[0].text"),
        (Section("x", expand=lambda budget: ""), "sections[0].text"),
        (Section("x", role="tool"), "sections[0].role"),
        (Section("x", priority="high"), "sections[0].priority"),  # type: ignore[arg-type]
        (Section("x", priority=float("nan")), "sections[0].priority"),
        (Section("x", limit=-1), "sections[0].limit"),
        (Section("x", flex_grow=1.5), "sections[0].flex_grow"),  # type: ignore[arg-type]
        (Section("x", flex_reserve="a third"), "sections[0].flex_reserve"),
        (Section("x", flex_reserve=-5), "sections[0].flex_reserve"),
        (Section(expand="text"), "sections[0].expand"),  # type: ignore[arg-type]
        (Section(children=[Section("x"), Section("y", limit=-1)]), "sections[0].children[1].limit"),
        (Section(children=[Section("y", role="user")], role="system"), "sections[0].children[0].role"),
        (Section(message={"content": "x"}), "sections[0].message.role"),
        (Section(message={"role": "user", "content": "x"}, role="user"), "sections[0].role"),
        (5, "sections[0]"),
        (Section(children=[5]), "sections[0].children[0]"),  # type: ignore[list-item]
        (Section(children=None), "sections[0].children"),  # type: ignore[arg-type]
        (Section(children=Section("x")), "sections[0].children"),  # type: ignore[arg-type]
        (Section("x", keep_with=3), "sections[0].keep_with"),  # type: ignore[arg-type]
        (Section("x", name=3), "sections[0].name"),  # type: ignore[arg-type]
        (Section(expand=lambda budget: 3), "sections[0].expand"),  # type: ignore[arg-type,return-value]
    ],
)
def test_a_section_that_makes_no_sense_is_refused_with_its_place(section: Any, at: str) -> None:
    with pytest.raises(BadInput) as refused:
        render([section], 100)
    assert refused.value.at == at


def test_one_section_or_text_in_place_of_a_list_is_refused() -> None:
    for wrong in ("hello", Section("hello"), None, 5, {"text": "hello"}):
        with pytest.raises(BadInput, match="must be a list of sections"):
            render(wrong, 100)


def test_linked_sections_go_together_when_a_limit_takes_one() -> None:
    fitted = render([Section("Notes:", keep_with="n"), Section(words(400), name="n", limit=0), "So?"], 1_000)
    assert fitted.messages == [{"role": "user", "content": "So?"}]
    listing = Section(expand=lambda budget: "word " * budget, keep_with="n")
    fitted = render([listing, Section(words(400), name="n", limit=0), "So?"], 1_000)
    assert fitted.messages == [{"role": "user", "content": "So?"}]


@pytest.mark.parametrize("budget", [0, -1, "x", 30.5, True])
def test_another_budget_is_a_number_of_tokens(budget: Any) -> None:
    with pytest.raises(BadInput, match=r"budget: .* is not a number of tokens"):
        render(["So?"], 100).at(budget)


def test_another_budget_keeps_the_reserve() -> None:
    assert render(["So?"], 100, reserve=40).at(90).report.limit == 50


def test_children_may_come_from_a_generator() -> None:
    fitted = render([Section(role="user", children=(Section(text) for text in ("One.", "Two.")))], 100)
    assert fitted.at(90).messages == fitted.messages == [{"role": "user", "content": "One.\n\nTwo."}]


def test_what_must_stay_adds_up_to_what_is_needed() -> None:
    sections = [Section("Be brief.", role="system"), note("rules", None), Section("So?", name="ask", role="user")]
    with pytest.raises(BudgetTooSmall) as refused:
        render(sections, 50)
    assert sum(tokens for _, tokens in refused.value.must_stay) == refused.value.needed


def test_what_was_done_goes_to_the_callback_and_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[brim.Event] = []
    sections = [note("a", 1), note("b", 2, 4_000, break_on=" "), "So?"]
    with caplog.at_level(logging.INFO, "brim"):
        fitted = render(sections, 300, on_event=seen.append)
    assert [event.kind for event in seen] == ["pruned", "compacted"]
    assert seen[0].numbers == {"sections": 1}
    assert seen[1].numbers["after"] == fitted.plan[1].after < seen[1].numbers["before"]
    with pytest.raises(BudgetTooSmall):
        fitted.at(5)
    assert seen[-1].kind == "refused"
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO", "WARNING"]
    render([Section(expand=str, limit=0, name="docs"), "So?"], 300, on_event=seen.append)
    assert (seen[-1].kind, seen[-1].message) == ("warning", "docs found no room")
