"""Gemini generateContent: contents, system instruction, function declarations, calls and responses, media.

    message_tokens({"role": "user", "parts": [{"text": "hello"}]}, count) -> 3

In the published examples countTokens adds nothing to the text of a single message, and at most one token a message in
a chat. So two a message and one a request is on the high side. Declarations, calls and responses count as their
compact JSON plus a frame.
"""

from __future__ import annotations

from typing import Any, Final

from brim.apis.framed import Framed
from brim.apis.image_size import Size
from brim.apis.json_values import Json, as_list, as_text, json_text, objects
from brim.apis.media_tokens import gemini_image_tokens
from brim.apis.opaque_tokens import MediaRules, encrypted_tokens, file_tokens, opaque_tokens
from brim.count_text import CountText

BASE: Final = 1
_MESSAGE: Final = 2
_CALL: Final = 10
_DECLARATION: Final = 10
_TOOL: Final = 24
_UNSEEN_SECONDS: Final = 600  # assumed length of a video or recording that the request only names
_UNSEEN_PAGES: Final = 100
_SIGNATURE: Final = ("thoughtSignature", "thought_signature")


def request_tokens(body: Json, count: CountText, model: str = "") -> Framed:
    """The parts of a whole generateContent request.

    Example: {"contents": [{"parts": [{"text": "hello"}]}]} -> Framed(base=1, messages=(3,), ...)
    """
    config = _get(body, "generationConfig", "generation_config")
    resolution = _get(config, "mediaResolution", "media_resolution") if isinstance(config, dict) else None
    level = resolution if isinstance(resolution, str) else None
    schema = _get(config, "responseSchema", "response_schema") if isinstance(config, dict) else None
    tools = tools_tokens(body.get("tools"), _get(body, "toolConfig", "tool_config"), count, model)
    return Framed(
        base=BASE + system_tokens(_get(body, "systemInstruction", "system_instruction"), count, model),
        messages=tuple(message_tokens(message, count, model, level) for message in objects(body.get("contents"))),
        tools=tools + (count(json_text(schema)) + _DECLARATION if schema is not None else 0),
    )


def system_tokens(system: Any, count: CountText, model: str = "") -> int:
    """Tokens of the system instruction: a content with parts, or text.

    Example: {"parts": [{"text": "hello"}]} -> 3
    """
    if not system:
        return 0
    if isinstance(system, dict):
        return message_tokens(system, count, model)
    return _MESSAGE + count(as_text(system))


def message_tokens(message: Json, count: CountText, model: str = "", resolution: str | None = None) -> int:
    """Tokens of one content.

    Example: {"role": "user", "parts": [{"text": "hello"}]} -> 3
    """
    parts = message.get("parts")
    listed = parts if isinstance(parts, list) else [] if parts is None else [parts]
    return _MESSAGE + sum(part_tokens(part, count, model, resolution) for part in listed)


def part_tokens(part: Any, count: CountText, model: str = "", resolution: str | None = None) -> int:
    """Tokens of one part.

    Example: {"text": "hello"} -> 1
    """
    if not isinstance(part, dict):
        return count(as_text(part))
    signature = _get(part, *_SIGNATURE)
    # A signature stands for the thoughts before the part.
    total = encrypted_tokens(signature) if isinstance(signature, str) else 0
    held = [_field_tokens(name, value, count, model, resolution) for name, value in part.items()]
    known = [size for size in held if size is not None]
    if known:
        return total + sum(known)
    rest = {key: value for key, value in part.items() if key not in _SIGNATURE}
    return total + (opaque_tokens(rest, count, media_rules(model, resolution)) if rest else 0)


def _field_tokens(name: str, value: Any, count: CountText, model: str, resolution: str | None) -> int | None:
    """Tokens of a part that uses one of the API's defined fields; None for any other part.

    The model reads arguments and responses as text, whatever their strings look like. Media of a function
    response stand in its own `parts`.
    """
    if name == "text" and isinstance(value, str):
        return count(value)
    if not isinstance(value, dict):
        return None
    if name in ("functionCall", "function_call"):
        return _CALL + count(json_text(value))
    if name in ("functionResponse", "function_response"):
        parts = as_list(value.get("parts"))
        told = {key: inner for key, inner in value.items() if key != "parts" or inner is not parts}
        media = sum(part_tokens(part, count, model, resolution) for part in parts)
        return _CALL + count(json_text(told)) + media
    rules = media_rules(model, resolution)
    mime = as_text(_get(value, "mimeType", "mime_type"))
    if name in ("inlineData", "inline_data"):
        return file_tokens(as_text(value.get("data")), mime, count, rules)
    if name in ("fileData", "file_data"):
        return _unseen_tokens(mime, rules)
    return None


def tools_tokens(tools: Any, tool_choice: Any, count: CountText, model: str = "") -> int:
    """Tokens of the tools, and of a tool configuration.

    Example: ([{"functionDeclarations": [{"name": "foo"}]}], None, count) -> the declaration's JSON and a frame
    """
    total = 0
    for tool in as_list(tools):
        declared = _get(tool, "functionDeclarations", "function_declarations") if isinstance(tool, dict) else None
        if isinstance(declared, list):
            total += sum(_DECLARATION + count(json_text(one)) for one in declared)
        else:
            total += _TOOL + count(json_text(tool))
    if total:
        total += _TOOL + (count(json_text(tool_choice)) if tool_choice else 0)
    return total


def media_rules(model: str, resolution: str | None = None) -> MediaRules:
    """What Gemini charges for files with `model`: 32 tokens a second of audio, 263 of video, an image for a page."""

    def image(size: Size | None) -> int:
        width, height = size or (None, None)
        return gemini_image_tokens(width, height, model, resolution)

    return MediaRules(
        image=image, page=gemini_image_tokens(768, 1024, model, resolution), audio_second=32, video_second=300
    )


def _unseen_tokens(mime: str, rules: MediaRules) -> int:
    """A file that the request only names, at a size that few files exceed."""
    if mime.startswith("image/"):
        return rules.image(None)
    if mime.startswith("audio/"):
        return rules.audio_second * _UNSEEN_SECONDS
    if mime.startswith("video/") or not mime:
        return rules.video_second * _UNSEEN_SECONDS
    return rules.page * _UNSEEN_PAGES


def _get(value: Json, *names: str) -> Any:
    """The field under either spelling: the API accepts camelCase and snake_case."""
    return next((value[name] for name in names if name in value), None)
