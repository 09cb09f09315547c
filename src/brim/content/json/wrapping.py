"""Texts inside texts: JSON inside a string, and base64 of readable text.

A wrapping is exact: it is only used if wrapping the value again gives the same string to the byte.

Example: unwrap_json('{"a": 1}') -> Wrapped("json", {"a": 1});  unwrap_base64("aGVsbG8=") -> ("b64", "hello")
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brim.content.json.exact import load
from brim.errors import NotDecodable

_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}\Z")
_READABLE = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*\Z")
_STYLE = re.compile(r"json([0-9]?)(a?)\Z")
_DECODER = json.JSONDecoder()
_LEAST_INSIDE = 80
_AROUND = ([True, False, True], [True, True, True])
_MAX_NESTED = 2_000_000


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A value that was written as text in a certain `style`."""

    style: str
    value: Any


def unwrap_json(text: str) -> Wrapped | None:
    """Return the object or list that `text` is or contains, if one of the styles reproduces `text`.

    Example: unwrap_json('Found:\n[1, 2]') -> Wrapped("+json", ["Found:\n", [1, 2], ""])
    """
    if len(text) > _MAX_NESTED:
        return None
    if text[0] in "{[":
        return _unwrap_whole(text)
    start = min((at for at in (text.find("\n{"), text.find("\n[")) if at >= 0), default=-1) + 1
    if not start:
        return None
    try:
        _, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    inner = _unwrap_whole(text[start:end]) if end - start > _LEAST_INSIDE else None
    if inner is None:
        return None
    return Wrapped("+" + inner.style, [text[:start], inner.value, text[end:]])


def _unwrap_whole(text: str) -> Wrapped | None:
    try:
        value = load(text).value
    except ValueError:
        return None
    if not isinstance(value, dict | list) or not value:
        return None
    for style in _styles(text):
        if wrap_json(style, value) == text:
            return Wrapped(style, value)
    return None


def _styles(text: str) -> Sequence[str]:
    escaped = "a" if "\\u" in text else ""
    if text[1:2] == "\n":
        indent = len(text) - len(text[2:].lstrip(" ")) - 2
        return (f"json{indent}{escaped}",) if 0 < indent < 9 else ()
    return (f"json{escaped}", f"json0{escaped}")


def wrap_json(style: str, value: Any) -> str:
    """Write a value as text: `json` like Python's default, `json0` without blanks, `json2` indented by 2.

    A trailing `a` writes only ASCII; a leading `+` joins the text before, the JSON, and the text after it.
    """
    if style.startswith("+"):
        if not isinstance(value, list) or [type(part) is str for part in value] not in _AROUND:
            raise NotDecodable("a text around JSON needs three parts")
        return str(value[0]) + wrap_json(style[1:], value[1]) + str(value[2])
    found = _STYLE.match(style)
    if found is None:
        raise NotDecodable(f"unknown wrapping {style!r}")
    separators = (",", ":") if found[1] == "0" else None
    indent = int(found[1]) if found[1] not in ("", "0") else None
    try:
        return json.dumps(value, ensure_ascii=bool(found[2]), separators=separators, indent=indent)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotDecodable(f"no JSON text can be made here: {error}") from error


def unwrap_base64(text: str) -> tuple[str, str] | None:
    """Return the style and the readable text inside base64, which has lines of one width or a single line."""
    width = text.find("\n")
    style = "b64" if width < 0 else f"b64/{width}"
    joined = text.replace("\n", "") if width >= 0 else text
    if len(joined) % 4 or (not _BASE64.match(joined[:4096]) and len(joined) <= 4096):
        return None
    try:
        plain = base64.b64decode(joined, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    if not _READABLE.match(plain) or wrap_base64(style, plain) != text:
        return None
    return style, plain


def wrap_base64(style: str, plain: str) -> str:
    """Write a text as base64; `b64/60` has lines of 60 characters, with a line break after the last."""
    coded = base64.b64encode(plain.encode()).decode()
    if style == "b64":
        return coded
    try:
        width = int(style[4:])
    except ValueError as error:
        raise NotDecodable(f"unknown wrapping {style!r}") from error
    if width < 1:
        raise NotDecodable(f"unknown wrapping {style!r}")
    return "".join(coded[at : at + width] + "\n" for at in range(0, len(coded), width))
