"""Which texts hold which strings, whatever the case of their letters: looked for in one pass where that is compiled.

holders(["I like tea", "The dogs ran off"], ["dog", "t"]) -> [[1], [0, 1]]
"""

from __future__ import annotations

try:
    from brim.plan.relevance import _find as _compiled
except ImportError:  # installed without a compiler
    _compiled = None  # type: ignore[assignment]


def holders(texts: list[str], strings: list[str]) -> list[list[int]]:
    """For each string, which is in lower case, the numbers of the texts that hold it."""
    return plain_holders(texts, strings) if _compiled is None else _compiled.holders(texts, strings)


def plain_holders(texts: list[str], strings: list[str]) -> list[list[int]]:
    """The same in plain Python."""
    lowered = [text.lower() for text in texts]
    return [[number for number, text in enumerate(lowered) if string in text] for string in strings]
