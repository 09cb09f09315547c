"""Sizes of blocks without a rule of their own: counted as JSON, with the media inside them by kind.

    opaque_tokens({"type": "new_block", "value": 1}, count, rules) -> the tokens of {"type":"new_block","value":1}

Text is text, whatever it looks like: a string is media only inside a media part such as `{"type": "image", …}` that
states its media type. Call arguments, tool results and shell output are counted in full, base64 or not.

A file in base64 does not reach a model as that text. Images, PDFs, audio and video have documented rules, a text
file is counted as its text, office files as text that was compressed, and what is none of them as audio is: a token
for every 125 bytes. Encrypted strings (reasoning, search results) stand for text that the provider reads: a token
for every four characters, which is more than that text can have.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from brim.apis.image_size import Size, base64_head, base64_length, image_size
from brim.apis.json_values import json_text
from brim.apis.media_tokens import audio_seconds, pdf_pages, video_seconds
from brim.count_text import CountText

# Names of parts that hold media, and of the fields inside such a part that hold the file.
_MEDIA_PART: Final = re.compile(
    r"(?:input_|output_)?(?:image|picture|audio|video|file|document|media)(?:_url|_file|_data)?"
)
_FILE_FIELD: Final = re.compile(r"(?:data|blob|bytes|base64|url|uri|src|image|picture|audio|video)(?:_url)?|file_data")
_MEDIA_URL: Final = re.compile(r"data:(?:image|audio|video)/[\w.+-]+[;,]|data:application/pdf[;,]", re.IGNORECASE)
_MEDIA_TYPE: Final = re.compile(r"(?:image|audio|video)/[\w.+-]+|application/pdf", re.IGNORECASE)
_TYPE_FIELDS: Final = ("media_type", "mime_type", "mimeType", "mediaType")
# Fields that the providers' servers encrypt: encrypted_content, encrypted_index, encrypted_stdout.
_SEALED: Final = "encrypted_"
# Fields that hold the caller's own JSON; the names inside mean nothing to the provider.
_FREE_FORM: Final = frozenset(
    {"input", "arguments", "args", "parameters", "input_schema", "schema", "output", "response", "attributes"}
)
_BYTES_PER_TOKEN: Final = 125
_VIDEO: Final = re.compile(r"video/", re.IGNORECASE)
_AUDIO: Final = re.compile(r"audio/", re.IGNORECASE)
_AUDIO_HEADS: Final = (b"RIFF", b"OggS", b"fLaC", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\xff\xf9")
_VIDEO_HEADS: Final = (b"\x1aE\xdf\xa3", b"\x00\x00\x01\xba")
_DEEPEST: Final = 200


@dataclass(frozen=True, slots=True)
class MediaRules:
    """What one provider charges for files: images by size, documents by page, audio and video by second."""

    image: Callable[[Size | None], int]
    page: int
    audio_second: int
    video_second: int


def opaque_tokens(value: Any, count: CountText, rules: MediaRules) -> int:
    """Tokens of a block that has no rule of its own.

    Example: opaque_tokens({"type": "x"}, len, rules) -> 12
    """
    found = _Found([], [])
    bare = _without_files(value, "", found, media=False, depth=0)
    size = count(json_text(bare)) + sum(map(encrypted_tokens, found.sealed))
    return size + sum(file_tokens(text, kind, count, rules) for text, kind in found.files)


def encrypted_tokens(text: str) -> int:
    """Tokens of an encrypted string, on the high side: base64 has four characters for three bytes of text.

    Example: encrypted_tokens("a" * 400) -> 101
    """
    return len(text) // 4 + 1


def file_tokens(text: str, media_type: str | None, count: CountText, rules: MediaRules) -> int:
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


def _is_plain_text(head: bytes) -> bool:
    """Whether bytes are UTF-8 text; the last character may be incomplete."""
    if b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4
    return True


class _Found(NamedTuple):
    """What a block holds besides text: files with their media types, and encrypted strings."""

    files: list[tuple[str, str | None]]
    sealed: list[str]


def _without_files(value: Any, key: str, found: _Found, *, media: bool, depth: int) -> Any:
    """`value` without its media and sealed strings; `media` says whether a part around it is one of media."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_without_files(inner, key, found, media=media, depth=depth + 1) for inner in value]
    if not isinstance(value, dict):
        return value
    media = media or _names_media(key) or _names_media(value.get("type"))
    declared = next((value[name] for name in _TYPE_FIELDS if name in value), None)
    bare: dict[str, Any] = {}
    for name, inner in value.items():
        if name in _FREE_FORM:
            bare[name] = inner
        elif not isinstance(inner, str):
            bare[name] = _without_files(inner, str(name), found, media=media, depth=depth + 1)
        elif str(name).startswith(_SEALED):
            found.sealed.append(inner)
            bare[name] = ""
        elif (media or _names_media(name)) and _FILE_FIELD.fullmatch(str(name)) and _is_media(inner, declared):
            found.files.append((inner, None if inner[:5] == "data:" else declared))
            bare[name] = ""
        else:
            bare[name] = inner
    return bare


def _names_media(name: Any) -> bool:
    return isinstance(name, str) and _MEDIA_PART.fullmatch(name) is not None


def _is_media(text: str, declared: Any) -> bool:
    """Whether a string is a media file: a data URL that says so, or base64 beside a media type that does."""
    if _MEDIA_URL.match(text):
        return True
    return isinstance(declared, str) and _MEDIA_TYPE.fullmatch(declared) is not None
