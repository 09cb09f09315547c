"""The request fields that switch on Anthropic's own context management."""

from __future__ import annotations

from typing import Any

from brim.settings import ContextManagement

BETA = "context-management-2025-06-27"
COMPACT_BETA = "compact-2026-01-12"


def options(wanted: ContextManagement) -> tuple[Any, tuple[str, ...]]:
    """The value of `context_management` (None if there is nothing to do), and the `anthropic-beta` entries it needs."""
    value = edits(wanted)
    return (value or None) and {"edits": value}, (BETA, *((COMPACT_BETA,) if wanted.compact_threshold else ()))


def edits(wanted: ContextManagement) -> list[dict[str, Any]]:
    """The edits to request, in the order that Anthropic requires: thinking comes first.

    Example: ContextManagement(keep=5) -> [{"type": "clear_tool_uses_20250919", "keep": {...}}]
    """
    listed: list[dict[str, Any]] = []
    if wanted.keep_thinking is not None:
        turns = {"type": "thinking_turns", "value": wanted.keep_thinking} if wanted.keep_thinking else "all"
        listed.append({"type": "clear_thinking_20251015", "keep": turns})
    if wanted.clear_tool_uses:
        edit: dict[str, Any] = {"type": "clear_tool_uses_20250919"}
        numbers = {"trigger": "input_tokens", "keep": "tool_uses", "clear_at_least": "input_tokens"}
        for name, unit in numbers.items():
            value = getattr(wanted, name)
            if value is not None:
                edit[name] = {"type": unit, "value": value}
        if wanted.clear_tool_inputs:
            edit["clear_tool_inputs"] = True
        if wanted.exclude_tools:
            edit["exclude_tools"] = list(wanted.exclude_tools)
        listed.append(edit)
    if wanted.compact_threshold is not None:
        trigger = {"type": "input_tokens", "value": wanted.compact_threshold}
        listed.append({"type": "compact_20260112", "trigger": trigger})
    return listed
