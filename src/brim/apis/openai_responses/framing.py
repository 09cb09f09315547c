"""OpenAI Responses: instructions and input items.

    item_tokens({"type": "message", "role": "user", "content": "hello"}, count) -> 5

Messages cost what they cost in Chat Completions. Calls and their outputs follow the published message format of the
open-weight models (channel, recipient, constraint), which is longer than the older one, so they are on the high side.
Encrypted reasoning counts by its length. What an item only refers to (`item_reference`, `previous_response_id`) is on
the server and can't be counted here.
"""

from __future__ import annotations

from typing import Any, Final

from brim.apis.framed import Framed
from brim.apis.json_values import Json, as_list, as_text, objects
from brim.apis.opaque_tokens import encrypted_tokens, file_tokens, opaque_tokens
from brim.apis.openai_chat.framing import (
    BASE,
    content_tokens,
    first_system_text,
    format_tokens,
    media_rules,
    message_tokens,
    part_tokens,
)
from brim.apis.openai_chat.framing import tools_slack as chat_tools_slack
from brim.apis.openai_chat.framing import tools_tokens as chat_tools_tokens
from brim.count_text import CountText

_CALL: Final = 14
_OUTPUT: Final = 12
_REASONING: Final = 8
_ITEM: Final = 8
_FORMAT_SLACK: Final = 24

_CALLS: Final = frozenset({"function_call", "custom_tool_call", "mcp_call"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "computer_call_output"})


def request_tokens(body: Json, count: CountText, model: str = "gpt-4o") -> Framed:
    """The parts of a whole Responses request.

    Example: {"instructions": "Be brief.", "input": "hello"} -> Framed(base=10, messages=(5,), ...)
    """
    given = body.get("input")
    items = given if isinstance(given, list) else [] if given is None else [{"role": "user", "content": given}]
    text = body.get("text")
    format_size = format_tokens(text.get("format"), count) if isinstance(text, dict) else 0
    tools, choice, instructions = body.get("tools"), body.get("tool_choice"), body.get("instructions")
    return Framed(
        base=BASE + instructions_tokens(instructions, count, model),
        messages=tuple(item_tokens(item, count, model) for item in items),
        tools=tools_tokens(tools, choice, count, instructions) + format_size,
        slack=tools_slack(tools, choice, count) + (_FORMAT_SLACK if format_size else 0),
    )


def instructions_tokens(instructions: Any, count: CountText, model: str = "gpt-4o") -> int:
    """Tokens of the instructions: a system message before the input; nothing without them.

    Example: "Be brief." -> 7; None -> 0
    """
    if not instructions:
        return 0
    return message_tokens({"role": "system", "content": instructions}, count, model=model)


def tools_tokens(tools: Any, tool_choice: Any, count: CountText, instructions: Any = None) -> int:
    """Tokens of the tools and of a forced choice; the tools come after `instructions`.

    Example: ([{"type": "function", "name": "foo"}], None, count) -> 23
    """
    system = first_system_text([{"role": "system", "content": instructions}]) if instructions else None
    return chat_tools_tokens(_at_first(tools), tool_choice, None, count, "tools", system)


def tools_slack(tools: Any, tool_choice: Any, count: CountText) -> int:
    """What the tools may cost beyond `tools_tokens`.

    Example: (None, None, count) -> 0
    """
    return chat_tools_slack(_at_first(tools), tool_choice, None, count, "tools")


def _at_first(tools: Any) -> Any:
    """What the model sees of the tools before it has searched: of a deferred function only what it is for.

    What a search finds stands in the input, in its `tool_search_output`.
    """
    listed = as_list(tools)
    if not any(isinstance(tool, dict) and tool.get("type") == "tool_search" for tool in listed):
        return tools
    return [_before_search(tool) if isinstance(tool, dict) else tool for tool in listed]


def _before_search(tool: Json) -> Json:
    if tool.get("type") == "namespace":
        return {**tool, "tools": [one for one in objects(tool.get("tools")) if one.get("defer_loading") is not True]}
    if tool.get("defer_loading") is not True or tool.get("type") != "function":
        return tool
    return {key: tool[key] for key in ("type", "name", "description") if key in tool}


def item_tokens(item: Any, count: CountText, model: str = "gpt-4o") -> int:
    """Tokens of one input item.

    Example: {"type": "function_call", "name": "f", "arguments": "{}"} -> 17
    """
    if not isinstance(item, dict):
        return message_tokens({"role": "user", "content": item}, count, model=model)
    kind = as_text(item.get("type", "message"))
    if kind == "message":
        return message_tokens(item, count, model=model)
    if kind in _CALLS:
        arguments = as_text(item.get("arguments", item.get("input")))
        output = content_tokens(item.get("output"), count, model)
        # The name appears at the call and at its output.
        return _CALL + 2 * count(as_text(item.get("name"))) + count(arguments) + output
    if kind in _OUTPUTS:
        given = item.get("output")
        return _OUTPUT + (part_tokens if isinstance(given, dict) else content_tokens)(given, count, model)
    if kind == "reasoning":
        return _REASONING + _reasoning_tokens(item, count)
    if kind == "image_generation_call" and isinstance(item.get("result"), str):
        return _ITEM + file_tokens(item["result"], "image/png", count, media_rules(model))
    return _ITEM + opaque_tokens(item, count, media_rules(model))


def _reasoning_tokens(item: Json, count: CountText) -> int:
    """The larger of the visible summary and the encrypted text, because both represent the same reasoning."""
    shown = sum(count(as_text(part.get("text"))) for key in ("summary", "content") for part in objects(item.get(key)))
    shown += sum(count(part) for part in as_list(item.get("summary")) if isinstance(part, str))
    hidden = item.get("encrypted_content")
    return max(shown, encrypted_tokens(hidden) if isinstance(hidden, str) else 0)
