"""The tokens that images, documents, audio and video cost, by the providers' published rules.

    openai_image_tokens(1024, 1024, "high", "gpt-4o") -> 765

Sizes are read from the file's own header, so no imaging library is needed. Where the size cannot be known (an
image by URL) the answer is the most that the model charges for one image.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tiles:
    """OpenAI's older rule: a base, plus an amount for each 512-pixel tile."""

    base: int
    tile: int


@dataclass(frozen=True, slots=True)
class Patches:
    """OpenAI's newer rule: 32-pixel patches up to a budget, times a factor. `original` is the budget of detail auto."""

    factor: float
    budget: int = 1536
    original: int = 1536


# The first matching prefix wins. https://platform.openai.com/docs/guides/images-vision (calculating costs); for
# gpt-5-mini and gpt-5-nano use the documented factors: they are above what was measured, so counts are never low.
_OPENAI: Final[tuple[tuple[str, Tiles | Patches], ...]] = (
    ("gpt-4o-mini", Tiles(2833, 5667)),
    ("gpt-4.1-mini", Patches(1.62)),
    ("gpt-4.1-nano", Patches(2.46)),
    ("gpt-5-mini", Patches(1.62)),
    ("gpt-5-nano", Patches(2.46)),
    ("o4-mini", Patches(1.72)),
    ("codex-mini", Patches(1.72)),
    ("gpt-5.2", Patches(1.2)),
    ("gpt-5.3", Patches(1.2)),
    ("gpt-5.1", Tiles(70, 140)),
    ("gpt-5.", Patches(1.2, 2500, 10_000)),
    ("gpt-5", Tiles(70, 140)),
    ("computer-use", Tiles(65, 129)),
    ("o1", Tiles(75, 150)),
    ("o3", Tiles(75, 150)),
    ("gpt-4", Tiles(85, 170)),
    ("chatgpt-4o", Tiles(85, 170)),
    ("gpt-3.5", Tiles(85, 170)),
    ("gpt-35", Tiles(85, 170)),
    # No budget is known for these with detail auto; 20,000 patches is an image of 20 megapixels.
    ("gpt-", Patches(1.2, 2500, 20_000)),
)
_OPENAI_UNKNOWN: Final = Patches(1.2, 2500, 20_000)
_MOST_TILES: Final = 8  # 2048 x 768 after scaling: 4 x 2


def openai_image_tokens(width: int | None, height: int | None, detail: str | None, model: str) -> int:
    """Tokens of one image in an OpenAI request; `None` sizes give the model's largest charge.

    Example: (1024, 1024, "high", "gpt-4o") -> 765; (1024, 1024, "low", "gpt-4o") -> 85
    """
    rule = next((rule for prefix, rule in _OPENAI if model.startswith(prefix)), _OPENAI_UNKNOWN)
    if isinstance(rule, Tiles):
        if detail == "low":
            return rule.base
        tiles = _MOST_TILES if width is None or height is None else _tiles(width, height)
        return rule.base + rule.tile * tiles
    budget = rule.budget if detail in ("low", "high") else rule.original
    return math.ceil(rule.factor * _patches(width, height, 32, budget))


def _tiles(width: int, height: int) -> int:
    """512-pixel tiles after scaling down into 2048 x 2048 and to 768 on the short side; nothing is scaled up."""
    scale = min(1.0, 2048 / max(width, height, 1))
    scale = min(scale, 768 / max(min(width, height), 1))
    # Rounding up a scaled side could only add a pixel; the tolerance keeps 768.0000001 at 768.
    across, down = (max(1, math.ceil(side * scale / 512 - 1e-9)) for side in (width, height))
    return across * down


def _patches(width: int | None, height: int | None, patch: int, budget: int) -> int:
    if width is None or height is None:
        return budget
    return min(budget, max(1, math.ceil(width / patch)) * max(1, math.ceil(height / patch)))


# Claude: one token for each 28-pixel square, long sides scaled down to a limit, and a note of about 40 tokens
# that tells the model the original size when the image was scaled. From measurements of count_tokens at ten sizes.
_CLAUDE_PATCH: Final = 28
_CLAUDE_NOTE: Final = 40
_CLAUDE_VERSION: Final = re.compile(r"(?<![\d.])(\d)(?:[.-](\d{1,2}))?(?!\d)")


