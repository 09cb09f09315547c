"""The type of token counters, which everything that shortens or measures text takes as an argument."""

from __future__ import annotations

from collections.abc import Callable

# Returns the number of tokens in a text. Example: brim.tokens.tokenizers.tokenizer("o200k") is one.
CountText = Callable[[str], int]
