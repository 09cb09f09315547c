"""What a prompt cache is worth, by provider and model."""

from __future__ import annotations

import pytest

from brim import models
from brim.models.caching import caching_of


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("gpt-4o", 1_024),
        ("claude-sonnet-4-5", 1_024),
        ("claude-opus-4-1", 1_024),
        ("claude-haiku-4-5", 4_096),
        ("claude-opus-4-5", 4_096),
        ("gemini-2.5-flash", 1_024),
        ("gemini-2.5-pro", 4_096),
        ("deepseek-chat", 64),
    ],
)
def test_shorter_prefixes_than_the_provider_caches_are_worth_nothing(model: str, least: int) -> None:
    assert caching_of(models.find(model)).least == least


def test_what_is_lost_with_a_cache_is_the_difference_of_its_prices() -> None:
    half, tenth, none = (caching_of(models.find(name)) for name in ("gpt-4o", "claude-sonnet-4-5", "gpt-4"))
    assert half.lost(1_000) == pytest.approx(500)
    assert tenth.lost(1_000) == pytest.approx(1_150)
    assert none.lost(1_000) == 0
