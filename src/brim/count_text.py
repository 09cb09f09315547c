"""The type of what counts: every part that shortens or measures text is given one."""

from __future__ import annotations

from collections.abc import Callable

# How many tokens a text has. Example: brim.tokens.tokenizers.tokenizer("o200k") is one.
CountText = Callable[[str], int]
