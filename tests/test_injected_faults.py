"""Whatever breaks inside Brim, what a library call gives back is within its budget and valid, and says what broke."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import brim
from brim import content, fallback
from brim.content import arguments, json, keyed, plain_text
from brim.planning import forms, layer_sizes
from tests.conversations import problems
from tests.sabotage import FAULTS, GROUPS, Target, agent_run, broken, chat, chosen, contents

BUDGET = 900
# Budgets at which some item of a run stands in a line, is shortened in place, or is written densely.
ROOMS = (BUDGET, 3 * BUDGET, 4_000)
# Long enough for what takes milliseconds, and short enough for what hangs in a hundred tests.
SECONDS = 0.12
_seeds = itertools.count(1)
Way = Callable[[int, float | None], Iterator[brim.Fitted]]
# What is raised in a thread may arrive in a finalizer, which swallows it with a warning; then it is raised again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def wrong(fitted: brim.Fitted, calls: int) -> str:
    """What is wrong with a fit during which something broke so often; empty if nothing is."""
    if fitted.tokens > BUDGET or brim.count(fitted.messages, model="gpt-4o").tokens > BUDGET:
        return f"{fitted.tokens} tokens"
    found = problems("openai_chat", {"messages": fitted.messages})
    if found:
        return str(found)
    if calls and not any("inside Brim" in warning for warning in fitted.report.warnings):
        return "the report does not tell of the fault"
    return ""


def by_fit(seed: int, seconds: float | None) -> Iterator[brim.Fitted]:
    for made in (agent_run, chat):
        yield brim.fit(made(seed), model="gpt-4o", budget=BUDGET, fit_timeout=seconds)


def by_session(seed: int, seconds: float | None) -> Iterator[brim.Fitted]:
    for made in (agent_run, chat):
        session = brim.Session(model="gpt-4o", budget=BUDGET, fit_timeout=seconds)
        messages: list[Any] = made(seed)
        yield session.fit(messages)
        more = agent_run(seed + 50_000)[2:6] if made is agent_run else [{"role": "assistant", "content": "Berth 7."}]
        yield session.fit([*messages, *more, {"role": "user", "content": f"And note 4 of {seed}?"}])


def survived(target: Target, fault: str, way: Way) -> list[str]:
    """What was wrong with what came out while a function was broken."""
    found: list[tuple[brim.Fitted, int]] = []
    with broken(target, fault) as told:
        before = 0
        for fitted in way(next(_seeds), SECONDS):
            found.append((fitted, told.calls - before))
            before = told.calls
    return [problem for fitted, calls in found if (problem := wrong(fitted, calls))]


@pytest.mark.parametrize(
    ("group", "way"),
    [*((group, by_session) for group in GROUPS), *((group, by_fit) for group in GROUPS if group != "stores")],
)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_never_breaks_the_ceiling(group: str, fault: str, way: Way) -> None:
    turn = 2 * FAULTS.index(fault) + (way is by_session)
    called = chosen(group, lambda: list(way(next(_seeds), None)), turn)
    failed = {str(target): found for target in called if (found := survived(target, fault, way))}
    assert failed == {}


@pytest.mark.parametrize(
    "target",
    [
        Target(keyed, "keyed"),
        Target(keyed, "words_of"),
        Target(forms, "key_arguments"),
        Target(arguments, "extract"),
        Target(json, "dense"),
        Target(plain_text, "extract"),
    ],
    ids=str,
)
def test_a_compactor_that_raises_costs_the_form_of_one_item_and_not_the_plan(target: Target) -> None:
    run = agent_run(next(_seeds))
    with broken(target, "raises") as told:
        made = [brim.fit(run, model="gpt-4o", budget=budget) for budget in ROOMS]
    assert told.calls
    said = [warning for fitted in made for warning in fitted.report.warnings if "inside Brim" in warning]
    assert said
    assert all("one text was shortened to its beginning and end" in warning for warning in said)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in content.KINDS for name in ("dense", "extract") if hasattr(content.module_of(kind), name)],
)
def test_a_compactor_of_any_kind_that_raises_leaves_beginning_and_end_within_the_budget(kind: str, name: str) -> None:
    text = "".join(contents(next(_seeds)).values())
    budget = brim.count(text, model="gpt-4o").tokens // (2 if name == "dense" else 80)
    with broken(Target(content.module_of(kind), name), "raises") as told:
        made = brim.compact(text, budget, kind)
    assert told.calls
    assert brim.count(made.text, model="gpt-4o").tokens <= budget


@pytest.mark.parametrize("way", [by_fit, by_session])
def test_a_report_that_cannot_be_made_still_says_what_the_request_takes(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback, "REPORT_TIMEOUT", SECONDS)
    for fault in FAULTS:
        for fitted in way(next(_seeds), None):
            with broken(Target(layer_sizes, "layer_rows"), fault) as told:
                report = fitted.report
            assert told.calls == 1
            assert fitted.tokens == report.after <= BUDGET < report.before
            assert any("the report says only what the request takes" in warning for warning in report.warnings)
