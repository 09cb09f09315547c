"""Puts many tools behind a few: groups, fixed meta-tools, and virtual tools that open and close."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from brim.count_text import CountText
from brim.mcp.tools.definition_shrinking import first_sentences, tidy
from brim.mcp.transport.json_rpc import RpcObject

FIND, DESCRIBE, CALL = "brim_find", "brim_describe", "brim_call"
RECALL, QUERY = "brim_recall", "brim_query"
OPEN, CLOSE = "brim_open_", "brim_close_"
_READ_ONLY: RpcObject = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_PART = re.compile(r"[_\-.:/]+|(?<=[a-z0-9])(?=[A-Z])")
_SMALLEST = 3
_INDEX_SHARE = 0.035


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Tools that belong together."""

    name: str
    tools: tuple[str, ...]


def groups(names: Sequence[str], owners: Sequence[str] | None = None) -> list[ToolGroup]:
    """Group tools by server if there are several, otherwise by the first part of their names.

    Example: ["git_log", "git_diff", "git_add", "ping"] -> [Group("git", …), Group("other", ("ping",))]
    """
    by_name: dict[str, list[str]] = {}
    several = owners is not None and len(set(owners)) > 1
    for place, name in enumerate(names):
        group = owners[place] if several and owners is not None else _PART.split(name, maxsplit=1)[0].lower()
        by_name.setdefault(group or "other", []).append(name)
    if several:
        return [ToolGroup(group, tuple(tools)) for group, tools in by_name.items()]
    found = [ToolGroup(group, tuple(tools)) for group, tools in by_name.items() if len(tools) >= _SMALLEST]
    rest = tuple(name for group, tools in by_name.items() if len(tools) < _SMALLEST for name in tools)
    return [*found, ToolGroup("other", rest)] if rest else found


def find_tool(tool_groups: Sequence[ToolGroup], full_tokens: int, count: CountText) -> RpcObject:
    """The search tool. Its description names every tool when that costs little, else every group."""
    total = sum(len(group.tools) for group in tool_groups)
    index = "\n".join(f"{group.name}: {', '.join(_short(group))}" for group in tool_groups)
    if count(index) > full_tokens * _INDEX_SHARE:
        index = ", ".join(f"{group.name} ({len(group.tools)})" for group in tool_groups)
        index = first_sentences(index, max(int(full_tokens * _INDEX_SHARE), 200), count)
    return {
        "name": FIND,
        "description": (
            f"Search the {total} tools that are reached through {CALL}; returns names, what they do and their "
            f"arguments. Groups and tools:\n{index}"
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what the tool should do, or its name"},
                "limit": {"type": "integer", "description": "default 5"},
            },
            "required": ["query"],
        },
        "annotations": dict(_READ_ONLY),
    }


def _short(group: ToolGroup) -> list[str]:
    """Tool names without the prefix that equals the group's name."""
    shorts = []
    for name in group.tools:
        cut = name.removeprefix(f"{group.name}__")
        shorts.append(cut or name)
    return shorts


def describe_tool() -> RpcObject:
    return {
        "name": DESCRIBE,
        "description": "The full description and input schema of a tool, where a list shows a short one.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "the tool's name, or several with commas"}},
            "required": ["name"],
        },
        "annotations": dict(_READ_ONLY),
    }


def call_tool() -> RpcObject:
    return {
        "name": CALL,
        "description": f"Call a tool that {FIND} found.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "arguments": {"type": "object", "description": "as the tool's own schema says"},
            },
            "required": ["name"],
        },
    }


def open_tool(group: ToolGroup, count: CountText) -> RpcObject:
    """A closed group, as one tool."""
    names = first_sentences(", ".join(_short(group)), 28, count)
    return {
        "name": OPEN + slug(group.name),
        "description": f"Open {len(group.tools)} {group.name} tools: {names}",
        "inputSchema": {"type": "object"},
        "annotations": dict(_READ_ONLY),
    }


def close_tool(group: ToolGroup) -> RpcObject:
    return {
        "name": CLOSE + slug(group.name),
        "description": f"Close the {group.name} tools when they are no longer needed.",
        "inputSchema": {"type": "object"},
        "annotations": dict(_READ_ONLY),
    }


def slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:48]


def signature(tool: RpcObject, limit: int, count: CountText) -> str:
    """A tool as the search shows it: name, arguments and the start of its description.

    Example: "read_file(path: string, head?: integer): Read a file."
    """
    schema = tool.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    arguments = []
    for name, value in (properties if isinstance(properties, dict) else {}).items():
        optional = "" if name in needed else "?"
        arguments.append(f"{name}{optional}: {_type_of(value)}")
    text = first_sentences(tidy(str(tool.get("description") or "")), limit, count)
    return f"{tool.get('name')}({', '.join(arguments)}): {text}"


def _type_of(schema: object) -> str:
    if not isinstance(schema, dict):
        return "any"
    values = schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= 8:
        return "|".join(str(value) for value in values)
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(str(one) for one in kind)
    if kind == "array":
        return f"{_type_of(schema.get('items'))}[]"
    options = schema.get("anyOf") or schema.get("oneOf")
    if kind is None and isinstance(options, list):
        return "|".join(_type_of(option) for option in options[:6])
    return kind if isinstance(kind, str) else "object" if "properties" in schema else "any"
