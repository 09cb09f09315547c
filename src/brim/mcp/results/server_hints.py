"""Hints that a server repeats in its results: shown occasionally and in short, because a model needs them only once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from brim.mcp.transport.json_rpc import RpcObject, dump, parse

# Characters of a shown hint: the advice itself, without its introduction.
LONGEST = 72
# How deep in an answer to look for hints, and the longest text to examine.
_DEEPEST, _LARGEST = 3, 4 << 20


def throttled(result: RpcObject, names: Collection[str], *, show: bool) -> RpcObject:
    """The result without the hints in these fields, or with short ones if they are due; unchanged if it has none.

    Example: {"results": […], "agentic_hint": "REJOINDER: use search(), not grep"} -> {"results": […]}
    """
    if not names:
        return result
    made = dict(result)
    content = result.get("content")
    if isinstance(content, list):
        made["content"] = [_block(block, names, show) for block in content]
    structured = result.get("structuredContent")
    if isinstance(structured, dict):
        made["structuredContent"] = _without(structured, names, show, 0)
    return result if made == result else made


def _block(block: Any, names: Collection[str], show: bool) -> Any:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    if not isinstance(text, str) or len(text) > _LARGEST or text.lstrip()[:1] not in ("{", "["):
        return block
    if not any(f'"{name}"' in text for name in names):
        return block
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return block
    made = _without(value, names, show, 0)
    return block if made == value else {**block, "text": dump(made).decode()}


def _without(value: Any, names: Collection[str], show: bool, depth: int) -> Any:
    if depth > _DEEPEST or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return [_without(one, names, show, depth + 1) for one in value]
    made: dict[str, Any] = {}
    for name, one in value.items():
        if name not in names:
            made[name] = _without(one, names, show, depth + 1)
        elif show:
            made[name] = shortened(one) if isinstance(one, str) else one
    return made


def shortened(hint: str) -> str:
    """A hint in one short line, without its label. Example: "REJOINDER: search() replaces grep." -> "search() …" """
    label, mark, rest = hint.partition(": ")
    line = " ".join((rest if mark and label.isupper() else hint).split())
    if len(line) <= LONGEST:
        return line
    cut = line[: LONGEST - 1]
    return (cut[: cut.rfind(" ")] if " " in cut else cut) + "…"
