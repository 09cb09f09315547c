"""Where a request diverges from the previous one, so that the provider's prompt cache ends there, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from brim.apis.api import canonical
from brim.conversation import Conversation, Message, decode
from brim.models import Model
from brim.models.caching import caching_of
from brim.planning.reports.decisions import CacheBreak


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
