"""Cache breakpoints of Anthropic requests: where a client set some they are its own, else they mark what is stable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from brim.conversation import Conversation, Message, decode, encode
from brim.memory.view import Entry
from brim.plan.work import Work
from brim.wire import APIS

MARK = b'"cache_control"'
EPHEMERAL = {"type": "ephemeral"}
# Blocks that may carry a breakpoint.
MARKABLE = ("text", "tool_use", "tool_result", "image", "document")


def has_breakpoints(conversation: Conversation) -> bool:
    """Whether a client set any, in tools, system or messages."""
    heads = [conversation.tools or b"", conversation.system.raw if conversation.system else b""]
    return any(MARK in raw for raw in (*heads, *(message.raw for message in conversation.messages)))


def unmarked(message: Message) -> Message:
    """The message without breakpoints: one that stands in another form than it was given has none of its own."""
    if MARK not in message.raw:
        return message
    value = decode(message.raw)
    if isinstance(value.get("content"), list):
        _strip(value["content"])
    return APIS["anthropic"].messages.get(encode(value), "fitted message")


def bare(entry: Entry) -> Entry:
    """An entry as it is sent: without breakpoints, unless it is a message as it was given."""
    return entry if entry.kind == "as is" else replace(entry, message=unmarked(entry.message))


def _strip(blocks: list[Any]) -> None:
    for block in blocks:
        if isinstance(block, dict):
            block.pop("cache_control", None)
            if isinstance(block.get("content"), list):
                _strip(block["content"])


def with_breakpoint(work: Work, sent: Conversation, place: int) -> Conversation:
    """The conversation with a breakpoint at the end of the message at this place, if its client set none anywhere.

    One that would not fit with it is left alone.
    """
    if has_breakpoints(sent) or not 0 <= place < len(sent.messages):
        return sent
    messages = (*sent.messages[:place], _marked(sent.messages[place]), *sent.messages[place + 1 :])
    new = replace(sent, messages=messages)
    return new if work.total(new) <= work.limit else sent


def _marked(message: Message) -> Message:
    value = decode(message.raw)
    content = value.get("content")
    if isinstance(content, str):
        if not content:
            return message
        value["content"] = [{"type": "text", "text": content, "cache_control": EPHEMERAL}]
    elif isinstance(content, list) and content and isinstance(content[-1], dict) and _may_carry(content[-1]):
        content[-1]["cache_control"] = EPHEMERAL
    else:
        return message
    return APIS["anthropic"].messages.get(encode(value), "fitted message")


def _may_carry(block: dict[str, Any]) -> bool:
    return block.get("type") in MARKABLE and not (block.get("type") == "text" and not block.get("text"))
