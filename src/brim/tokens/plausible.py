"""Checks whether a vocabulary could produce the reported number of tokens from a text, before the report is believed.

A report is plausible if one of the vocabularies at hand could have given it. `scripts/measure-bands` counts the same
texts by all of them; the numbers below are what it printed for 639 texts (docs/counting.md#what-is-believed).
"""

from __future__ import annotations

from typing import Final

# How many tokens the coarsest and the finest of 24 vocabularies need per token of this one, over whole texts.
_APART: Final[dict[str, tuple[float, float]]] = {
    "o200k": (0.81, 2.69),
    "gpt-oss": (0.81, 2.69),
    "cl100k": (0.34, 2.18),
    "phi-4": (0.34, 2.18),
    "llama-2": (0.30, 1.75),
    "llama-3": (0.46, 2.18),
    "qwen-2": (0.43, 2.16),
    "qwen-3": (0.43, 2.16),
    "deepseek-v3": (0.67, 2.29),
    "gemma-2": (0.58, 2.56),
    "gemma-3": (0.58, 3.28),
    "mistral-v1": (0.35, 1.80),
    "mistral": (0.60, 2.12),
    "kimi-k2": (0.53, 2.35),
    "glm-4": (0.39, 2.18),
    "claude-3": (0.38, 1.71),
    "claude-4.7": (0.38, 1.67),
    "claude-4.8": (0.38, 1.67),
}
_FARTHEST: Final = (min(low for low, _ in _APART.values()), max(high for _, high in _APART.values()))
# Tolerance for texts beyond those that were measured.
_BEYOND: Final = 0.1
# The framing of a message: 3 to 5 tokens where published, up to 11 in templates of open models.
FRAME: Final = 8
# An undocumented preamble of the prompt: a template's default system message has 20 to 30 tokens.
PREAMBLE: Final = 32
# Smaller requests say more about framing than about text.
TELLING: Final = 64


def frames(messages: int) -> int:
    """The tokens by which framing may differ for so many messages."""
    return FRAME * messages + PREAMBLE


def plausible(family: str, counted: float, messages: int, size: int, actual: float) -> bool:
    """Whether `actual` tokens can be what a provider made of `size` bytes that `family` counts as `counted` tokens.

    No byte-level vocabulary needs more than a token for a byte: the most that was measured is 0.94.

    Example: ("o200k", 1_000, 4, 5_000, 60_000) -> False; ("o200k", 1_000, 4, 5_000, 1_100) -> True
    """
    low, high = _APART.get(family, _FARTHEST)
    most = min(counted * high * (1 + _BEYOND), size) + frames(messages)
    return _least(counted * low, messages) <= actual <= most


def plausible_unknown(likely: float, messages: int, size: int, actual: float) -> bool:
    """The same for an unknown vocabulary, if a known one gives `likely` tokens. The bytes are the ceiling."""
    low, _ = _APART["o200k"]
    return _least(likely * low, messages) <= actual <= size + frames(messages)


def _least(tokens: float, messages: int) -> float:
    """What is left at least where nothing stands around messages; of short ones that is most."""
    return max(1.0, tokens * (1 - _BEYOND) - min(FRAME * messages, tokens / 2))
