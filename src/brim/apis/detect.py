"""Tells from a body which API it is meant for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from brim import models
from brim.errors import UnknownModel
from brim.models import Model

# Found only in Anthropic bodies: block types, and the way tools and media are written.
_ANTHROPIC = re.compile(
    rb'"type"\s*:\s*"(?:tool_use|tool_result|thinking|redacted_thinking|document|server_tool_use)"'
    rb'|"source"\s*:\s*\{\s*"type"\s*:\s*"(?:base64|url|file)"'
)
_OPENAI = re.compile(
    rb'"(?:tool_calls|tool_call_id|image_url|function_call)"\s*:|"role"\s*:\s*"(?:system|developer|tool)"'
)
_GEMINI = re.compile(rb'^\s*\[\s*\{\s*(?:"role"\s*:\s*"(?:user|model)"\s*,\s*)?"parts"\s*:')
_RESPONSES = re.compile(rb'"type"\s*:\s*"(?:function_call|function_call_output|input_text|output_text|reasoning)"')
_ANTHROPIC_FIELDS = {"system", "anthropic_version", "stop_sequences", "container", "context_management"}


def sniff(fields: Mapping[str, bytes], model: str | Model = "", system: Any = None) -> str:
    """The name of the API that a body belongs to. If the messages don't show it, the model name decides.

    Example: {"contents": …} -> "gemini"; {"input": …} -> "openai_responses"
    """
    if "contents" in fields:
        return "gemini"
    if "input" in fields and "messages" not in fields:
        return "openai_responses"
    messages = fields.get("messages", fields.get("", b""))
    if _GEMINI.match(messages[:200]):
        return "gemini"
    typed = b'"type"' in messages  # checked first: a pattern that finds nothing takes much longer
    if typed and "" in fields and _RESPONSES.search(messages):
        return "openai_responses"
    if "keep_alive" in fields or b'"num_' in fields.get("options", b""):
        return "ollama"
    if _ANTHROPIC_FIELDS & fields.keys() or b'"input_schema"' in fields.get("tools", b""):
        return "anthropic"
    # Pasted content may look like either API; whatever comes first is more often structure than content.
    theirs, ours = _ANTHROPIC.search(messages) if typed else None, _OPENAI.search(messages)
    if theirs and (not ours or theirs.start() < ours.start()):
        return "anthropic"
    if ours:
        return "openai_chat"
    model = model or fields.get("model", b"").decode("utf-8", "replace").strip('"')
    if "" in fields or system is not None:
        return _spoken(model, system)
    # Other OpenAI-style servers have a `thinking` field too, but only Anthropic requires `max_tokens`.
    likely = _is_claude(model) or b'"budget_tokens"' in fields.get("thinking", b"")
    return "anthropic" if likely and "max_tokens" in fields else "openai_chat"


def _spoken(model: str | Model, system: Any) -> str:
    """The API for messages of only roles and texts: that of the model's provider.

    Example: "claude-sonnet-4-5" -> "anthropic"; "gpt-4o" -> "openai_chat", instructions beside the messages or not
    """
    if not model:
        return "openai_chat" if system is None else "anthropic"  # whose messages have instructions beside them
    try:
        api = (model if isinstance(model, Model) else models.find(model)).api
    except UnknownModel:
        api = "anthropic" if _is_claude(model) else ""
    return "anthropic" if api == "anthropic" else "openai_chat"


def _is_claude(model: str | Model) -> bool:
    return "claude" in (model.name if isinstance(model, Model) else model).lower()
