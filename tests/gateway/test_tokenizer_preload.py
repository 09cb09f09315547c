"""Tokenizers that are loaded at the start: the likely ones, and no more."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from brim import settings
from brim.gateway.fitting.fitter import Fitter
from brim.gateway.server.options import options_of
from brim.gateway.server.tokenizer_preload import MOST_FAMILIES, Warming
from brim.stores.inmemory import InMemoryStore
from brim.tokens.actuals import UsageRecord

from .conftest import Start
from .test_faults import until


def used(*models: str) -> InMemoryStore:
    """A store with requests to these models, the last one the newest."""
    store = InMemoryStore()
    for number, model in enumerate(models):
        store.add_usage(UsageRecord(f"r{number}", time.time() + number, "upstream", model, 10, 20))
    return store


@pytest.mark.parametrize(
    ("models", "families"),
    [
        ((), []),
        (("nobody-knows-this-1",), []),
        (("gpt-4o", "gpt-4.1", "gpt-4o"), ["o200k"]),
        (("gpt-4o", "gemini-2.5-pro", "gpt-4"), ["cl100k", "gemma-3"]),
    ],
)
def test_the_families_of_the_models_that_were_used_last_are_likely(
    tmp_path: Path, models: tuple[str, ...], families: list[str]
) -> None:
    options = options_of(settings.load(tmp_path, {}))
    fitter = Fitter(options.policy, options.catalog(), used(*models))
    assert Warming(fitter, options).families() == families
    assert len(families) <= MOST_FAMILIES


def test_models_that_the_settings_name_are_likely_and_patterns_say_nothing(tmp_path: Path) -> None:
    upstreams = {"here": {"base_url": "http://127.0.0.1:9", "api": "openai_chat", "models": ["gpt-4o", "claude-*"]}}
    options = options_of(settings.load(tmp_path, {}, upstreams=upstreams))
    fitter = Fitter(options.policy, options.catalog(), InMemoryStore())
    assert Warming(fitter, options).families() == ["o200k"]


def test_a_gateway_that_starts_again_has_its_tokenizer_before_the_first_request(start: Start) -> None:
    running = start(store=used("gpt-4o"))
    until(lambda: running.gateway.fitter._loaded == {"o200k"})
