"""Reads fields of an upstream's answers and events; a value of the wrong type counts as missing."""

from __future__ import annotations

from typing import Any

from brim.conversation import decode


def inner(value: Any, key: str) -> dict[str, Any]:
    """The object under a key. Example: inner({"delta": None}, "delta") -> {}"""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def objects(value: Any, key: str) -> list[dict[str, Any]]:
    """The objects of the list under a key. Example: objects({"choices": [{}, 1]}, "choices") -> [{}]"""
    found = value.get(key) if isinstance(value, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def text_of(value: Any, key: str) -> str:
    """The text under a key. Example: text_of({"content": None}, "content") -> "" """
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def number_of(value: Any, key: str) -> int:
    """The number under a key. Example: number_of({"index": 2}, "index") -> 2; number_of({}, "index") -> 0"""
    found = value.get(key) if isinstance(value, dict) else None
    return found if type(found) is int else 0


def arguments_of(text: str) -> Any:
    """The arguments that a model wrote; empty if they aren't JSON."""
    try:
        return decode(text.encode("utf-8", "surrogatepass")) if text else {}
    except (ValueError, RecursionError):
        return {}
