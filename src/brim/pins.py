"""Pinned messages stay verbatim through every compaction: those marked with `brim.pin` or matched by a pattern."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, overload

from brim import apis
from brim.conversation import Conversation, Message, decode, encode
from brim.errors import BadInput

# The shortest pattern; a single letter would pin the whole conversation.
LEAST = 3
# The most patterns of a request, and their longest length, because patterns come from outside and are matched against
# every message.
MOST, LONGEST = 32, 500


class PinnedText(str):
    """A text that pins the message it is in."""

    __slots__ = ()


class PinnedMessage(dict[str, Any]):
    """A pinned message; for an SDK it is an ordinary dict."""


@overload
def pin(given: str) -> str: ...
@overload
def pin(given: Mapping[str, Any]) -> dict[str, Any]: ...
def pin(given: Any) -> Any:
    """Return a message, or its text, marked to stay verbatim through every compaction.

    Pass the marked message to `brim.fit`, or to a session's `fit` or `say`, which remembers it from then on.

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
    """The digests of the marked messages in a request, as in its conversation."""
    if isinstance(request, Mapping):
        request = request.get(apis.APIS[conversation.api].list_field)
    if not isinstance(request, (list, tuple)):
        return frozenset()
    messages = conversation.messages[conversation.lead :]
    return frozenset(message.digest for given, message in zip(request, messages, strict=False) if is_marked(given))


def is_marked(given: Any) -> bool:
    """Whether a message, or a text in it, was marked by `pin`."""
    if isinstance(given, (PinnedText, PinnedMessage)):
        return True
    if isinstance(given, Mapping):
        return any(is_marked(given[key]) for key in ("content", "parts", "text") if key in given)
    return isinstance(given, list) and any(map(is_marked, given))


def pinned(messages: Sequence[Message], digests: Collection[bytes], patterns: Collection[str]) -> frozenset[int]:
    """The pinned messages, by their digests or because their text matches a pattern."""
    if not (digests or patterns):
        return frozenset()
    return frozenset(
        number
        for number, message in enumerate(messages)
        if (digests and message.digest in digests) or (patterns and matches(message, patterns))
    )


def matches(message: Message, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches the text of a message. Tool results never match, because they may contain anything.

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
    """What is wrong with patterns; empty if they are valid."""
    if isinstance(patterns, str) or not isinstance(patterns, (list, tuple)):
        return "must be a list of texts"
    if len(patterns) > MOST:
        return f"may have at most {MOST} texts, not {len(patterns)}"
    for pattern in patterns:
        if not isinstance(pattern, str) or not LEAST <= len(pattern.replace("*", "").strip()) <= LONGEST:
            return f"each must be a text of {LEAST} to {LONGEST} characters beside its *, not {str(pattern)[:40]!r}"
    return ""
