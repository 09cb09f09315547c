"""What is pinned stays verbatim through every compaction: messages marked with `brim.pin`, or found by a pattern."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, overload

from brim import apis
from brim.conversation import Conversation, Message, decode, encode
from brim.errors import BadInput

# A pattern says at least so much: a single letter would pin the whole conversation.
LEAST = 3
# Patterns of one request come from outside: they are looked for in every message.
MOST, LONGEST = 32, 500


class PinnedText(str):
    """A text that says: the message that I stand in is pinned."""

    __slots__ = ()


class PinnedMessage(dict[str, Any]):
    """A message that is pinned; to an SDK it is the dict that it is."""


@overload
def pin(given: str) -> str: ...
@overload
def pin(given: Mapping[str, Any]) -> dict[str, Any]: ...
def pin(given: Any) -> Any:
    """Return a message, or a text for one, marked so that it stays verbatim through every compaction.

    Give the marked message to `brim.fit`, or to a session's `fit` or `say`: a session remembers it from then on.

    Example: session.say(brim.pin("Never touch the files under migrations/."))
    """
    if isinstance(given, str):
        return PinnedText(given)
    if isinstance(given, Mapping):
        return PinnedMessage(given)
    if hasattr(given, "model_dump"):
        return PinnedMessage(decode(encode(given)))
    raise BadInput("pin", f"must be a message or a text, not {type(given).__name__}")


def marked(request: Any, conversation: Conversation) -> frozenset[bytes]:
    """The digests of the messages that are marked in a request, as its conversation has them."""
    if isinstance(request, Mapping):
        request = request.get(apis.APIS[conversation.api].list_field)
    if not isinstance(request, (list, tuple)):
        return frozenset()
    messages = conversation.messages[conversation.lead :]
    return frozenset(message.digest for given, message in zip(request, messages, strict=False) if is_marked(given))


def is_marked(given: Any) -> bool:
    """Whether a message, or a text in it, was given by `pin`."""
    if isinstance(given, (PinnedText, PinnedMessage)):
        return True
    if isinstance(given, Mapping):
        return any(is_marked(given[key]) for key in ("content", "parts", "text") if key in given)
    return isinstance(given, list) and any(map(is_marked, given))


def pinned(messages: Sequence[Message], digests: Collection[bytes], patterns: Collection[str]) -> frozenset[int]:
    """Which messages are pinned: by their digests, or because what they say matches a pattern."""
    if not (digests or patterns):
        return frozenset()
    return frozenset(
        number
        for number, message in enumerate(messages)
        if (digests and message.digest in digests) or (patterns and matches(message, patterns))
    )


def matches(message: Message, patterns: Iterable[str]) -> bool:
    """Whether a pattern stands in what a message says. What tools returned is never said: it may hold anything.

    Example: "never edit*migrations" matches "Please never edit anything under migrations/."
    """
    said = "\n".join(part.text for part in message.parts if part.kind == "text").casefold()
    return any(_stands_in(pattern, said) for pattern in patterns) if said and not message.answers else False


def _stands_in(pattern: str, text: str) -> bool:
    at = 0
    for piece in pattern.casefold().split("*"):
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def problem(patterns: Any) -> str:
    """What is wrong with patterns; empty if nothing is."""
    if isinstance(patterns, str) or not isinstance(patterns, (list, tuple)):
        return "must be a list of texts"
    if len(patterns) > MOST:
        return f"may have at most {MOST} texts, not {len(patterns)}"
    for pattern in patterns:
        if not isinstance(pattern, str) or not LEAST <= len(pattern.replace("*", "").strip()) <= LONGEST:
            return f"each must be a text of {LEAST} to {LONGEST} characters beside its *, not {str(pattern)[:40]!r}"
    return ""
