"""Comparing the tokens of two forms of one content."""

from __future__ import annotations

from brim.tokens.tokenizers import tokenizer


def lightest(texts: list[str]) -> str:
    """Return the text with the fewest tokens, the first of equals.

    Today's vocabularies agree on which of two forms of one content is smaller unless they are nearly equal, so
    one of them decides for all; far shorter ones win without being counted.
    """
    best = texts[0]
    for text in texts[1:]:
        if len(text) * 4 < len(best) * 3:
            best = text
        elif len(best) * 4 >= len(text) * 3:
            count = tokenizer("o200k")
            best = text if count(text) < count(best) else best
    return best
