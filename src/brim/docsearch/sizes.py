"""How many tokens a text takes, for budgets of search results."""

from __future__ import annotations

from functools import cache

import splintr


@cache
def _tokenizer() -> splintr.AnyTokenizer:
    return splintr.Tokenizer.from_pretrained("o200k_base")


def count_tokens(text: str) -> int:
    return len(_tokenizer().encode(text.encode("utf-8", "replace").decode()))
