"""What a request costs: how much of it the provider has in its prompt cache from the request before, and the prices.

Of the tokens of a request

    read     stood at the start of the conversation's request before, and in the cache: price `cached`
    written  go into the cache, where a provider takes a price for that: price `written`
    fresh    all others: price `fresh`

A cache holds from 1,024 tokens on and for so many minutes after a request (where the recording tells times). OpenAI
and Gemini cache by themselves and take nothing for writing. Anthropic caches up to the breakpoints (`cache_control`)
that a request has, so a request without one neither reads nor writes.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from brim.apis import APIS
from brim.apis.anthropic.cache_marks import MARK
from brim.conversation import Conversation
from brim.models import Prices
from brim.tokens.counter import Counter

# Providers cache no prompt that is shorter.
LEAST = 1_024
# Eight bytes for what each message says and under which ids: the same for two that a provider caches as one. A
# replay remembers thousands of conversations, so what they said is not kept itself.
Said: TypeAlias = "array[int]"


@dataclass(frozen=True, slots=True)
class Bill:
    """One request: its tokens, those that the request before began with too, and its price if that is known."""

    tokens: int
    reused: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class _Last:
    """The request before: what it began with, the places where a cache entry of it ends, and when it was."""

    head: int
    messages: Said
    ends: Sequence[int]
    at: float | None


class Bills:
    """Bills the requests of conversations, each against the one before it; the least used are forgotten."""

    def __init__(self, minutes: float, most: int) -> None:
        self._seconds = minutes * 60
        self._most = most
        self._last: OrderedDict[str, _Last] = OrderedDict()

    def bill(
        self, key: str, conversation: Conversation, counter: Counter, prices: Prices | None, at: float | None
    ) -> Bill:
        """What a conversation's next request costs."""
        sizes = list(accumulate(map(counter.message, conversation.messages), initial=counter.head(conversation)))
        total = sizes[-1]
        head = hash((conversation.api, conversation.tools, conversation.system.digest if conversation.system else b""))
        last = self._last.get(key)
        alike = last is not None and last.head == head
        said = array("q", [hash((one.digest, one.calls, one.answers)) for one in conversation.messages])
        common = _common(last.messages, said) if last and alike else 0
        ends = _ends(conversation)
        self._keep(key, _Last(head, said, ends, at))
        reused = min(total, sizes[common]) if alike else 0
        if prices is None:
            return Bill(total, reused, None)
        if prices.cached is None or not ends:
            return Bill(total, reused, prices.cost(total))
        warm = last if alike and last and self._is_warm(last.at, at) else None
        read = sizes[max((end for end in warm.ends if end <= common), default=0)] if warm and warm.ends else 0
        read = read if read >= LEAST else 0
        stored = sizes[ends[-1]]
        written = max(0, stored - read) if prices.written is not None and stored >= LEAST else 0
        return Bill(total, reused, prices.cost(total - read - written, read, written))

    def _is_warm(self, before: float | None, now: float | None) -> bool:
        return before is None or now is None or now - before <= self._seconds

    def _keep(self, key: str, last: _Last) -> None:
        self._last[key] = last
        self._last.move_to_end(key)
        if len(self._last) > self._most:
            self._last.popitem(last=False)


def _common(before: Said, now: Said) -> int:
    """How many messages two requests have in common from their start."""
    pairs = zip(before, now, strict=False)
    return next((number for number, (old, new) in enumerate(pairs) if old != new), min(len(before), len(now)))


def _ends(conversation: Conversation) -> Sequence[int]:
    """After how many messages an entry of the cache ends; none where a request asks for no caching."""
    count = len(conversation.messages)
    if not APIS[conversation.api].marks_cache:
        return range(count + 1)
    if "cache_control" in conversation.fields:
        return range(count + 1)
    heads = (conversation.tools or b"", conversation.system.raw if conversation.system else b"")
    ends = [0] if any(MARK in raw for raw in heads) else []
    return ends + [number for number, message in enumerate(conversation.messages, 1) if MARK in message.raw]
