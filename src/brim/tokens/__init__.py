"""Token counting: tokenizers by family, framing by provider, and the provider's own numbers where they are known."""

from __future__ import annotations

from brim import models
from brim.count_text import CountText
from brim.tokens.tokenizers import tokenizer

__all__ = ["text_counter", "tokenizer"]


def text_counter(model: str) -> CountText:
    """A function that counts plain text for a model. Example: text_counter("gpt-4o")("hello world") -> 2"""
    return tokenizer(models.find(model).family)
