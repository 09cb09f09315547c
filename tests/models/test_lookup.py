"""Models are found under every spelling that APIs, SDKs and gateways use."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import models
from brim.errors import BadInput, BadSetting, UnknownModel
from brim.models import Catalog, Model, Prices


def model(name: str, window: int = 1000, **more: object) -> Model:
    given = {"max_output": None, "family": "estimate", "prices": None, "api": "openai_chat", "source": "test"} | more
    return Model(name, "here", window, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spelling", "provider", "name"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("GPT-4o", "openai", "gpt-4o"),
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("gpt-4o-2024-08-06", "openai", "gpt-4o"),
        ("gpt-35-turbo", "openai", "gpt-3.5-turbo"),
        ("azure/gpt-4o", "azure", "gpt-4o"),
        ("azure/eu/gpt-4o", "azure", "gpt-4o"),
        ("openrouter/openai/gpt-5", "openrouter", "openai/gpt-5"),
        ("github_copilot/gpt-4.1", "github-copilot", "gpt-4.1"),
        ("claude-3-5-sonnet-20241022", "anthropic", "claude-3-5-sonnet"),
        ("claude-3-7-sonnet-20250219", "anthropic", "claude-3-7-sonnet-latest"),
        ("claude-3.5-sonnet", "anthropic", "claude-3-5-sonnet"),
        ("anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "aws", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-3-haiku-20240307-v1:0",
            "aws",
            "anthropic.claude-3-haiku-20240307-v1:0",
        ),
        ("vertex_ai/claude-haiku-4-5@20251001", "google", "claude-haiku-4-5"),
        ("models/gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("publishers/google/models/gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("gemini/gemini-2.5-pro-preview-05-06", "google", "gemini-2.5-pro"),
        ("fireworks_ai/accounts/fireworks/models/llama-v3p1-8b-instruct", "fireworks", "llama-v3p1-8b-instruct"),
        ("mistral-large-latest", "mistral", "mistral-large"),
        ("xai/grok-4-latest", "x-ai", "grok-4-0709"),
        ("nova-pro", "aws", "amazon.nova-pro-v1:0"),
    ],
)
def test_a_spelling_finds_the_model_of_its_provider(spelling: str, provider: str, name: str) -> None:
    found = models.find(spelling)
    assert (found.provider, found.name) == (provider, name)


@pytest.mark.parametrize("suffix", [":free", "-fp8", "-AWQ", "-2025-01-31", "-20250131", "-latest", "-v1:0"])
def test_suffixes_of_hosts_and_dates_name_the_same_model(suffix: str) -> None:
    assert models.find("kimi-k2.5" + suffix).name.lower().endswith("kimi-k2.5")


def test_an_unheard_of_variant_is_found_by_its_prefix_and_says_so() -> None:
    found = models.find("gpt-4o-special-edition")
    assert (found.name, found.window, found.source) == ("gpt-4o", 128_000, "prefix")


def test_a_variant_found_by_prefix_has_the_tokenizer_of_the_asked_name() -> None:
    assert models.find("claude-opus-4-9").family == "claude-4.8"


def test_a_prefix_ends_at_a_separator() -> None:
    with pytest.raises(UnknownModel):
        models.find("gpt-4oh")


def test_an_unknown_name_lists_near_ones() -> None:
    with pytest.raises(UnknownModel) as caught:
        models.find("claud-opus-5")
    assert "claude-opus-5" in caught.value.near
    assert "claude-opus-5" in str(caught.value)


@pytest.mark.parametrize("name", ["", "/", "x" * 100_000, "\ud800", "a/" * 5000, "-" * 150, "ft:", "no.such.model"])
def test_odd_names_are_unknown_and_nothing_worse(name: str) -> None:
    with pytest.raises(UnknownModel):
        models.find(name)


@given(st.text(alphabet="gpt4o-.:/@_claude53 \u00e9", max_size=40))
def test_any_name_is_found_or_unknown_and_the_answer_is_stable(name: str) -> None:
    answers = []
    for _ in range(2):
        try:
            answers.append(Catalog().find(name).name)
        except UnknownModel as unknown:
            answers.append(str(unknown.near))
    assert answers[0] == answers[1]


def test_the_catalog_holds_over_a_thousand_models_and_each_is_found_by_its_full_name() -> None:
    listed = models.models()
    assert len(listed) > 1000
    lost = [m for m in listed if models.find(f"{m.provider}/{m.name}").window != m.window]
    assert lost == []


def test_limits_of_the_table_are_sane() -> None:
    for m in models.models():
        assert 0 < m.max_input() <= m.window
        assert m.max_output is None or m.max_output < m.window
        assert m.prices is None or min(m.prices.fresh, m.prices.output) >= 0


@pytest.mark.parametrize(
    ("name", "window", "max_output"),
    [
        ("gpt-4o", 128_000, 16_384),
        ("gpt-4.1", 1_047_576, 32_768),
        ("gpt-5", 400_000, 128_000),
        ("o3", 200_000, 100_000),
        ("claude-3-haiku-20240307", 200_000, 4_096),
        ("claude-sonnet-4-5", 200_000, 64_000),
        ("claude-opus-4-1", 200_000, 32_000),
        ("claude-opus-5", 1_000_000, 128_000),
        ("gemini-2.0-flash", 1_048_576, 8_192),
    ],
)
def test_well_known_models_have_their_documented_limits(name: str, window: int, max_output: int) -> None:
    found = models.find(name)
    assert (found.window, found.max_output) == (window, max_output)


def test_models_are_listed_by_part_of_a_name_or_by_glob() -> None:
    assert {m.provider for m in models.models("anthropic/claude-*")} >= {"anthropic"}
    assert all("sonnet" in f"{m.provider}/{m.name}".lower() for m in models.models("Sonnet"))
    assert "gpt-4o-mini" in [m.name for m in models.models("gpt-4o") if m.provider == "openai"]
    assert models.models("no such model") == []


def test_an_added_model_stands_before_the_table() -> None:
    own = Catalog()
    own.find("gpt-4o")
    own.add(model("gpt-4o", 9_000))
    spellings = ["gpt-4o", "openai/gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-what-else"]
    assert [own.find(spelling).window for spelling in spellings] == [9_000] * 4
    assert own.find("gpt-4o-mini").window == own.find("azure/gpt-4o").window == 128_000
    listed = [m.window for m in own.models("gpt-4o") if m.name == "gpt-4o" and m.provider in ("here", "openai")]
    assert listed == [9_000]
    assert models.find("gpt-4o").window == 128_000


def test_an_override_keeps_what_it_does_not_name() -> None:
    own = Catalog()
    changed = own.override("gpt-4o", {"window": 64_000, "prices": {"fresh": 1, "output": 2}})
    assert own.find("gpt-4o") == changed
    assert (changed.max_output, changed.prices, changed.source) == (16_384, Prices(1, 2), "settings")


def test_a_new_model_needs_only_its_window() -> None:
    own = Catalog()
    own.override("llama-3-local", {"window": 8_192})
    assert (own.find("llama-3-local").max_input(), own.find("llama-3-local").family) == (6963, "llama-3")
    with pytest.raises(BadSetting, match="window"):
        own.override("never-heard-of-it", {"max_output": 100})
    with pytest.raises(BadSetting, match="windw"):
        own.override("gpt-4o", {"windw": 1})


def test_learned_limits_replace_the_table_but_not_the_users_settings() -> None:
    own = Catalog()
    own.override("gpt-4o", {"window": 64_000})
    taken = own.learn([model("gpt-4o", 32_000), model("gpt-4o-mini", 32_000), model("brand-new", 5_000)])
    assert [m.name for m in taken] == ["gpt-4o-mini", "brand-new"]
    assert own.find("gpt-4o").window == 64_000
    assert own.find("gpt-4o-mini").window == 32_000
    assert own.find("gpt-4o-mini").prices == models.find("gpt-4o-mini").prices
    assert own.find("gpt-4o-mini").family == "o200k"


def test_a_name_that_two_upstreams_serve_means_the_smaller_window() -> None:
    own = Catalog()
    own.learn([replace(model("shared", 8_000), provider="a", source="discovered")])
    own.learn([replace(model("shared", 9_000), provider="b", source="discovered")])
    assert [own.find(name).window for name in ("shared", "a/shared", "b/shared")] == [8_000, 8_000, 9_000]


def test_a_model_without_room_is_refused() -> None:
    with pytest.raises(BadInput, match="window"):
        model("x", 0)


def test_the_table_loads_at_the_first_lookup_and_not_at_import() -> None:
    program = (
        "import json, sys, brim.models as c\n"
        "before = c.lookup.Catalog()._table is None and c._shared._table is None\n"
        "c.find('gpt-4o')\n"
        "print(json.dumps([before, c._shared._table is not None, 'genai_prices' in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == [True, True, False]


def test_a_known_name_is_found_in_microseconds_even_if_unknown_names_came_before() -> None:
    for at in range(50):
        with pytest.raises(UnknownModel):
            models.find(f"zzz{at}")
    models.find("gpt-4o")
    best = min(_timed(1000) for _ in range(5))
    assert best < 20e-6


def _timed(rounds: int) -> float:
    start = time.perf_counter()
    for _ in range(rounds):
        models.find("gpt-4o")
    return (time.perf_counter() - start) / rounds


@pytest.mark.parametrize(
    ("tagged", "name"), [("qwen3:8b", "qwen3-8b"), ("gpt-oss:20b", "gpt-oss-20b"), ("llama3.1:8b", "llama3.1-8b")]
)
def test_a_size_in_the_tag_of_ollama_is_part_of_the_name(tagged: str, name: str) -> None:
    assert models.find(tagged).window == models.find(name).window
