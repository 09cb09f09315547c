"""The promises of fit, on arbitrary conversations of every API."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import brim
from brim import catalog, wire
from brim.tokens.counter import Counter
from tests.conversations import problems, requests

POLICIES = st.sampled_from([brim.Policy.agent(), brim.Policy.rolling(), brim.Policy.concise(), brim.Policy.layered()])


def measured(api: str, body: Any, model: str) -> int:
    return Counter(catalog.find(model), api).total(wire.parse(body, api))


def attempt(body: Any, **settings: Any) -> tuple[Any, brim.BudgetTooSmall | None]:
    try:
        return brim.fit(body, **settings), None
    except brim.BudgetTooSmall as refusal:
        return None, refusal


@given(requests(), st.integers(20, 6000), st.booleans())
def test_a_fitted_request_is_within_its_budget_valid_and_leaves_its_input_alone(
    request: tuple[str, dict[str, Any], str], budget: int, as_bytes: bool
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
    assert measured(api, out, model) <= budget
    assert problems(api, out) == []


@given(requests(), st.integers(60, 6000), POLICIES)
def test_every_policy_holds_the_ceiling(
    request: tuple[str, dict[str, Any], str], budget: int, policy: brim.Policy
) -> None:
    api, body, model = request
    try:
        fitted = brim.fit(body, model=model, budget=budget, api=api, policy=policy)
    except brim.BudgetTooSmall:
        return
    assert measured(api, fitted.body, model) <= budget
    assert problems(api, fitted.body) == []


@given(requests())
def test_a_request_that_fits_is_given_back_byte_for_byte(request: tuple[str, dict[str, Any], str]) -> None:
    api, body, model = request
    raw = json.dumps(body, indent=1).encode()
    assert brim.fit(raw, model=model, budget=10_000_000, api=api).body == raw


@given(requests(), st.integers(100, 3000))
def test_the_same_request_gives_the_same_bytes(request: tuple[str, dict[str, Any], str], budget: int) -> None:
    api, body, model = request
    try:
        first = brim.fit(body, model=model, budget=budget, api=api)
    except brim.BudgetTooSmall:
        return
    assert json.dumps(brim.fit(copy.deepcopy(body), model=model, budget=budget, api=api).body) == json.dumps(first.body)
