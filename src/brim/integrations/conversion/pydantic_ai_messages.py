"""Converts pydantic-ai's messages to chat messages and back; also used by `brim.fit`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.messages import (
    ChatDict,
    arguments_of,
    call,
    content_of,
    file_block,
    image_block,
    other_block,
    parts_of,
    text_block,
    text_of,
)

try:
    from pydantic_ai.messages import (
        BinaryContent,
        FileUrl,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextContent,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
except ImportError as problem:
    raise MissingFramework("brim.integrations.pydantic_ai", "pydantic-ai-slim>=2.66,<3") from problem

PART = "brim_part"


class PydanticCodec:
    """Each part of a request is a chat message; a response is a single one."""

    def read(self, message: ModelMessage) -> list[ChatDict]:
        if isinstance(message, ModelResponse):
            return [_read_response(message)]
        return [{**_read_part(part), PART: number} for number, part in enumerate(message.parts)]

    def write(self, chats: list[ChatDict], original: ModelMessage | None) -> ModelMessage:
        if original is None:
            text = text_of(chats[0]["content"])
            said = chats[0]["role"] == "assistant"
            return ModelResponse(parts=[TextPart(text)]) if said else ModelRequest(parts=[UserPromptPart(text)])
        if isinstance(original, ModelResponse):
            return _write_response(chats[0], original)
        return replace(original, parts=[_write_part(chat, original.parts[chat[PART]]) for chat in chats])


def _read_part(part: Any) -> ChatDict:
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        return {"role": "user", "content": content_of([block for block, _ in _blocks(part)])}
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
    told = getattr(part, "model_response", None)
    return {"role": "user", "content": told() if told else str(getattr(part, "content", ""))}


def _blocks(part: UserPromptPart) -> list[tuple[ChatDict, Any]]:
    content = [part.content] if isinstance(part.content, str) else part.content
    return [(_block(piece), piece) for piece in content]


def _block(piece: Any) -> ChatDict:
    if isinstance(piece, (str, TextContent)):
        return text_block(piece if isinstance(piece, str) else piece.content)
    if isinstance(piece, ImageUrl):
        return image_block(piece.url)
    if isinstance(piece, BinaryContent):
        return image_block(piece.data_uri) if piece.is_image else file_block(piece.data_uri)
    return file_block(piece.url) if isinstance(piece, FileUrl) else other_block(piece)


def _write_part(chat: ChatDict, part: Any) -> Any:
    if chat == {**_read_part(part), PART: chat[PART]}:
        return part
    if isinstance(part, UserPromptPart):
        pieces = parts_of(chat["content"], _blocks(part), str)
        return replace(part, content=pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else pieces)
    return replace(part, content=text_of(chat["content"]))


def _read_response(message: ModelResponse) -> ChatDict:
    texts = [part for part in message.parts if isinstance(part, TextPart)]
    chat: ChatDict = {"role": "assistant", "content": content_of([text_block(part.content) for part in texts])}
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    if calls:
        chat["tool_calls"] = [call(part.tool_call_id, part.tool_name, part.args_as_json_str()) for part in calls]
    told = (TextPart, ToolCallPart)
    rest = [part for part in message.parts if not isinstance(part, told)]
    # Parts that providers require back unchanged, such as thinking with its signature, are counted and kept.
    thought = "".join(part.content if isinstance(part, ThinkingPart) else str(part) for part in rest)
    return {**chat, "reasoning_content": thought} if thought else chat


def _write_response(chat: ChatDict, original: ModelResponse) -> ModelResponse:
    calls = {one["id"]: one for one in chat.get("tool_calls", ())}
    texts = [(text_block(part.content), part) for part in original.parts if isinstance(part, TextPart)]
    said = parts_of(chat["content"], texts, TextPart)
    before = {one["id"]: one for one in _read_response(original).get("tool_calls", ())}
    parts: list[Any] = [part for part in original.parts if not isinstance(part, (TextPart, ToolCallPart))] + said
    for part in original.parts:
        if isinstance(part, ToolCallPart) and part.tool_call_id in calls:
            same = calls[part.tool_call_id] == before[part.tool_call_id]
            parts.append(part if same else replace(part, args=arguments_of(calls[part.tool_call_id])))
    return replace(original, parts=parts)
