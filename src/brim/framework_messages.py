"""Lets `brim.fit` and `brim.count` take iterators, and the messages of frameworks, which come back in their own types.

It imports no framework, because whoever has its messages has already loaded it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

# For the package of a message's class, the module and the class of the codec.
CODECS = {
    "langchain_core": ("brim.integrations.conversion.langchain_messages", "LangChainCodec"),
    "pydantic_ai": ("brim.integrations.conversion.pydantic_ai_messages", "PydanticCodec"),
}
Function = TypeVar("Function", bound=Callable[..., Any])


def codec_of(request: Any) -> Any:
    """The codec for the messages of a list; None if they aren't a framework's."""
    if not isinstance(request, Sequence) or isinstance(request, (str, bytes, bytearray, memoryview)) or not request:
        return None
    home = CODECS.get(type(request[0]).__module__.partition(".")[0])
    return None if home is None else getattr(importlib.import_module(home[0]), home[1])()


def reads_frameworks(back: bool) -> Callable[[Function], Function]:
    """Let a function take a framework's messages as a request; `back` says whether it returns a request."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(request: Any, **given: Any) -> Any:
            codec = codec_of(request)
            if codec is None:
                return function(request, **given)
            messages = importlib.import_module("brim.integrations.conversion.messages")
            chats = messages.to_chat(request, codec)
            made = function(chats, **{**given, "api": "openai_chat"})
            return messages.fitted_back(made, chats, request, codec) if back else made

        return call  # type: ignore[return-value]

    return decorate


def repeatable(request: Any) -> Any:
    """A request that can be read more than once; an iterator of messages becomes a list.

    Example: (message for message in chat) -> [message, …]
    """
    once = isinstance(request, Iterable) and not isinstance(request, (str, bytes, bytearray, Mapping, Sequence))
    return list(request) if once and not isinstance(request, memoryview) else request
