"""Limits from the `/models` answers of the servers that people run and rent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import BadInput
from brim.models import Catalog, Prices, discover

ANSWERS: dict[str, tuple[Any, str, int, int | None, int | None]] = {
    "vllm": (
        {"object": "list", "data": [{"id": "my-llama-3", "object": "model", "max_model_len": 8192}]},
        "my-llama-3", 8192, None, None,
    ),
    "groq": (
        {"data": [{"id": "llama-3.3-70b", "context_window": 131072, "max_completion_tokens": 32768}]},
        "llama-3.3-70b", 131072, 32768, None,
    ),
    "openrouter": (
        {"data": [{"id": "a/b", "context_length": 200000,
                   "top_provider": {"context_length": 128000, "max_completion_tokens": 16000}}]},
        "a/b", 128000, 16000, None,
    ),
    "openrouter without an output limit": (
        {"data": [{"id": "a/b", "context_length": 200000, "top_provider": {"max_completion_tokens": None}}]},
        "a/b", 200000, None, None,
    ),
    "anthropic": (
        {"data": [{"type": "model", "id": "claude-x-9", "max_input_tokens": 1000000, "max_tokens": 128000}],
         "has_more": False},
        "claude-x-9", 1000000, 128000, None,
    ),
    "gemini": (
        {"models": [{"name": "models/gemini-9", "version": "1", "inputTokenLimit": 1048576,
                     "outputTokenLimit": 65536}]},
        "gemini-9", 1048576, 65536, None,
    ),
    "together, a bare list": ([{"id": "x/y", "context_length": 32768}], "x/y", 32768, None, None),
    "llama.cpp": (
        {"data": [{"id": "q.gguf", "meta": {"n_ctx": 4096, "n_ctx_train": 131072}}]}, "q.gguf", 4096, None, None,
    ),
    "lm studio": (
        {"data": [{"id": "q", "max_context_length": 131072, "loaded_context_length": 8192}]}, "q", 8192, None, None,
    ),
    "github copilot": (
        {"data": [{"id": "gpt", "capabilities": {"limits": {"max_context_window_tokens": 400000,
                   "max_prompt_tokens": 272000, "max_output_tokens": 128000}}}]},
        "gpt", 400000, 128000, 272000,
    ),
    "litellm": (
        {"data": [{"model_name": "team", "model_info": {"max_input_tokens": 9000, "max_output_tokens": 9000}}]},
        "team", 9000, None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("server", ANSWERS)
def test_the_limits_that_a_server_states_are_read(server: str) -> None:
    payload, name, window, max_output, input_limit = ANSWERS[server]
    [found] = discover(payload, provider="there")
    assert (found.name, found.provider, found.source) == (name, "there", "discovered")
    assert (found.window, found.max_output, found.input_limit) == (window, max_output, input_limit)


def test_prices_per_token_become_prices_per_million() -> None:
    pricing = {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003", "request": "0"}
    [found] = discover({"data": [{"id": "a/b", "context_length": 9000, "pricing": pricing}]})
    assert found.prices == Prices(fresh=3.0, output=15.0, cached=0.3)


@pytest.mark.parametrize("stated", ["-1", "nan", "free", True, None, {}])
def test_a_price_that_is_no_price_is_unknown(stated: Any) -> None:
    entry = {"id": "a/b", "context_length": 9000, "pricing": {"prompt": stated, "completion": "1"}}
    assert discover({"data": [entry]})[0].prices is None


def test_entries_without_limits_are_left_out() -> None:
    entries = [{"id": "gpt-4o", "object": "model", "owned_by": "openai"}, {"max_model_len": 5}, "x", None]
    assert discover({"data": entries}) == []
    assert (
        discover({"data": [{"id": "a", "context_length": wrong} for wrong in (0, -5, "8192", True, None, 1.5)]}) == []
    )


@pytest.mark.parametrize("payload", [{}, {"error": "no"}, None, "models", {"data": {}}, 5])
def test_an_answer_that_is_no_list_of_models_is_refused(payload: Any) -> None:
    with pytest.raises(BadInput):
        discover(payload)


def test_what_was_discovered_can_be_looked_up_after_learning() -> None:
    own = Catalog()
    own.learn(discover(ANSWERS["vllm"][0], provider="local"))
    assert own.find("local/my-llama-3").max_input() == 6963
    assert own.find("my-llama-3").family == "llama-3"


fields = st.sampled_from(["id", "name", "context_length", "top_provider", "pricing", "prompt", "meta", "n_ctx"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=5),
    max_leaves=15,
)


@given(st.lists(json_values, max_size=4))
def test_no_answer_breaks_discovery(entries: list[Any]) -> None:
    for found in discover({"data": entries}):
        assert found.window > 0
