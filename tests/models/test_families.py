"""Names of models, and the tokenizer that each stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.models import FAMILIES, family_of, models


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-mini", "o200k"),
        ("azure/gpt-4.1-nano", "o200k"),
        ("openai/o4-mini", "o200k"),
        ("gpt-5.2-codex", "o200k"),
        ("ft:gpt-4o-2024-08-06:acme::x1", "o200k"),
        ("gpt-4", "cl100k"),
        ("gpt-4-1106-preview", "cl100k"),
        ("gpt-35-turbo-16k", "cl100k"),
        ("openai/gpt-oss-120b", "gpt-oss"),
        ("meta.llama3-1-8b-instruct-v1:0", "llama-3"),
        ("accounts/fireworks/models/llama-v3p3-70b-instruct", "llama-3"),
        ("deepseek-r1-distill-llama-70b", "llama-3"),
        ("meta-llama/llama-4-scout", "estimate"),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", "qwen-2"),
        ("deepseek-r1-distill-qwen-32b", "qwen-2"),
        ("qwen3-235b-a22b", "qwen-3"),
        ("qwen3-8b", "qwen-3"),
        ("qwen/qwen3.5-397b-a17b", "estimate"),
        ("deepseek-v3.2", "deepseek-v3"),
        ("deepseek.r1-v1:0", "deepseek-v3"),
        ("deepseek-coder-v2", "estimate"),
        ("models/gemini-2.5-pro", "gemma-3"),
        ("gemma-3-27b-it", "gemma-3"),
        ("google/gemma-2-9b-it", "gemma-2"),
        ("gemma2:27b", "gemma-2"),
        ("gemma-2b", "gemma-2"),
        ("gemma-1.1-7b-it", "gemma-2"),
        ("codegemma-7b", "gemma-2"),
        ("gemma-4-31b", "gemma-3"),
        ("meta-llama/Llama-2-70b-chat-hf", "llama-2"),
        ("codellama-34b", "llama-2"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-v1"),
        ("open-mixtral-8x22b", "mistral-v1"),
        ("mistral-large-latest", "mistral"),
        ("devstral-small-2507", "mistral"),
        ("mistral-7b-instruct", "mistral-v1"),
        ("moonshotai/kimi-k2-thinking", "kimi-k2"),
        ("GLM-4.6", "glm-4"),
        ("phi-4-reasoning", "phi-4"),
        ("phi-4-mini-instruct", "o200k"),
        ("claude-3-5-sonnet-20241022", "claude-3"),
        ("claude-sonnet-4-20250514", "claude-3"),
        ("vertex_ai/claude-opus-4@20250514", "claude-3"),
        ("claude-opus-4-6", "claude-3"),
        ("anthropic/claude-opus-4.7", "claude-4.7"),
        ("us.anthropic.claude-opus-4-8-v1:0", "claude-4.8"),
        ("claude-sonnet-5-20260101", "claude-4.8"),
        ("claude-opus-12", "claude-4.8"),
        ("claude-2.1", "estimate"),
        ("claude-instant-v1", "estimate"),
        ("my-finetune", "estimate"),
    ],
)
def test_a_name_resolves_to_its_tokenizer_family(name: str, family: str) -> None:
    assert family_of(name) == family


@given(st.text(max_size=60))
def test_any_text_has_a_family(name: str) -> None:
    assert family_of(name) in FAMILIES


def test_most_models_of_the_makers_with_public_tokenizers_have_an_exact_family() -> None:
    listed = [model for model in models() if model.provider in ("openai", "anthropic", "google", "deepseek")]
    exact = [model for model in listed if model.family != "estimate"]
    assert len(exact) > 0.9 * len(listed)