def claude_version(model: str) -> tuple[int, int]:
    """The version inside a Claude model name; (99, 0) when there is none, which takes the newest rules.

    Example: "claude-opus-4-7-20260101" -> (4, 7); "claude-3-5-haiku-latest" -> (3, 5); "claude-sonnet-5" -> (5, 0)
    """
    found = _CLAUDE_VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)


def anthropic_image_tokens(width: int | None, height: int | None, model: str) -> int:
    """Tokens of one image in an Anthropic request.

    Example: (1024, 1024, "claude-haiku-4-5") -> 1369; (None, None, "claude-haiku-4-5") -> 1608
    """
    version = claude_version(model)
    if version < (4, 7):
        edge, most = 1568, 1568
    elif version < (5, 5):
        edge, most = 2576, 4784
    else:
        edge, most = 2016, 5184
    if width is None or height is None:
        return most + _CLAUDE_NOTE
    scale = min(1.0, edge / max(width, height, 1))
    across, down = (max(1, math.ceil(side * scale / _CLAUDE_PATCH - 1e-9)) for side in (width, height))
    tokens = across * down
    if version < (4, 5):  # the older documented rule, if it gives more
        tokens = max(tokens, math.ceil(width * scale * height * scale / 750))
    return min(tokens, most) + (_CLAUDE_NOTE if scale < 1.0 or tokens > most else 0)


_GEMINI_TILE: Final = 258
_GEMINI_LARGEST: Final = 16 * _GEMINI_TILE  # 3072 x 3072 pixels, four 768-pixel tiles a side
_GEMINI_3: Final = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}


def gemini_image_tokens(width: int | None, height: int | None, model: str, resolution: str | None = None) -> int:
    """Tokens of one image in a Gemini request; `resolution` is a media_resolution such as MEDIA_RESOLUTION_LOW.

    Example: (300, 300, "gemini-2.5-pro") -> 258; (4000, 3000, "gemini-3-pro") -> 1120
    """
    level = (resolution or "").lower().removeprefix("media_resolution_")
    if not re.search(r"gemini-(1|2)(\D|$)", model):
        return _GEMINI_3.get(level, _GEMINI_3["high"])
    if level == "low":
        return 64
    if width is None or height is None:
        return _GEMINI_LARGEST
    if width <= 384 and height <= 384:
        return _GEMINI_TILE
    unit = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return min(_GEMINI_LARGEST, math.ceil(width / unit) * math.ceil(height / unit) * _GEMINI_TILE)


_PDF_PAGE: Final = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_PDF_COUNT: Final = re.compile(rb"/Count\s+(\d{1,5})")
_PDF_BYTES_PER_PAGE: Final = 4_000
_PDF_MOST_PAGES: Final = 1_000


def pdf_pages(data: bytes) -> int:
    """Pages of a PDF: from its page tree, or a page for every 4,000 bytes if the tree is compressed.

    Example: pdf_pages(b"%PDF-1.4 /Type /Pages /Count 3") -> 3
    """
    stated = max((int(count) for count in _PDF_COUNT.findall(data)), default=0)
    pages = max(stated, len(_PDF_PAGE.findall(data)))
    return min(_PDF_MOST_PAGES, pages or math.ceil(len(data) / _PDF_BYTES_PER_PAGE) or 1)


# Bytes a second of poor but common encodings: a better encoding has more bytes, so this overestimates the seconds.
_AUDIO_BYTES_PER_SECOND: Final = 4_000
_VIDEO_BYTES_PER_SECOND: Final = 32_000


def audio_seconds(data: bytes, size: int | None = None) -> int:
    """Seconds of an audio file, from a WAV header or, for the compressed formats, on the high side from its size.

    Example: audio_seconds(b"", 40_000) -> 10
    """
    total = len(data) if size is None else size
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE" and len(data) >= 32:
        rate = int.from_bytes(data[28:32], "little")
        if rate > 0:
            return math.ceil(total / rate)
    return math.ceil(total / _AUDIO_BYTES_PER_SECOND)


def video_seconds(size: int) -> int:
    """Seconds of a video of `size` bytes, on the high side.

    Example: video_seconds(320_000) -> 10
    """
    return math.ceil(size / _VIDEO_BYTES_PER_SECOND)
