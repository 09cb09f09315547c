"""Lenient readers of JSON values: a wrong type becomes something that can still be counted."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def json_text(value: Any) -> str:
    """JSON as compact text.

    Example: json_text({"a": 1}) -> '{"a":1}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def as_text(value: Any) -> str:
    """A string as it is, nothing as nothing, anything else as its JSON.

    Example: as_text("a") -> "a"; as_text(None) -> ""; as_text([1]) -> "[1]"
    """
    return value if isinstance(value, str) else "" if value is None else json_text(value)


def as_list(value: Any) -> list[Any]:
    """A list as it is, anything else as an empty one.

    Example: as_list([1]) -> [1]; as_list("a") -> []
    """
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[Json]:
    """The objects of a list.

    Example: objects([{"a": 1}, "b", None]) -> [{"a": 1}]
    """
    return [one for one in as_list(value) if isinstance(one, dict)]
