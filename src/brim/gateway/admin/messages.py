"""The messages of a request as plain values, for the JSON API and the dashboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from brim.conversation import Conversation
from brim.sessions.auto_recall import HEADER
from brim.tokens.counter import Counter

# Longer texts are cut; a page with them would not open.
LONGEST_TEXT = 200_000
# How the summary of archived messages begins.
_SUMMARY = re.compile(r"\[[\d,]+ earlier messages? archived")


def messages_of(
    conversation: Conversation, redact: Callable[[str], str], counter: Counter | None
) -> list[dict[str, Any]]:
    """Every message with its position (-1 is the system field), tools and tokens, and the kind of what Brim added."""
    listed = [*([conversation.system] if conversation.system else []), *conversation.messages]
    return [
        {
            "at": at,
            "role": message.role,
            "brim": "recall" if message.text.startswith(HEADER) else "summary" if _SUMMARY.match(message.text) else "",
            "digest": message.digest.hex()[:16],
            "text": redact(message.text[:LONGEST_TEXT]),
            "calls": list(message.calls),
            "answers": list(message.answers),
            "tools": {part.call: part.name for part in message.parts if part.kind == "call"},
            "tokens": counter.message(message) if counter is not None else None,
        }
        for at, message in enumerate(listed, -1 if conversation.system else 0)
    ]
