"""Converts a framework's messages to OpenAI chat messages and back to their original types.

Each chat message carries the number of its original message. Fitting keeps unknown fields without counting them, so
the result shows which messages are unchanged, shortened or new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, Protocol, TypeVar

import brim
from brim.models import Model

ORIGIN = "brim_origin"
ChatDict = dict[str, Any]
M = TypeVar("M")
P = TypeVar("P")


class Codec(Protocol[M]):
    """Reads and writes a framework's messages."""

    def read(self, message: M) -> list[ChatDict]:
        """A message as chat messages: one, or several if it has several tool results."""

    def write(self, chats: list[ChatDict], original: M | None) -> M:
        """The message for `chats`: `original` shortened, or a new one."""


def to_chat(messages: Iterable[M], codec: Codec[M]) -> list[ChatDict]:
    """The messages as chat messages that carry their origin."""
    return [{**chat, ORIGIN: number} for number, message in enumerate(messages) for chat in codec.read(message)]


def from_chat(fitted: Sequence[ChatDict], given: Sequence[ChatDict], messages: Sequence[M], codec: Codec[M]) -> list[M]:
    """Fitted chat messages as the framework's; unchanged ones are the same objects."""
    before: dict[int, list[ChatDict]] = {}
    for chat in given:
        before.setdefault(chat[ORIGIN], []).append(chat)
    found: list[M] = []
    for origin, chats in groupby(fitted, key=lambda chat: chat.get(ORIGIN)):
        group = list(chats)
        if origin is None:
            found += [codec.write([chat], None) for chat in group]
        elif group == before[origin]:
            found.append(messages[origin])
        else:
            found.append(codec.write([bare(chat) for chat in group], messages[origin]))
    return found


def fitted_back(fitted: brim.Fitted, given: Sequence[ChatDict], messages: Sequence[M], codec: Codec[M]) -> brim.Fitted:
    """Converts a fit of chat messages to the framework's messages, at this budget and others."""
    body = from_chat(fitted.messages, given, messages, codec)
    again = partial(_again, fitted, given, messages, codec)
    return replace(fitted, body=tuple(body) if isinstance(messages, tuple) else body, _again=again)


def _again(fitted: brim.Fitted, given: Any, messages: Any, codec: Any, budget: int) -> brim.Fitted:
    return fitted_back(fitted.at(budget), given, messages, codec)


def count(messages: Iterable[M], codec: Codec[M], model: str | Model) -> int:
    """The tokens of messages, which may be any part of a conversation."""
    return brim.count(_alone([bare(chat) for chat in to_chat(messages, codec)]), model=model, api="openai_chat").tokens


def _alone(chats: list[ChatDict]) -> list[ChatDict]:
    """Chat messages that are valid by themselves: a result without its call becomes a user's text."""
    called: set[str] = set()
    found = []
    for chat in chats:
        called.update(call["id"] for call in chat.get("tool_calls", ()))
        lost = chat["role"] == "tool" and chat["tool_call_id"] not in called
        found.append({"role": "user", "content": chat["content"]} if lost else chat)
    return found


def bare(chat: ChatDict) -> ChatDict:
    """A chat message without its origin."""
    return {key: value for key, value in chat.items() if key != ORIGIN}


def text_block(text: str) -> ChatDict:
    return {"type": "text", "text": text}


def image_block(url: str) -> ChatDict:
    """Example: image_block("https://…") -> {"type": "image_url", "image_url": {"url": "https://…"}}"""
    return {"type": "image_url", "image_url": {"url": url}}


def file_block(url: str) -> ChatDict:
    """A file, sound or video; `url` is its location or its data."""
    return {"type": "file", "file": {"file_data": url}}


def other_block(value: Any) -> ChatDict:
    """A block other than text or image, which is counted by its JSON."""
    return {"type": "other", "other": json.dumps(value, default=str, ensure_ascii=False)}


def content_of(blocks: Sequence[ChatDict]) -> str | list[ChatDict]:
    """The content of a message from blocks. Example: one text block -> its text"""
    if not blocks:
        return ""
    alone = len(blocks) == 1 and blocks[0].get("type") == "text"
    return str(blocks[0]["text"]) if alone else list(blocks)


def text_of(content: Any) -> str:
    """The text of a message's content, from chat blocks or Gemini's parts."""
    if isinstance(content, str):
        return content
    blocks = content.get("parts", ()) if isinstance(content, dict) else content or ()
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def parts_of(content: Any, known: Sequence[tuple[ChatDict, P]], text: Callable[[str], P]) -> list[P]:
    """Content as a framework's parts: the originals of unchanged blocks, and new ones for new texts."""
    blocks = [text_block(content)] if isinstance(content, str) else list(content or ())
    left = list(known)
    found: list[P] = []
    for block in blocks:
        same = next((pair for pair in left if pair[0] == block), None)
        if same is not None:
            left.remove(same)
            found.append(same[1])
        elif block.get("text"):
            found.append(text(block["text"]))
    return found


def call(id: str, name: str, arguments: Any) -> ChatDict:
    """A tool call. `arguments` is JSON text or a JSON value."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False, default=str)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": written}}


def arguments_of(chat_call: ChatDict) -> dict[str, Any]:
    """The arguments of a call as an object; text that isn't an object goes under a single key."""
    written = chat_call["function"]["arguments"]
    try:
        value = json.loads(written)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": written}


def tool(name: str, description: str, parameters: Any) -> ChatDict:
    """A tool in the format of chat requests."""
    function = {"name": name, "description": description or "", "parameters": parameters or {"type": "object"}}
    return {"type": "function", "function": function}
