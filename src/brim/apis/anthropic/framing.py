"""Anthropic Messages: messages, system text, tools, tool use and results, thinking, images and documents.

    message_tokens({"role": "user", "content": "Hello, Claude"}, count) -> 7

Two things are known: the frame of a request with one message (the API counted it on thousands of documents), and the
size of the system prompt that tools add. The rest is not published, so it is estimated on the high side: a tool as its
compact JSON, a call as its JSON plus a frame longer than any markup seen for it. Anthropic's published example of a
request with one tool (403 tokens) comes out 7% too high.
"""

from __future__ import annotations

from typing import Any, Final

from brim.apis.anthropic.deferred_tools import shown
from brim.apis.framed import Framed
from brim.apis.image_size import Size, base64_image_size
from brim.apis.json_values import Json, as_list, as_text, json_text, objects
from brim.apis.media_tokens import anthropic_image_tokens, claude_version
from brim.apis.opaque_tokens import MediaRules, encrypted_tokens, file_tokens, opaque_tokens
from brim.count_text import CountText

# Around each message. Its share of the one-message frame is not published; Opus 4.7's frame is the longest.
_MESSAGE, _MESSAGE_47 = 4, 6
# Around a request of one message: 7 tokens up to Claude 4.6, 11 with Opus 4.7, 6 later.
_FRAME_OLD, _FRAME_47, _FRAME_NEW = 7, 11, 6
BASE: Final = _FRAME_OLD - _MESSAGE  # for most models; base_tokens knows the exceptions
_SYSTEM: Final = 3
_TOOL: Final = 8
_CALL: Final = 24
_PARAMETER: Final = 8
_RESULT: Final = 24
_BLOCK: Final = 4
_DOCUMENT: Final = 24

_PDF_PAGE_TEXT: Final = 3_000  # the documented range is 1,500 to 3,000 a page, and a page is an image as well
_LETTER_PAGE: Final = (1_224, 1_584)
_DOCUMENT_UNSEEN: Final = 20  # assumed pages of a document that the request only names

# (auto or none, any or tool): the documented size of the system prompt that tools add.
_TOOLS_CLAUDE_3: Final = {"opus": (530, 281), "sonnet": (159, 235), "haiku": (264, 340)}
_TOOLS_CLAUDE_4: Final = (346, 313)
# No size is documented for later models. Their vocabulary is finer, so take more than twice Claude 4's.
_TOOLS_NEWER: Final = (675, 804)

# What a definition says to the API, and not to the model.
_UNSEEN: Final = frozenset({"cache_control", "defer_loading"})

# What server tools add; a little above the documented 245 to 735.
_SERVER_TOOL: Final = 900


def request_tokens(body: Json, count: CountText, model: str = "") -> Framed:
    """The parts of a whole Messages request.

    Example: {"system": "You are a scientist", "messages": [...]} -> Framed(...)
    """
    messages = objects(body.get("messages"))
    tools = tools_tokens(body.get("tools"), body.get("tool_choice"), count, model)
    return Framed(
        base=base_tokens(model) + system_tokens(body.get("system"), count),
        messages=tuple(message_tokens(message, count, model) for message in messages),
        tools=tools + _format_tokens(body, count),
    )


def base_tokens(model: str) -> int:
    """What a request costs beside its messages.

    Example: base_tokens("claude-sonnet-4-5") -> 3
    """
    version = claude_version(model)
    frame = _FRAME_OLD if version < (4, 7) else _FRAME_47 if version == (4, 7) else _FRAME_NEW
    return frame - _message_frame(version)


def system_tokens(system: Any, count: CountText) -> int:
    """Tokens of the system text, a string or text blocks.

    Example: "You are a scientist" -> 7
    """
    if not system:
        return 0
    if isinstance(system, str):
        return _SYSTEM + count(system)
    return _SYSTEM + sum(block_tokens(block, count, "") for block in as_list(system))


def message_tokens(message: Json, count: CountText, model: str = "") -> int:
    """Tokens of one message.

    Example: {"role": "user", "content": "hi"} -> 5
    """
    return _message_frame(claude_version(model)) + _content_tokens(message.get("content"), count, model)


