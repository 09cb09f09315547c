"""AutoGen: a model context that keeps every message and returns what fits.

Example: AssistantAgent("harbour", client, model_context=BrimContext("gpt-4o", budget=8_000))
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import (
    ChatDict,
    call,
    content_of,
    image_block,
    parts_of,
    text_block,
    text_of,
)

try:
    from autogen_core import FunctionCall, Image
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import (
        AssistantMessage,
        FunctionExecutionResultMessage,
        LLMMessage,
        SystemMessage,
        UserMessage,
    )
except ImportError as problem:
    raise MissingFramework("brim.integrations.autogen", "autogen-core>=0.7,<0.8") from problem


class AutoGenCodec:
    """AutoGen's messages; each result in a message with results becomes a chat message."""

    def read(self, message: LLMMessage) -> list[ChatDict]:
        if isinstance(message, FunctionExecutionResultMessage):
            return [{"role": "tool", "tool_call_id": one.call_id, "content": one.content} for one in message.content]
        if isinstance(message, SystemMessage):
            return [{"role": "system", "content": message.content}]
        if isinstance(message, UserMessage):
            return [{"role": "user", "content": content_of([block for block, _ in _blocks(message)])}]
        chat: ChatDict = {"role": "assistant", "content": message.content if isinstance(message.content, str) else ""}
        if not isinstance(message.content, str):
            chat["tool_calls"] = [call(one.id, one.name, one.arguments) for one in message.content]
        return [{**chat, "reasoning_content": message.thought} if message.thought else chat]

    def write(self, chats: list[ChatDict], original: LLMMessage | None) -> LLMMessage:
        chat = chats[0]
        if original is None:
            text = text_of(chat["content"])
            if chat["role"] == "system":
                return SystemMessage(content=text)
            kind = AssistantMessage if chat["role"] == "assistant" else UserMessage
            return kind(content=text, source="brim")
        return original.model_copy(update={"content": _content(chats, original)})


def _content(chats: list[ChatDict], original: Any) -> Any:
    if isinstance(original, FunctionExecutionResultMessage):
        texts = {chat["tool_call_id"]: text_of(chat["content"]) for chat in chats}
        kept = [one for one in original.content if one.call_id in texts]
        return [one.model_copy(update={"content": texts[one.call_id]}) for one in kept]
    calls = chats[0].get("tool_calls")
    if calls:
        return [FunctionCall(one["id"], one["function"]["arguments"], one["function"]["name"]) for one in calls]
    if isinstance(original, UserMessage) and not isinstance(original.content, str):
        return parts_of(chats[0]["content"], _blocks(original), str)
    return text_of(chats[0]["content"])


def _blocks(message: UserMessage) -> list[tuple[ChatDict, Any]]:
    content = [message.content] if isinstance(message.content, str) else message.content
    return [(image_block(one.data_uri) if isinstance(one, Image) else text_block(one), one) for one in content]


class BrimContext(ChatCompletionContext):
    """Keeps everything in its state; `get_messages` returns what fits.

    A context doesn't see the agent's instructions and tools; pass them in to have them counted.
    """

    def __init__(
        self,
        model: Any,
        budget: int | None = None,
        *,
        instructions: str | None = None,
        tools: Any = (),
        initial_messages: list[LLMMessage] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(initial_messages)
        self._id = uuid.uuid4().hex
        self._instructions = instructions
        schemas = [getattr(one, "schema", one) for one in tools]
        self._tools = [{"type": "function", "function": json.loads(json.dumps(one))} for one in schemas]
        self._fitter: MessageFitter[LLMMessage] = MessageFitter(AutoGenCodec(), model, budget, **settings)

    async def get_messages(self) -> list[LLMMessage]:
        beside = {"instructions": self._instructions, "tools": self._tools}
        return await self._fitter.afit(self._messages, conversation=self._id, **beside)

    async def clear(self) -> None:
        await super().clear()
        self._id = uuid.uuid4().hex
