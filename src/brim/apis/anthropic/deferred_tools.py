"""Tools that the provider holds back (`defer_loading`): the model sees their definitions where a search names them.

A `tool_reference` block is such a name. It stands in the result of Anthropic's own tool search, or in that of a tool by
which a client searches itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from brim.apis.json_values import Json
from brim.conversation import Conversation, decode


def is_deferred(tool: Any) -> bool:
    """Example: {"name": "f", "defer_loading": true} -> True"""
    return isinstance(tool, dict) and tool.get("defer_loading") is True


def loaded(conversation: Conversation) -> tuple[tuple[str, int], ...]:
    """The deferred tools that messages refer to, each with the number of references.

    Example: two results that found `move_crane` -> (("move_crane", 2),)
    """
    if b'"defer_loading"' not in (conversation.tools or b""):
        return ()
    found = Counter(
        name
        for message in conversation.messages
        if b'"tool_reference"' in message.raw
        for name in _references(decode(message.raw))
    )
    return tuple(sorted(found.items()))


def shown(tools: list[Any], found: tuple[tuple[str, int], ...]) -> list[Any]:
    """The definitions that the model sees: a deferred one as often as it is referred to."""
    times = dict(found)
    return [tool for tool in tools for _ in range(times.get(_name(tool), 0) if is_deferred(tool) else 1)]


def _name(tool: Json) -> str:
    name = tool.get("name")
    return name if isinstance(name, str) else ""


def _references(value: Any) -> list[str]:
    """The names in a message's blocks, wherever they stand in its results."""
    if isinstance(value, list):
        return [name for one in value for name in _references(one)]
    if not isinstance(value, dict):
        return []
    if value.get("type") == "tool_reference":
        name = value.get("tool_name")
        return [name] if isinstance(name, str) else []
    return [name for key in ("content", "tool_references") for name in _references(value.get(key))]
