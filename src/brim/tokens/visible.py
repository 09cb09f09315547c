"""Checks whether a request contains everything that is charged for; only then does usage say how text is counted.

State that the provider keeps, tools that it runs itself, files and stored prompts are charged without being in the
body; what it cuts off is in the body without being charged. Fields are told by their names: no two APIs use one of them
for different things.
"""

from __future__ import annotations

from typing import Any, Final

from brim.conversation import Conversation, Part, decode

# Fields that bring in content from outside the body, or let the provider leave some out.
_BRINGING: Final = (
    "previous_response_id", "conversation", "prompt", "truncation",  # OpenAI Responses
    "cachedContent", "cached_content",  # Gemini
    "container", "mcp_servers",  # Anthropic
    "web_search_options", "data_sources", "search_parameters",  # OpenAI chat, Azure, xAI
    "plugins", "transforms", "documents",  # OpenRouter, vLLM
)  # fmt: skip
_NOTHING: Final = frozenset({None, b"null", b"[]", b"{}", b'""', b'"disabled"'})
# Tools that the client runs, so only their definition is charged for.
_FUNCTIONS: Final = frozenset({None, "function", "custom"})
_DECLARATIONS: Final = frozenset({"functionDeclarations", "function_declarations"})


def self_contained(conversation: Conversation) -> bool:
    """Whether a request refers to nothing that the provider stores, finds or generates itself.

    Example: {"input": "hi", "previous_response_id": "r1"} -> False; {"tools": [{"type": "web_search"}], …} -> False
    """
    fields = conversation.fields
    if any(fields.get(name) not in _NOTHING for name in _BRINGING):
        return False
    # A list is the Responses API's, which then compacts by itself. Anthropic's object says in the answer what it did.
    if fields.get("context_management", b"").startswith(b"["):
        return False
    return conversation.tools is None or _plain_tools(decode(conversation.tools))


def only_text(conversation: Conversation) -> bool:
    """Whether every message is readable text: no image, audio or file, nothing encrypted or referenced by id."""
    return not any(_unreadable(part) for message in conversation.messages for part in message.parts)


def _unreadable(part: Part) -> bool:
    return part.kind in ("image", "audio", "file", "opaque") or (part.fixed and not part.text)


def _plain_tools(tools: Any) -> bool:
    """Whether the client runs every tool; none is the provider's own."""
    entries = tools if isinstance(tools, list) else [tools]
    return all(isinstance(entry, dict) and _plain_tool(entry) for entry in entries)


def _plain_tool(entry: dict[str, Any]) -> bool:
    if not _DECLARATIONS.isdisjoint(entry):
        return len(entry) == 1
    named = not {"name", "function", "custom"}.isdisjoint(entry)
    return named and entry.get("type") in _FUNCTIONS
