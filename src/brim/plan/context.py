"""Context that is attached to a request: this turn's (L3), and what earlier turns carried (L2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from brim import wire
from brim.conversation import Conversation
from brim.ladders.xmlblocks import prior_context
from brim.plan.items import current

NOTE = "Earlier context is shown in short; ask for its source to read it in full."
# Context that is no longer than this is carried as it is.
SMALL = 1_000


@dataclass(frozen=True, slots=True)
class Attachment:
    """A piece of context. What cannot be fetched again (a user's selection) is `recoverable=False`."""

    text: str
    source: str = ""
    type: str = "note"
    recoverable: bool = True

    def block(self) -> str:
        return f"<context source={quoteattr(self.source)} type={quoteattr(self.type)}>\n{escape(self.text)}\n</context>"

    def carried(self, preview: int) -> str:
        """The block that it becomes when it is context of an earlier turn."""
        if not self.recoverable or len(self.text) <= SMALL:
            head = f"<prior_context source={quoteattr(self.source)} type={quoteattr(self.type)}>"
            return f"{head}\n{escape(self.text)}\n</prior_context>"
        return prior_context(self.text, self.source, self.type, preview)


def made(context: Iterable[Attachment | str]) -> list[Attachment]:
    return [piece if isinstance(piece, Attachment) else Attachment(piece) for piece in context]


def attached(
    conversation: Conversation, context: Iterable[Any], carried: Iterable[Any], preview: int
) -> tuple[Conversation, dict[int, int]]:
    """The conversation with context messages before the current one, and the layers of those messages."""
    earlier = [piece.carried(preview) for piece in made(carried)]
    now = [piece.block() for piece in made(context)]
    if any(text.startswith("<prior_context") for text in earlier) and any(p.recoverable for p in made(carried)):
        earlier.append(NOTE)
    at = current(conversation.messages)
    new = list(conversation.messages)
    layers: dict[int, int] = {}
    for layer, blocks in ((3, now), (2, earlier)):
        if blocks:
            new.insert(max(0, at), wire.text_message(conversation.api, "user", "\n\n".join(blocks)))
            layers = {index + 1: which for index, which in layers.items()} | {max(0, at): layer}
    if not layers:
        return conversation, {}
    return replace(conversation, messages=tuple(new)), layers
