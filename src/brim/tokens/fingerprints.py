"""Identifies a vocabulary by its token counts of a few texts.

    identify([31, 39, 30, 39, 36, 38, 48]) -> "o200k"

A server that counts on request (llama.cpp, vLLM, SGLang, TGI) need not say which vocabulary it has: scripts, digits,
spaces and code are divided so differently that seven numbers tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from brim.models.families import Family

PROBES: Final = (
    "The quick harbour-master's ledger listed 1234567 crates; 89012 were re-counted on 2031-07-05, unfortunately.",
    "def parse_config(path: str) -> dict[str, int]:\n    with open(path) as file:\n"
    "        return {k: int(v) for k, v in rows(file)}\n\n\treturn None",
    "Größenänderungen überprüfen: l'élève naïf déçoit son maître, mañana habrá más señales, złożoność wzrośnie.",
    "Сегодня погода хорошая, но завтра обещают дождь. Ανοίγουμε το παράθυρο νωρίς το πρωί. שלום לכולם, מה שלומכם היום?",
    "東京は今日も雨が降っています。我们需要检查所有的配置文件。대한민국의 수도는 서울입니다. สวัสดีครับ ยินดีต้อนรับ",
    "مرحبا بالعالم، كيف حالك اليوم؟ नमस्ते दुनिया, आप कैसे हैं? আমি বাংলায় গান গাই। 🚀🔥👩‍💻 ✓ → ∑",
    '{"id":"a3f9c2e17b","items":[{"sku":"XK-2041","qty":17,"price":3.75},{"sku":"","qty":0}],"note":null}'
    "    \n\n\n        end",
)
# Each vocabulary's counts. Vocabularies with the same counts are similar enough to substitute for each other.
COUNTS: Final[dict[Family, tuple[int, ...]]] = {
    "o200k": (31, 39, 30, 39, 36, 38, 48),
    "cl100k": (31, 39, 38, 85, 59, 93, 47),
    "llama-2": (48, 50, 40, 86, 80, 105, 62),
    "llama-3": (31, 39, 38, 58, 38, 68, 47),
    "qwen-3": (42, 39, 37, 61, 42, 73, 52),
    "deepseek-v3": (33, 39, 39, 48, 34, 47, 52),
    "gemma-2": (44, 49, 27, 40, 31, 40, 55),
    "gemma-3": (44, 49, 29, 41, 29, 31, 52),
    "mistral-v1": (48, 50, 45, 87, 70, 91, 63),
    "mistral": (44, 40, 33, 46, 42, 51, 57),
    "kimi-k2": (31, 40, 47, 62, 48, 59, 47),
    "glm-4": (33, 39, 34, 56, 47, 81, 47),
}
# Scripts with combining marks: llama.cpp splits them more often than the vocabularies' makers do.
_MARKED: Final = (4, 5)
_MORE_CUTS: Final = 1.5
# A server may add markers around every text, or count the space before it differently.
_AROUND: Final = range(-1, 4)


def identify(counts: Sequence[int]) -> Family | None:
    """The family with these counts for PROBES; None if no known family matches."""
    return next((family for family, expected in COUNTS.items() if _alike(counts, expected)), None)


def _alike(counts: Sequence[int], expected: Sequence[int]) -> bool:
    pairs = list(zip(counts, expected, strict=True))
    plain = {found - known for place, (found, known) in enumerate(pairs) if place not in _MARKED}
    if len(plain) != 1:
        return False
    around = plain.pop()
    marked = [pairs[place] for place in _MARKED]
    return around in _AROUND and all(known <= found - around <= _MORE_CUTS * known for found, known in marked)
