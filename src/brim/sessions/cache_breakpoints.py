"""Cache breakpoints of Anthropic requests: the client's own if it set any, otherwise Brim marks what is stable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.apis import APIS
from brim.apis.anthropic.cache_marks import EPHEMERAL, MARK, MARKABLE, MOST
from brim.conversation import Conversation, Message, decode, encode
from brim.planning.request import PlanRequest
from brim.sessions.view import Entry, View


def has_breakpoints(conversation: Conversation) -> bool:
    """Whether a client set any breakpoints, in tools, system or messages."""
    return _count(conversation) > 0


def unmarked(message: Message) -> Message:
    """The message without breakpoints, for one that isn't in its original form."""
    if MARK not in message.raw:
        return message
    value = decode(message.raw)
    if isinstance(value.get("content"), list):
        _strip(value["content"])
    return APIS["anthropic"].messages.get(encode(value), "fitted message")


def bare(entry: Entry) -> Entry:
    """An entry's message, without breakpoints unless it is in its original form."""
    return entry if entry.kind == "as is" else replace(entry, message=unmarked(entry.message))


def _strip(blocks: list[Any]) -> None:
    for block in blocks:
        if isinstance(block, dict):
            block.pop("cache_control", None)
            if isinstance(block.get("content"), list):
                _strip(block["content"])


def end_of(sent: Sequence[Message]) -> tuple[int, str]:
    """The end of what was sent: the number of messages and the digest of the last one."""
    return len(sent), sent[-1].digest.hex() if sent else ""


def ended(before: tuple[int, str], now: Sequence[Message]) -> int:
    """The index of the last message sent before, if the request now continues after it; otherwise -1."""
    length, last = before
    return length - 1 if 0 < length <= len(now) and now[length - 1].digest.hex() == last else -1


def lost_marks(view: View, log: Sequence[Message]) -> dict[int, Any]:
    """The client's breakpoints on messages of a view that are now in another form, with their places.

    One on an archived message moves to the end of what is settled.
    """
    shown = {entry.start: place for place, entry in enumerate(view.entries) if entry.end > entry.start}
    found: dict[int, Any] = {}
    for number, message in enumerate(log):
        if MARK in message.raw:
            place = shown.get(number, view.settled - 1)
            if place >= 0 and MARK not in view.entries[place].message.raw:
                found[place] = _mark_of(decode(message.raw))
    return found


def _mark_of(value: Any) -> Any:
    """The last breakpoint in a message."""
    blocks = value.get("content") if isinstance(value, dict) else None
    for block in reversed(blocks if isinstance(blocks, list) else []):
        found = block.get("cache_control") or _mark_of(block) if isinstance(block, dict) else None
        if found:
            return found
    return None


def with_breakpoints(
    work: PlanRequest, sent: Conversation, places: Sequence[int], lost: Mapping[int, Any]
) -> Conversation:
    """The conversation with breakpoints at the end of some messages, if its client set none.

    Where a client set some, those that it lost are set again. There are never more than four in all, the last ones;
    a request that would not fit with them is left alone.
    """
    marks: Mapping[int, Any] = lost
    if not lost:
        if has_breakpoints(sent):
            return sent
        marks = dict.fromkeys((place for place in places if 0 <= place < len(sent.messages)), EPHEMERAL)
    room = max(0, MOST - _count(sent))
    messages = list(sent.messages)
    for place in sorted(marks)[-room:] if room else []:
        messages[place] = _marked(messages[place], marks[place] or EPHEMERAL)
    new = replace(sent, messages=tuple(messages))
    return new if work.total(new) <= work.limit else sent


def _count(conversation: Conversation) -> int:
    heads = [conversation.tools or b"", conversation.system.raw if conversation.system else b""]
    return sum(raw.count(MARK) for raw in (*heads, *(message.raw for message in conversation.messages)))


def _marked(message: Message, mark: Any) -> Message:
    value = decode(message.raw)
    content = value.get("content")
    if isinstance(content, str):
        if not content:
            return message
        value["content"] = [{"type": "text", "text": content, "cache_control": mark}]
    elif isinstance(content, list) and content and isinstance(content[-1], dict) and _may_carry(content[-1]):
        content[-1]["cache_control"] = mark
    else:
        return message
    return APIS["anthropic"].messages.get(encode(value), "fitted message")


def _may_carry(block: dict[str, Any]) -> bool:
    return block.get("type") in MARKABLE and not (block.get("type") == "text" and not block.get("text"))
