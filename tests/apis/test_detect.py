"""The API of a body is told from the body itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

import brim
from brim import apis
from tests.apis.bodies import BODIES, LISTS
from tests.apis.layouts import LAYOUTS
from tests.conversations import requests

USER = {"role": "user", "content": "hi"}


def told(body: Any, **more: Any) -> str:
    return apis.parse(body, **more).api


@pytest.mark.parametrize("api", sorted(BODIES))
@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_a_recorded_body_is_told_whatever_its_layout(api: str, layout: str) -> None:
    assert told(LAYOUTS[layout](BODIES[api])) == api


@pytest.mark.parametrize("api", sorted(BODIES))
def test_a_recorded_list_of_messages_is_told_without_its_body(api: str) -> None:
    assert told(BODIES[api][LISTS[api]]) == api


@given(requests())
def test_a_made_body_is_told(request: tuple[str, dict[str, Any], str]) -> None:
    api, body, _ = request
    assert told(body) == api


@pytest.mark.parametrize(
    ("body", "api"),
    [
        ({"messages": [USER]}, "openai_chat"),
        ({"messages": [USER], "model": "claude-sonnet-4-5", "max_tokens": 9}, "anthropic"),
        ({"messages": [USER], "model": "claude-sonnet-4-5"}, "openai_chat"),
        ({"messages": [USER], "anthropic_version": "bedrock-2023-05-31", "max_tokens": 9}, "anthropic"),
        ({"messages": [USER], "tools": [{"name": "f", "input_schema": {}}]}, "anthropic"),
        ({"messages": [USER], "model": "glm-4.6", "thinking": {"type": "enabled"}}, "openai_chat"),
        (
            {"messages": [USER], "model": "m", "max_tokens": 9, "thinking": {"type": "enabled", "budget_tokens": 5}},
            "anthropic",
        ),
        ({"messages": [{"role": "system", "content": "x"}, USER], "max_tokens": 9}, "openai_chat"),
        ({"input": "hi"}, "openai_responses"),
        ({"input": [USER]}, "openai_responses"),
        ({"contents": []}, "gemini"),
    ],
)
def test_few_signs_are_enough(body: Any, api: str) -> None:
    assert told(body) == api


@pytest.mark.parametrize("pasted", [json.dumps(BODIES["anthropic"]), json.dumps(BODIES["openai_responses"])])
def test_a_body_that_a_user_pasted_does_not_mislead(pasted: str) -> None:
    assert told({"messages": [{"role": "user", "content": f"what is this? {pasted}"}]}) == "openai_chat"


def test_the_name_of_the_api_overrides_what_the_body_looks_like() -> None:
    assert told({"messages": [USER]}, api="anthropic") == "anthropic"


@pytest.mark.parametrize(
    ("model", "api"),
    [
        ("gpt-4o", "openai_chat"),
        ("claude-sonnet-4-5", "anthropic"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openai_chat"),
        ("gemini-2.5-pro", "openai_chat"),
        ("claude-of-my-own", "anthropic"),
        ("nobody-knows-it", "openai_chat"),
    ],
)
def test_messages_of_roles_and_texts_are_of_the_api_that_the_model_speaks(model: str, api: str) -> None:
    assert told([USER], model=model) == api
    assert told([USER], model=model, system="Be brief.") == api
    assert told({"messages": [USER], "model": model}, system="Be brief.") == api


def test_a_model_of_ones_own_says_its_api() -> None:
    own = brim.Model("own-1", "me", 4_000, 1_000, "llama-3", None, "anthropic", "set by hand")
    assert told([USER], model=own) == "anthropic"


def test_messages_that_say_their_api_are_of_it_whatever_the_model() -> None:
    assert told([{"role": "system", "content": "Be brief."}, USER], model="claude-sonnet-4-5") == "openai_chat"
    assert told([{"role": "user", "content": [{"type": "document", "source": {"type": "url"}}]}], model="gpt-4o") == (
        "anthropic"
    )


def test_a_system_beside_the_messages_of_a_model_that_nobody_names_means_anthropic() -> None:
    assert told([USER], system="Be brief.") == "anthropic"
