"""Counts tokens for the budgets of search results."""

from __future__ import annotations

from brim.tokens.tokenizers import tokenizer


def count_tokens(text: str) -> int:
    """Tokens in the vocabulary of current OpenAI models; the tokenizer is loaded on the first call."""
    return tokenizer("o200k")(text)
