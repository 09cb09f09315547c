"""Open models see tools and calls through a chat template, mostly as JSON with a space after every separator.

    tools_tokens([{"type": "function", "function": {"name": "foo"}}], count) -> 23

Templates differ from model to model and servers may bring their own, so both count as the full JSON of the
chat API, which is what the longest templates write. OpenAI's own models see a shorter form.
"""

from __future__ import annotations

import json
from typing import Any, Final

from brim.apis.json_values import Json, as_list, as_text, objects
from brim.count_text import CountText
from brim.models.families import family_of

# The message that holds the tools, and a few words around them.
_TOOLS: Final = 8
_MESSAGE: Final = 8
_OPENAI: Final = ("o200k", "cl100k")
# A stand-in for the id that a server makes up for a call without one.
_ID: Final = "call_0123456789abcdef01234567"


def is_open(api: str, model: str) -> bool:
    """Whether a model sees requests of this API through its server's chat template.

    Example: is_open("openai_chat", "gpt-4o") -> False; is_open("anthropic", "qwen3-32b") -> True
    """
    family = family_of(model)
    return not family.startswith("claude") if api == "anthropic" else family not in _OPENAI


def tools_tokens(tools: Any, count: CountText, functions: Any = None) -> int:
    """Tokens of any API's tools, as their JSON in the chat API; 0 if there are none."""
    listed = [_definition(tool) for tool in (*as_list(tools), *as_list(functions))]
    return _TOOLS + count(_spaced(listed)) if listed else 0


def calls_tokens(calls: list[Json], count: CountText) -> int:
    """Tokens of a message's calls, without its text.

    Example: [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}] -> 33
    """
    return _MESSAGE + count(_spaced([_call(call) for call in calls])) if calls else 0


def calls_of(value: Any) -> list[Json]:
    """The calls in a message of any API but Gemini's."""
    if not isinstance(value, dict):
        return []
    if value.get("type") in ("function_call", "custom_tool_call"):
        return [value]
    used = [block for block in objects(value.get("content")) if block.get("type") == "tool_use"]
    return [*objects(value.get("tool_calls")), *used]


def _definition(tool: Any) -> Any:
    if not isinstance(tool, dict) or isinstance(tool.get("function"), dict):
        return tool
    schema = tool.get("parameters", tool.get("input_schema"))
    inner = {"name": tool.get("name"), "description": tool.get("description"), "parameters": schema}
    return {"type": "function", "function": inner} if tool.get("name") else tool


def _call(call: Json) -> Json:
    if isinstance(call.get("function"), dict):
        return call
    arguments = as_text(call.get("arguments", call.get("input")))
    id = as_text(call.get("call_id", call.get("id"))) or _ID
    return {"id": id, "type": "function", "function": {"name": as_text(call.get("name")), "arguments": arguments}}


def _spaced(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
