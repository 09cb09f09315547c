"""Ready-made definitions of the search tool, and instructions on when to call it."""

from __future__ import annotations

import json
from typing import Any

from brim.docsearch.texts import FEATURES, Collection


def _schema(collection: Collection) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "keywords": {
                "type": "array",
                "items": {"type": "string"},
                "description": collection.keyword_hint,
            }
        },
        "required": ["keywords"],
    }


def openai_tool(collection: Collection = FEATURES, *, name: str | None = None) -> dict[str, Any]:
    """The tool for Chat Completions; the Responses API takes the inner object with its type."""
    function = {
        "name": name or collection.tool,
        "description": collection.description,
        "parameters": _schema(collection),
    }
    return {"type": "function", "function": function}


def anthropic_tool(collection: Collection = FEATURES, *, name: str | None = None) -> dict[str, Any]:
    """The tool for the Messages API."""
    return {
        "name": name or collection.tool,
        "description": collection.description,
        "input_schema": _schema(collection),
    }


def mcp_tool(collection: Collection = FEATURES, *, name: str | None = None) -> dict[str, Any]:
    """The tool as an MCP server lists it."""
    return {
        "name": name or collection.tool,
        "description": collection.description,
        "inputSchema": _schema(collection),
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    }


def instructions(collection: Collection = FEATURES, *, name: str | None = None) -> str:
    """The text for a system prompt: when to search, how, and what to do with the results."""
    tool = name or collection.tool
    lines = [
        f"{collection.title}:",
        f"You have access to the {tool} tool to retrieve relevant {collection.nouns}.",
        "",
        "WHEN TO USE:",
        *(f"- {when}" for when in collection.when),
        "",
        "HOW TO USE:",
        f"- Call {tool} with an array of keywords relevant to the current task",
        *(
            f"- Example: {tool}({{ keywords: {json.dumps(list(keywords))} }}) for {purpose}"
            for keywords, purpose in collection.examples
        ),
        "",
        "IMPORTANT:",
        *(f"- {important}" for important in collection.important),
    ]
    return "\n".join(lines)
