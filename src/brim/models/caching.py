"""What a provider's prompt cache is worth: the shortest prefix it keeps, and what reading from it costs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from brim.models.model import Model

# The shortest prefix that is cached, in tokens, as the providers document it (2026); the first pattern that is found
# in the model's name decides. No model has one that is shorter than the last of its provider.
_LEAST: dict[str, tuple[tuple[str, int], ...]] = {
    "anthropic": (
        (r"haiku-4[.-]5|4[.-]5-haiku|opus-4[.-][56]\b|4[.-][56]-opus", 4_096),
        (r"haiku|opus-4[.-]7", 2_048),
        (r"", 1_024),
    ),
    "google": ((r"flash", 1_024), (r"", 4_096)),
    "deepseek": ((r"", 64),),
}
_USUAL = 1_024
# Seconds after which an unused prefix is certainly gone, as the providers document it (2026): Anthropic keeps one
# for 5 minutes, OpenAI removes it within an hour at the latest, DeepSeek within days. Others say less than an hour.
_LASTS = {"anthropic": 300.0, "deepseek": 259_200.0}
_AN_HOUR = 3_600.0
# A client may ask for longer: Anthropic has `ttl` in `cache_control`, OpenAI `prompt_cache_retention`.
_LONGER = ((re.compile(rb'"ttl"\s*:\s*"1h"'), _AN_HOUR), (re.compile(rb'^"24h"$'), 86_400.0))
# Defaults for unknown prices, relative to fresh input: what most providers charge for cached input and for output.
_READING, _ANSWERING = 0.1, 4.0


@dataclass(frozen=True, slots=True)
class Caching:
    """Prices as shares of what a token of fresh input costs; prefixes shorter than `least` are never cached.

    `reading` is 1 if cached input costs as much as fresh input, so that a cache miss costs nothing.
    """

    least: int
    reading: float
    writing: float
    answering: float
    lasts: float = _AN_HOUR
    """Seconds after which what nobody used is no longer in the cache."""

    def lost(self, tokens: int) -> float:
        """The cost, in tokens of fresh input, of sending tokens again that could have come from the cache."""
        return tokens * max(0.0, self.writing - self.reading)


def kept_for(caching: Caching, *asked: bytes) -> float:
    """Seconds for which a prefix is kept; a request may ask for longer in one of its fields.

    Example: kept_for(caching_of(claude), b'{"cache_control":{"type":"ephemeral","ttl":"1h"}}') -> 3600.0
    """
    longer = [seconds for pattern, seconds in _LONGER if any(pattern.search(raw) for raw in asked)]
    return max([caching.lasts, *longer])


def caching_of(model: Model) -> Caching:
    """What the cache of a model's provider is worth.

    Example: caching_of(find("claude-sonnet-4-5")) -> Caching(least=1024, reading=0.1, …, lasts=300.0)
    """
    prices = model.prices
    lasts = _LASTS.get(_provider(model), _AN_HOUR)
    if prices is None or prices.fresh <= 0:
        return Caching(_least(model), _READING, 1.0, _ANSWERING, lasts)
    reading = prices.fresh if prices.cached is None else prices.cached
    writing = prices.fresh if prices.written is None else prices.written
    return Caching(_least(model), reading / prices.fresh, writing / prices.fresh, prices.output / prices.fresh, lasts)


def _provider(model: Model) -> str:
    return {"anthropic": "anthropic", "gemini": "google"}.get(model.api, model.provider)


def _least(model: Model) -> int:
    rows = _LEAST.get(_provider(model), ())
    return next((tokens for pattern, tokens in rows if re.search(pattern, model.name)), _USUAL)
