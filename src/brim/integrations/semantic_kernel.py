"""Semantic Kernel: a chat service with fitted calls, and a reducer for your own history.

Example: ChatCompletionAgent(service=brim_service(OpenAIChatCompletion("gpt-4o"), budget=8_000), plugins=[...])
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, TypeVar

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import (
    ChatDict,
    call,
    content_of,
    image_block,
    other_block,
    text_block,
    text_of,
)
from brim.integrations.conversion.overridden import overridden, own

try:
    from pydantic import PrivateAttr
    from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
    from semantic_kernel.contents import (
        ChatHistory,
        ChatMessageContent,
        FunctionCallContent,
        FunctionResultContent,
        ImageContent,
        TextContent,
    )
    from semantic_kernel.contents.history_reducer.chat_history_reducer import ChatHistoryReducer
    from semantic_kernel.contents.utils.author_role import AuthorRole
except ImportError as problem:
    raise MissingFramework("brim.integrations.semantic_kernel", "semantic-kernel>=1.45,<2") from problem

S = TypeVar("S", bound=ChatCompletionClientBase)


class SemanticKernelCodec:
    """Semantic Kernel's messages; several results in one message become as many chat messages."""

    def read(self, message: ChatMessageContent) -> list[ChatDict]:
        results = [item for item in message.items if isinstance(item, FunctionResultContent)]
        if results:
            return [{"role": "tool", "tool_call_id": one.id or "", "content": str(one.result)} for one in results]
        role = "assistant" if message.role == AuthorRole.TOOL else message.role.value
        blocks = [_block(item) for item in message.items if not isinstance(item, FunctionCallContent)]
        chat: ChatDict = {"role": role, "content": content_of(blocks)}
        if message.name:
            chat["name"] = message.name  # services send it
        calls = [item for item in message.items if isinstance(item, FunctionCallContent)]
        if calls:
            chat["tool_calls"] = [call(one.id or "", one.name or "", one.arguments or {}) for one in calls]
        return [chat]

    def write(self, chats: list[ChatDict], original: ChatMessageContent | None) -> ChatMessageContent:
        if original is None:
            return ChatMessageContent(role=AuthorRole(chats[0]["role"]), content=text_of(chats[0]["content"]))
        results = {chat["tool_call_id"]: text_of(chat["content"]) for chat in chats if chat["role"] == "tool"}
        calls = {one["id"]: one["function"]["arguments"] for one in chats[0].get("tool_calls", ())}
        items: list[Any] = []
        for item in original.items:
            if isinstance(item, FunctionResultContent):
                if (item.id or "") in results:
                    items.append(item.model_copy(update={"result": results[item.id or ""]}))
            elif isinstance(item, FunctionCallContent):
                if (item.id or "") in calls:
                    items.append(item.model_copy(update={"arguments": calls[item.id or ""]}))
            elif not isinstance(item, TextContent):
                items.append(item)
        text = "" if results else text_of(chats[0]["content"])
        return original.model_copy(update={"items": [TextContent(text=text), *items] if text else items})


def _block(item: Any) -> ChatDict:
    if isinstance(item, TextContent):
        return text_block(item.text)
    return image_block(str(item.uri or "image")) if isinstance(item, ImageContent) else other_block(str(item))


def brim_service(inner: S, model: Any = None, budget: int | None = None, **settings: Any) -> S:
    """The same service with calls fitted beside their tools; the chat history keeps everything."""
    fitter: MessageFitter[ChatMessageContent] = MessageFitter(SemanticKernelCodec(), model, budget, **settings)

    async def fitted(self: ChatCompletionClientBase, history: ChatHistory, asked: Any) -> ChatHistory:
        beside = {"tools": getattr(asked, "tools", None), "model": self.ai_model_id}
        return ChatHistory(messages=await fitter.afit(history.messages, **beside))

    async def whole(self: ChatCompletionClientBase, chat_history: ChatHistory, settings: Any) -> Any:
        history = await fitted(self, chat_history, settings)
        return await own(self, "_inner_get_chat_message_contents")(history, settings)

    async def streamed(
        self: ChatCompletionClientBase, chat_history: ChatHistory, settings: Any, *rest: Any
    ) -> AsyncGenerator[Any, Any]:
        history = await fitted(self, chat_history, settings)
        async for said in own(self, "_inner_get_streaming_chat_message_contents")(history, settings, *rest):
            yield said

    names = ("_inner_get_chat_message_contents", "_inner_get_streaming_chat_message_contents")
    return overridden(inner, dict(zip(names, (whole, streamed), strict=True)))


class BrimHistory(ChatHistoryReducer):
    """A chat history that `reduce` compacts to a share of the budget once it exceeds the budget.

    Example: BrimHistory.within("gpt-4o", budget=8_000, auto_reduce=True)
    """

    if TYPE_CHECKING:  # the framework's own field
        messages: list[ChatMessageContent]
    _fitter: Any = PrivateAttr(default=None)

    @classmethod
    def within(
        cls, model: Any, budget: int | None = None, *, auto_reduce: bool = False, **settings: Any
    ) -> BrimHistory:
        """An empty history for a model; with `auto_reduce`, adding a message reduces it if necessary."""
        found = cls(target_count=1, auto_reduce=auto_reduce)  # Brim uses tokens; the framework requires a message count
        found._fitter = MessageFitter(SemanticKernelCodec(), model, budget, **settings)
        return found

    async def reduce(self) -> BrimHistory | None:
        changed = self._fitter.compact(self.messages)
        if changed is None:
            return None
        self.messages = changed
        return self
