"""The size of an image, from the first bytes of its file.

image_size(png) -> (640, 480)
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

Size = tuple[int, int]

_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,200},", re.IGNORECASE)
_WRITTEN: Final = re.compile(r'"(?:data:[\w.+-]+/[\w.+-]+;base64,)?([A-Za-z0-9+/]{40,})')
_HEADER_CHARACTERS: Final = 350_000  # enough to get past the metadata that cameras put before a JPEG's frame header


def image_size(data: bytes) -> Size | None:
    """Width and height of a PNG, JPEG, GIF or WebP, or None when the bytes do not say.

    Example: image_size(b"GIF89a" + bytes([2, 0, 3, 0])) -> (2, 3)
    """
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return _positive(int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return _positive(int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp_size(data)
    if data[:2] == b"\xff\xd8":
        return _jpeg_size(data)
    return None


def base64_image_size(text: str) -> Size | None:
    """The size of an image in base64, plain or as a data URL; only its head is decoded.

    Example: base64_image_size("data:image/gif;base64,R0lGODlhAgADAA==") -> (2, 3)
    """
    head = base64_head(text)
    return image_size(head) if head else None


def written_image_size(text: str) -> Size | None:
    """The size of an image embedded in JSON, whatever the API calls its field; None if there is none.

    Example: written_image_size('{"type":"image","source":{"data":"R0lGODlhAgADAA…"}}') -> (2, 3)
    """
    found = _WRITTEN.search(text)
    return image_size(base64_head(found[1])) if found else None


def base64_head(text: str, limit: int = _HEADER_CHARACTERS) -> bytes:
    """The first bytes of base64 text or of a data URL; b"" when it is neither.

    Example: base64_head("aGVsbG8=") -> b"hello"
    """
    prefix = _DATA_URL.match(text)
    start = prefix.end() if prefix else 0
    head = text[start : start + limit]
    head = head[: len(head) // 4 * 4]
    try:
        return base64.b64decode(head)
    except (binascii.Error, ValueError):
        return b""


def base64_length(text: str) -> int:
    """How many bytes base64 text or a data URL stands for.

    Example: base64_length("aGVsbG8=") -> 5
    """
    prefix = _DATA_URL.match(text)
    return (len(text) - (prefix.end() if prefix else 0)) * 3 // 4 - text[-2:].count("=")


def _positive(width: int, height: int) -> Size | None:
    return (width, height) if width > 0 and height > 0 else None


def _webp_size(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and len(data) >= 30:
        return _positive(int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF)
    return None


def _jpeg_size(data: bytes) -> Size | None:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_FRAMES:
            return _positive(int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big"))
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return None
