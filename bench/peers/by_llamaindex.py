"""LlamaIndex: `Memory`, the queue that its agents use, and the older `ChatMemoryBuffer`.

Its agents keep the system prompt outside of the memory, so the memory gets what the prompt leaves of the budget. There
are no long-term blocks, since those need a model: the whole of the limit is for the history.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tiktoken
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer, Memory

PACKAGES = ("llama-index-core", "tiktoken")
ENCODE = tiktoken.get_encoding("o200k_base").encode_ordinary
Chat = list[dict[str, Any]]


def read(message: dict[str, Any]) -> ChatMessage:
    more = {key: message[key] for key in ("tool_calls", "tool_call_id", "name") if message.get(key)}
    return ChatMessage(role=message["role"], content=message.get("content") or "", additional_kwargs=more)


def written(message: ChatMessage) -> dict[str, Any]:
    more = {key: value for key, value in message.additional_kwargs.items() if key != "session_id"}
    return {"role": message.role.value, "content": message.content or ("" if not more else None), **more}


class Held:
    """A memory that gets the messages as they come."""

    def __init__(self, made: Callable[[int], Any]) -> None:
        self._made = made  # given the tokens that it may hold
        self._memory: Any = None
        self._seen = 0

    def __call__(self, messages: Chat, budget: int) -> Chat:
        system = [message for message in messages if message["role"] == "system"]
        rest = [message for message in messages if message["role"] != "system"]
        room = max(1, budget - sum(4 + len(ENCODE(str(message["content"]))) for message in system))
        if self._memory is None:
            self._memory = self._made(room)
        self._memory.token_limit = room
        self._memory.put_messages([read(message) for message in rest[self._seen :]])
        self._seen = len(rest)
        return [*system, *(written(message) for message in self._memory.get())]


def in_memory(room: int) -> Memory:
    return Memory.from_defaults(
        token_limit=room, tokenizer_fn=ENCODE, chat_history_token_ratio=1.0, token_flush_size=max(1, room // 10)
    )


def in_buffer(room: int) -> ChatMemoryBuffer:
    return ChatMemoryBuffer.from_defaults(token_limit=room, tokenizer_fn=ENCODE)


FITS = {"Memory": partial(Held, in_memory), "ChatMemoryBuffer": partial(Held, in_buffer)}