def block_tokens(block: Any, count: CountText, model: str) -> int:
    """Tokens of one content block.

    Example: {"type": "text", "text": "hi"} -> 1
    """
    if not isinstance(block, dict):
        return count(as_text(block))
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        cited = block.get("citations")
        return count(block["text"]) + (opaque_tokens(cited, count, media_rules(model)) if cited else 0)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return _call_tokens(block, count)
    if kind in ("tool_result", "mcp_tool_result"):
        return _RESULT + _content_tokens(block.get("content"), count, model)
    if kind == "thinking":
        # Newer models send a summary of their thinking; the signature holds all of it, and all of it is charged.
        shown, whole = count(as_text(block.get("thinking"))), encrypted_tokens(as_text(block.get("signature")))
        return _BLOCK + max(shown, whole)
    if kind == "redacted_thinking":
        return _BLOCK + encrypted_tokens(as_text(block.get("data")))
    if kind == "image":
        return _BLOCK + _image_tokens(block.get("source"), model)
    if kind == "document":
        return _document_tokens(block, count, model)
    return _BLOCK + opaque_tokens({**block, "cache_control": None}, count, media_rules(model))


def tools_tokens(
    tools: Any, tool_choice: Any, count: CountText, model: str = "", loaded: tuple[tuple[str, int], ...] = ()
) -> int:
    """Tokens of the tools, including the system prompt that they add. Deferred ones are those that are `loaded`.

    Example: ([], None, count) -> 0
    """
    listed = as_list(tools)
    if not listed:
        return 0
    total = _tools_prompt(tool_choice, model)
    for tool in shown(listed, loaded):
        if isinstance(tool, dict) and "input_schema" not in tool:
            total += _SERVER_TOOL
        bare = {key: one for key, one in tool.items() if key not in _UNSEEN} if isinstance(tool, dict) else tool
        total += _TOOL + count(json_text(bare))
    if isinstance(tool_choice, dict) and tool_choice.get("name"):
        total += count(as_text(tool_choice["name"]))
    return total


def media_rules(model: str) -> MediaRules:
    """What Anthropic charges for files sent to `model`."""

    def image(size: Size | None) -> int:
        width, height = size or (None, None)
        return anthropic_image_tokens(width, height, model)

    return MediaRules(image=image, page=_PDF_PAGE_TEXT + image(_LETTER_PAGE), audio_second=32, video_second=300)


def _message_frame(version: tuple[int, int]) -> int:
    return _MESSAGE_47 if version == (4, 7) else _MESSAGE


def _content_tokens(content: Any, count: CountText, model: str) -> int:
    if isinstance(content, list):
        return sum(block_tokens(block, count, model) for block in content)
    if isinstance(content, dict):
        return block_tokens(content, count, model)
    return count(as_text(content))


def _call_tokens(block: Json, count: CountText) -> int:
    arguments = block.get("input")
    parameters = len(arguments) if isinstance(arguments, dict) else 1
    return _CALL + count(as_text(block.get("name"))) + _PARAMETER * parameters + count(json_text(arguments))


def _image_tokens(source: Any, model: str) -> int:
    data = source.get("data") if isinstance(source, dict) else None
    size = base64_image_size(data) if isinstance(data, str) else None
    return media_rules(model).image(size)


def _document_tokens(block: Json, count: CountText, model: str) -> int:
    rules = media_rules(model)
    total = _DOCUMENT + count(as_text(block.get("title"))) + count(as_text(block.get("context")))
    source = block.get("source")
    if not isinstance(source, dict):
        return total + count(as_text(source))
    data = source.get("data")
    if source.get("type") == "text" and isinstance(data, str):
        return total + count(data)
    if source.get("type") == "content":
        return total + _content_tokens(source.get("content"), count, model)
    if isinstance(data, str):
        return total + file_tokens(data, as_text(source.get("media_type")), count, rules)
    return total + _DOCUMENT_UNSEEN * rules.page


def _tools_prompt(tool_choice: Any, model: str) -> int:
    forced = isinstance(tool_choice, dict) and tool_choice.get("type") in ("any", "tool")
    version = claude_version(model)
    if version >= (4, 7):
        prompts = _TOOLS_NEWER
    elif version >= (3, 7) or (version == (3, 5) and "haiku" not in model):
        prompts = _TOOLS_CLAUDE_4
    else:
        prompts = next((sizes for name, sizes in _TOOLS_CLAUDE_3.items() if name in model), (530, 340))
    return prompts[forced]


def _format_tokens(body: Json, count: CountText) -> int:
    """A structured-output schema, which the model is shown."""
    config = body.get("output_config")
    wanted = body.get("output_format", config.get("format") if isinstance(config, dict) else None)
    return 24 + count(json_text(wanted)) if isinstance(wanted, dict) else 0
