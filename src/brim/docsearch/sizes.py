"""How many tokens a text takes, for budgets of what is found."""

from __future__ import annotations

from brim.tokens.tokenizers import tokenizer


def count_tokens(text: str) -> int:
    """Tokens in the vocabulary of current OpenAI models; the tokenizer is loaded at the first call."""
    return tokenizer("o200k")(text)
