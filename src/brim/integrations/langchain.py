"""LangChain, LangGraph and deepagents: a middleware, a context edit, a token counter and a history on a Brim store.

Example: create_agent("openai:gpt-4o", tools, middleware=[BrimMiddleware("gpt-4o", budget=8_000)])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import brim
from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.kept_list import KeptList
from brim.integrations.conversion.langchain_messages import LangChainCodec
from brim.stores.protocol import Store

try:
    from langchain.agents.middleware.types import AgentMiddleware
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import BaseMessage, ToolMessage, message_to_dict, messages_from_dict
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as problem:
    raise MissingFramework("brim.integrations.langchain", "langchain>=1.4,<2") from problem


class BrimMiddleware(AgentMiddleware):
    """Fits each model call; the agent's own state keeps everything.

    With `tool_results`, a longer result is shortened once, when it arrives; the message's artifact has the original.
    """

    def __init__(
        self, model: Any = None, budget: int | None = None, *, tool_results: int | None = None, **settings: Any
    ) -> None:
        super().__init__()
        self.tool_results = tool_results
        self.fitter: MessageFitter[BaseMessage] = MessageFitter(LangChainCodec(), model, budget, **settings)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        messages, beside = _asked(request)
        return handler(_fitted(request, self.fitter.fit(messages, **beside)))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        messages, beside = _asked(request)
        return await handler(_fitted(request, await self.fitter.afit(messages, **beside)))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._shortened(handler(request))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return self._shortened(await handler(request))

    def _shortened(self, result: Any) -> Any:
        text = result.content if isinstance(result, ToolMessage) else None
        if self.tool_results is None or not isinstance(text, str) or len(text) <= self.tool_results:
            return result  # no text has more tokens than characters
        short = brim.compact(text, self.tool_results).text
        kept = text if result.artifact is None else result.artifact
        return result if short == text else result.model_copy(update={"content": short, "artifact": kept})


def _asked(request: Any) -> tuple[list[BaseMessage], dict[str, Any]]:
    """A model call's messages, tools, thread and model."""
    system = [request.system_message] if request.system_message is not None else []
    info = getattr(request.runtime, "execution_info", None)
    name = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
    tools = [convert_to_openai_tool(tool) for tool in request.tools]
    return [*system, *request.messages], {"tools": tools, "conversation": info and info.thread_id, "model": name}


def _fitted(request: Any, messages: list[BaseMessage]) -> Any:
    if request.system_message is None:
        return request.override(messages=messages)
    return request.override(system_message=messages[0], messages=messages[1:])


class BrimEdit:
    """A ContextEdit for ContextEditingMiddleware that fits the messages in place."""

    def __init__(self, model: Any, budget: int, **settings: Any) -> None:
        self.fitter: MessageFitter[BaseMessage] = MessageFitter(LangChainCodec(), model, budget, **settings)

    def apply(self, messages: list[Any], *, count_tokens: Callable[[Sequence[BaseMessage]], int]) -> None:
        messages[:] = self.fitter.fit(messages)


def token_counter(model: Any) -> Callable[[list[BaseMessage]], int]:
    """A `token_counter` for trim_messages and for middlewares that take one."""
    return MessageFitter(LangChainCodec(), model).count


class BrimChatHistory(BaseChatMessageHistory):
    """The messages of a conversation in a Brim store."""

    def __init__(self, session_id: str, store: Store | str | Path) -> None:
        self.kept = KeptList(f"langchain:{session_id}", store)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        return list(messages_from_dict(self.kept.values()))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.kept.add([message_to_dict(message) for message in messages])

    def clear(self) -> None:
        self.kept.clear()
