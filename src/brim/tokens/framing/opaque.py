"""Sizes of what has no rule of its own: unknown blocks as their JSON, and files inside them by their kind.

    opaque_tokens({"type": "new_block", "value": 1}, count) -> the tokens of {"type":"new_block","value":1}

A file in base64 never reaches a model as text, so it is not counted as text: images, PDFs, audio and video have
documented rules, and what is none of them is charged as audio is, a token for every 125 bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from brim.tokens.image_size import base64_head, base64_length
from brim.tokens.images import Size, audio_seconds, pdf_pages, video_seconds
from brim.tokens.image_size import image_size

Count = Callable[[str], int]

_BASE64: Final = re.compile(r"(?:data:[\w.+-]+/[\w.+-]+[^,]{0,200},)?[A-Za-z0-9+/_-]{1000}[A-Za-z0-9+/_=\s-]*", re.ASCII)
_BYTES_PER_TOKEN: Final = 125
_VIDEO_TYPE: Final = re.compile(r"video/|/(mp4|mpeg|mov|webm|avi)\b", re.IGNORECASE)
_AUDIO_TYPE: Final = re.compile(r"audio/", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MediaRules:
    """What one provider charges for files: an image by size, and a page or a second of the others."""

    image: Callable[[Size | None], int]
    page: int
    audio_second: int
    video_second: int


def json_text(value: Any) -> str:
    """JSON as compact text, the way that providers see it.

    Example: json_text({"a": 1}) -> '{"a":1}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def opaque_tokens(value: Any, count: Count, rules: MediaRules) -> int:
    """Tokens of any JSON value that has no rule of its own.

    Example: opaque_tokens("hi", len, rules) -> 4, the length of the JSON text
    """
    files: list[str] = []
    bare = _without_files(value, files)
    return count(json_text(bare)) + sum(file_tokens(text, None, rules) for text in files)


def file_tokens(text: str, media_type: str | None, rules: MediaRules) -> int:
    """Tokens of a file in base64 (or a data URL), by what its first bytes say it is.

    Example: file_tokens("data:image/gif;base64,R0lGODlhAgADAA==", None, rules) -> rules.image((2, 3))
    """
    head = base64_head(text)
    kind = media_type or (text[:100] if text.startswith("data:") else "")
    size = image_size(head)
    if size is not None or kind.removeprefix("data:").startswith("image/"):
        return rules.image(size)
    length = base64_length(text)
    if head[:5] == b"%PDF-":
        return rules.page * pdf_pages(base64_head(text, len(text)))
    if _VIDEO_TYPE.search(kind) or head[4:8] == b"ftyp":
        return rules.video_second * video_seconds(length)
    if _AUDIO_TYPE.search(kind) or head[:4] in (b"RIFF", b"OggS", b"fLaC") or head[:3] == b"ID3":
        return rules.audio_second * audio_seconds(head, length)
    return length // _BYTES_PER_TOKEN + 1


def is_file_text(text: str) -> bool:
    """Whether a string is a long run of base64, or a data URL of one.

    Example: is_file_text("hello") -> False
    """
    return len(text) > 1000 and _BASE64.fullmatch(text) is not None


def _without_files(value: Any, files: list[str]) -> Any:
    if isinstance(value, str):
        if is_file_text(value):
            files.append(value)
            return ""
        return value
    if isinstance(value, dict):
        return {key: _without_files(inner, files) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_files(inner, files) for inner in value]
    return value
