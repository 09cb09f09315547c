"""The cost of a request, given its prices and how much of it is in the provider's prompt cache.

The tokens of a request are

    read     shared with the start of the conversation's previous request, and cached: price `cached`
    written  added to the cache, if the provider charges for that: price `written`
    fresh    all others: price `fresh`

A cache entry has at least 1,024 tokens and lasts some minutes after a request (if the recording has times). OpenAI and
Gemini cache automatically and charge nothing for writing. Anthropic caches up to a request's breakpoints
(`cache_control`), so a request without one neither reads nor writes.
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

# Providers don't cache shorter prompts.
LEAST = 1_024
# Eight bytes for the content and ids of each message, equal if a provider would cache two messages as one. A replay
# tracks thousands of conversations, so it doesn't keep the messages themselves.
Said: TypeAlias = "array[int]"


@dataclass(frozen=True, slots=True)
class Bill:
    """A request's tokens, those shared with the start of the previous request, and its price if known."""

    tokens: int
    reused: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class _Last:
    """The previous request: its messages, the ends of its cache entries, and its time."""

    head: int
    messages: Said
    ends: Sequence[int]
    at: float | None


class Bills:
    """Bills the requests of conversations, each against the previous one; forgets the least recently used ones."""

    def __init__(self, minutes: float, most: int) -> None:
        self._seconds = minutes * 60
        self._most = most
        self._last: OrderedDict[str, _Last] = OrderedDict()

    def bill(
        self, key: str, conversation: Conversation, counter: Counter, prices: Prices | None, at: float | None
    ) -> Bill:
        """The cost of a conversation's next request."""
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
    """The number of messages that two requests share from the start."""
    pairs = zip(before, now, strict=False)
    return next((number for number, (old, new) in enumerate(pairs) if old != new), min(len(before), len(now)))


def _ends(conversation: Conversation) -> Sequence[int]:
    """The message counts at which cache entries end; none if a request doesn't ask for caching."""
    count = len(conversation.messages)
    if not APIS[conversation.api].marks_cache:
        return range(count + 1)
    if "cache_control" in conversation.fields:
        return range(count + 1)
    heads = (conversation.tools or b"", conversation.system.raw if conversation.system else b"")
    ends = [0] if any(MARK in raw for raw in heads) else []
    return ends + [number for number, message in enumerate(conversation.messages, 1) if MARK in message.raw]
