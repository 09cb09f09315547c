"""Sizes of what has no rule of its own: unknown blocks as their JSON, and files inside them by their kind.

    opaque_tokens({"type": "new_block", "value": 1}, count, rules) -> the tokens of {"type":"new_block","value":1}

A file in base64 does not reach a model as that text. Images, PDFs, audio and video have documented rules, a text
file is counted as its text, office files as text that was compressed, and what is none of them as audio is: a token
for every 125 bytes. Encrypted strings (reasoning, search results) stand for text that the provider reads: a token
for every four characters, which is more than that text can have.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from brim.tokens.framing.values import Count, json_text
from brim.tokens.image_size import base64_head, base64_length, image_size
from brim.tokens.images import Size, audio_seconds, pdf_pages, video_seconds

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{1000}[A-Za-z0-9+/_=\s-]*", re.ASCII)
_ENCRYPTED_KEY: Final = re.compile(r"encrypted|signature$", re.IGNORECASE)
_BYTES_PER_TOKEN: Final = 125
_VIDEO: Final = re.compile(r"video/", re.IGNORECASE)
_AUDIO: Final = re.compile(r"audio/", re.IGNORECASE)
_AUDIO_HEADS: Final = (b"RIFF", b"OggS", b"fLaC", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\xff\xf9")
_VIDEO_HEADS: Final = (b"\x1aE\xdf\xa3", b"\x00\x00\x01\xba")
_DEEPEST: Final = 200


@dataclass(frozen=True, slots=True)
class MediaRules:
    """What one provider charges for files: an image by size, and a page or a second of the others."""

    image: Callable[[Size | None], int]
    page: int
    audio_second: int
    video_second: int


def opaque_tokens(value: Any, count: Count, rules: MediaRules) -> int:
    """Tokens of any JSON value that has no rule of its own.

    Example: opaque_tokens({"type": "x"}, len, rules) -> 12
    """
    files: list[str] = []
    hidden: list[str] = []
    bare = _without_files(value, "", files, hidden, 0)
    size = count(json_text(bare)) + sum(map(encrypted_tokens, hidden))
    return size + sum(file_tokens(text, None, count, rules) for text in files)


def encrypted_tokens(text: str) -> int:
    """Tokens of an encrypted string, on the high side: base64 has four characters for three bytes of text.

    Example: encrypted_tokens("a" * 400) -> 101
    """
    return len(text) // 4 + 1


def file_tokens(text: str, media_type: str | None, count: Count, rules: MediaRules) -> int:
    """Tokens of a file in base64 (or a data URL), by what its first bytes or its media type say it is.

    Example: file_tokens("data:image/gif;base64,R0lGODlhAgADAA==", None, count, rules) -> rules.image((2, 3))
    """
    head = base64_head(text)
    kind = media_type or (text[5:100].partition(",")[0] if text.startswith("data:") else "")
    size = image_size(head)
    if size is not None or kind.startswith("image/"):
        return rules.image(size)
    length = base64_length(text)
    if head.startswith(b"%PDF-"):
        return rules.page * pdf_pages(base64_head(text, len(text)))
    if _VIDEO.match(kind) or head.startswith(_VIDEO_HEADS):
        return rules.video_second * video_seconds(length)
    if _AUDIO.match(kind) or head.startswith(_AUDIO_HEADS):
        return rules.audio_second * audio_seconds(head, length)
    if head[4:8] == b"ftyp":
        return rules.video_second * video_seconds(length)
    if head.startswith(b"PK\x03\x04"):
        return length + 1
    if head and _is_plain_text(head):
        return count(base64_head(text, len(text)).decode("utf-8", "replace"))
    return length // _BYTES_PER_TOKEN + 1


def is_file_text(text: str) -> bool:
    """Whether a string is a long run of base64, or a data URL.

    Example: is_file_text("hello") -> False
    """
    if text.startswith("data:") and ";base64," in text[:200]:
        return True
    return len(text) > 1000 and _BASE64.fullmatch(text) is not None


def _is_plain_text(head: bytes) -> bool:
    """Whether bytes are UTF-8 text; the last character may be cut."""
    if b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4
    return True


def _without_files(value: Any, key: str, files: list[str], hidden: list[str], depth: int) -> Any:
    if isinstance(value, str):
        if _ENCRYPTED_KEY.search(key):
            hidden.append(value)
            return ""
        if is_file_text(value):
            files.append(value)
            return ""
        return value
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        return {name: _without_files(inner, str(name), files, hidden, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_files(inner, key, files, hidden, depth + 1) for inner in value]
    return value
