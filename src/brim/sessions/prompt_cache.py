"""The provider's prompt cache: the breakpoints that Anthropic's requests mark, and where a request leaves the cache.

A client's own breakpoints stay; where it set none, Brim marks what is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brim.apis import APIS
from brim.apis.anthropic.cache_marks import EPHEMERAL, MARK, MARKABLE, MOST
from brim.apis.api import canonical
from brim.conversation import Conversation, Message, decode, encode
from brim.models import Model
from brim.models.caching import caching_of
from brim.planning.reports.decisions import CacheBreak
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


@dataclass(frozen=True, slots=True)
class SentTurn:
    """A request as received and as sent."""

    model: Model
    given: Conversation
    sent: Conversation


def cache_break(before: SentTurn, after: SentTurn, size: Callable[[Message], int]) -> CacheBreak | None:
    """The first difference between two consecutive requests; None if the later one begins with the earlier one.

    Providers cache tools, then instructions, then messages. A request that is shorter than what is cached at all
    loses nothing.

    Example: the client edited messages[3] -> CacheBreak("messages[3]", 18_020, 5_100, "message 3 was edited by …")
    """
    old, new = before.sent, after.sent
    at = _first_other(old.messages, new.messages)
    head, lost = 0, None
    for name, read, why in (("tools", _tools, "tools changed"), ("system", _system, "the instructions changed")):
        was, now = read(old), read(new)
        if not _same(was, now):
            told = why if not _same(read(before.given), read(after.given)) else "compaction of the instructions"
            lost = name, head + _common(was, now), told
            break
        head += len(was or b"")
    if before.model.name != after.model.name:
        lost = "model", 0, f"the model changed from {before.model.name} to {after.model.name}"
    if lost is None and at is None:
        return None
    sizes = [size(message) for message in old.messages]  # only now: a turn that only grows costs no more as it does
    if sum(sizes) < caching_of(before.model).least:
        return None
    if lost is not None:
        name, byte, told = lost
        return CacheBreak(name, byte, sum(sizes), told)
    assert at is not None
    byte = head + sum(len(message.raw) for message in old.messages[:at])
    byte += _common(old.messages[at].raw, new.messages[at].raw)
    return CacheBreak(f"messages[{at}]", byte, sum(sizes[at:]), _why(before, after))


def _why(before: SentTurn, after: SentTurn) -> str:
    """Why earlier messages are now sent differently: the client changed them, or Brim did."""
    was, now = before.given.messages, after.given.messages
    edited = _first_other(was, now)
    if edited is not None:
        return f"message {edited - after.given.lead} was edited by the client"
    if len(now) < len(was):
        return f"the client took back messages from {len(now) - after.given.lead} on"
    return "compaction"


def _first_other(old: Sequence[Message], new: Sequence[Message]) -> int | None:
    """The first index at which both lists have a message and they differ, ignoring cache breakpoints."""
    if old == new[: len(old)]:  # the same objects, as in most turns
        return None
    for place, (was, now) in enumerate(zip(old, new, strict=False)):
        if was is not now and was.digest != now.digest:
            return place
    return None


def _tools(conversation: Conversation) -> bytes | None:
    return conversation.tools


def _system(conversation: Conversation) -> bytes | None:
    return None if conversation.system is None else conversation.system.raw


def _same(was: bytes | None, now: bytes | None) -> bool:
    return was == now or (was is not None and now is not None and canonical(decode(was)) == canonical(decode(now)))


def _common(was: bytes | None, now: bytes | None) -> int:
    pairs = zip(was or b"", now or b"", strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(was or b""), len(now or b"")))
