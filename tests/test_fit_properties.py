"""The promises of fit, on arbitrary conversations of every API."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim import apis, models
from brim.planning import prefilter
from brim.planning.request import PlanRequest
from brim.tokens.counter import Counter
from tests.conversations import problems, requests
from tests.wide_requests import ATTACHED, altered, wide_requests

POLICIES = st.sampled_from(
    [
        brim.Policy.agent(),
        brim.Policy.rolling(),
        brim.Policy.concise(),
        brim.Policy.layered(),
        brim.Policy.rolling(recent_messages_to_keep=3, min_recent_messages_to_keep=1, reserved_response_tokens=10),
        brim.Policy.rolling(summary_topics=3, recent_messages_to_keep=2),
        brim.Policy.concise(history_chars=600, summary_chars=300, system_role=False),
        brim.Policy.layered(block_chars=400, preview_chars=60, answer_chars=80),
    ]
)
Request = tuple[str, dict[str, Any], str]


def measured(api: str, body: Any, model: str) -> int:
    """The size that counts against a budget: the upper bound where the vocabulary is only guessed."""
    found = models.find(model)
    conversation = apis.parse(body, api)
    counter = Counter(found, api)
    return PlanRequest(conversation, counter, found, brim.Policy.agent(), 0, own_limit=False).total(conversation)


def attempt(body: Any, **settings: Any) -> tuple[Any, brim.BudgetTooSmall | None]:
    try:
        return brim.fit(body, **settings), None
    except brim.BudgetTooSmall as refusal:
        return None, refusal


def check(request: Request, out: Any, budget: int) -> None:
    """What is sent is within its budget, valid, and has nothing that was not there."""
    api, body, model = request
    assert measured(api, out, model) <= budget
    assert problems(api, out) == []
    assert altered(api, body, out) == []


@settings(max_examples=max(500, settings().max_examples))
@given(wide_requests(), st.integers(20, 6000), st.booleans())
def test_a_fitted_request_is_within_its_budget_valid_and_leaves_its_input_alone(
    request: Request, budget: int, as_bytes: bool
) -> None:
    api, body, model = request
    given_body: Any = json.dumps(body).encode() if as_bytes else body
    before = copy.deepcopy(given_body)
    fitted, refusal = attempt(given_body, model=model, budget=budget, api=api)
    assert given_body == before
    if refusal is not None:
        assert refusal.needed > refusal.budget == budget
        assert refusal.must_stay
        return
    out = json.loads(fitted.body) if as_bytes else fitted.body
    assert type(fitted.body) is type(given_body)
    check(request, out, budget)


@given(wide_requests(), st.integers(60, 6000), POLICIES, ATTACHED, ATTACHED)
def test_every_policy_holds_the_ceiling_with_whatever_context(
    request: Request, budget: int, policy: brim.Policy, context: Any, carried: Any
) -> None:
    api, body, model = request
    before = copy.deepcopy(body)
    fitted, refusal = attempt(
        body, model=model, budget=budget, api=api, policy=policy, context=context, carried=carried
    )
    assert body == before
    if refusal is not None:
        assert refusal.needed > refusal.budget == budget
        return
    check(request, fitted.body, budget)
    report = fitted.report
    assert report.after == fitted.tokens <= budget
    assert sum(layer.after for layer in report.layers) == report.after


@given(wide_requests())
def test_a_request_that_fits_is_given_back_byte_for_byte(request: Request) -> None:
    api, body, model = request
    raw = json.dumps(body, indent=1).encode()
    boundless = dataclasses.replace(models.find(model), window=10_000_000, input_limit=None)
    assert brim.fit(raw, model=boundless, budget=1_000_000, api=api).body == raw


@given(requests(), st.integers(100, 3000))
def test_the_same_request_gives_the_same_bytes(request: Request, budget: int) -> None:
    api, body, model = request
    try:
        first = brim.fit(body, model=model, budget=budget, api=api)
    except brim.BudgetTooSmall:
        return
    assert json.dumps(brim.fit(copy.deepcopy(body), model=model, budget=budget, api=api).body) == json.dumps(first.body)


@given(wide_requests(), st.integers(20, 2000), st.integers(1, 6))
def test_a_history_that_is_looked_at_only_in_part_is_fitted_like_any_other(
    request: Request, budget: int, many: int
) -> None:
    api, body, model = request
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefilter, "MANY", many)
        fitted, refusal = attempt(body, model=model, budget=budget, api=api)
    if refusal is not None:
        assert refusal.needed > refusal.budget == budget
        return
    check(request, fitted.body, budget)
