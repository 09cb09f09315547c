"""Context attached to a request: this turn's (L3) and that of earlier turns (L2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from brim import apis
from brim.content import handle_of
from brim.content.documents.xml_blocks import prior_context
from brim.conversation import Message
from brim.errors import BadInput
from brim.planning.draft import Draft
from brim.planning.items import current

NOTE = "Earlier context is shown in short; ask for its source to read it in full."
# Context up to this length is carried whole.
SMALL = 1_000
PIECES = "must be a text or a brim.Attachment(text, source=…)"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A piece of context. One that can't be fetched again, such as a user's selection, is `recoverable=False`."""

    text: str
    source: str = ""
    type: str = "note"
    recoverable: bool = True

    def __post_init__(self) -> None:
        for name in ("text", "source", "type"):
            if not isinstance(getattr(self, name), str):
                raise BadInput(f"Attachment.{name}", f"must be text, not {type(getattr(self, name)).__name__}")

    def block(self) -> str:
        return self._within("context")

    def carried(self, preview: int) -> str:
        """The block that represents it once it is context of an earlier turn."""
        if not self.shortens:
            return self.prior()
        return prior_context(self._enclosed("prior_context"), self.source, self.type, preview)

    @property
    def shortens(self) -> bool:
        """Whether carrying it omits something."""
        return self.recoverable and len(self.text) > SMALL

    def prior(self) -> str:
        return self._within("prior_context")

    def _within(self, tag: str) -> str:
        """Its text between tags, escaped only if it would close them."""
        source, kind = quoteattr(self.source), quoteattr(self.type)
        return f"<{tag} source={source} type={kind}>\n{self._enclosed(tag)}\n</{tag}>"

    def _enclosed(self, tag: str) -> str:
        return self.text.replace(f"</{tag}", f"<\\/{tag}")


def made(context: Attachment | str | Iterable[Attachment | str] | None, at: str = "context") -> list[Attachment]:
    """Attachments from what a caller gave, one or several. Raises BadInput that names the place `at`.

    Example: "a text" -> [Attachment("a text")]
    """
    if not context and (context is None or isinstance(context, str)):
        return []
    if isinstance(context, (Attachment, str)):
        return [_piece(context, at)]
    if not isinstance(context, Iterable) or isinstance(context, (bytes, bytearray, memoryview, Mapping)):
        raise BadInput(at, f"{PIECES} or a list of them, not {type(context).__name__}")
    return [_piece(piece, f"{at}[{number}]") for number, piece in enumerate(context)]


def _piece(given: Any, at: str) -> Attachment:
    if not isinstance(given, (Attachment, str)):
        raise BadInput(at, f"{PIECES}, not {type(given).__name__}")
    return given if isinstance(given, Attachment) else Attachment(given)


def not_in(earlier: Iterable[Attachment], newer: Iterable[Attachment]) -> list[Attachment]:
    """Earlier context that newer context doesn't replace; for each source, the newest text counts.

    Example: [a.md "old", b.md "text"], [a.md "new"] -> [b.md "text"]
    """
    again = list(newer)
    places, texts = {(piece.source, piece.type) for piece in again if piece.source}, {piece.text for piece in again}
    return [piece for piece in earlier if (piece.source, piece.type) not in places and piece.text not in texts]


def originals(carried: Iterable[Any]) -> dict[str, str]:
    """The originals of what carrying omits, by handle."""
    return {handle_of(piece.text): piece.text for piece in made(carried) if piece.shortens}


def _note(carried: Iterable[Attachment]) -> str:
    """A note on how to read what is shown in short. Example: "Earlier … in full. Kept: plan.md brim:3f2a9c01." """
    kept = ", ".join(f"{piece.source or piece.type} {handle_of(piece.text)}" for piece in carried if piece.shortens)
    return f"{NOTE} Kept: {kept}."


def attached(draft: Draft, context: Iterable[Any], carried: Iterable[Any], preview: int | None) -> Draft:
    """The draft with context messages before the current one; whole unless a `preview` length is given.

    Context that can't be fetched again gets its own messages, which stay unchanged.
    """
    before, now = made(carried), made(context)
    if not (before or now):
        return draft
    at = _place(draft.messages)
    for layer, pieces, held in ((3, now, True), (3, now, False), (2, before, True), (2, before, False)):
        chosen = [piece for piece in pieces if piece.recoverable != held]
        if layer == 3:
            blocks = [piece.block() for piece in chosen]
        else:
            blocks = [piece.prior() if preview is None else piece.carried(preview) for piece in chosen]
            blocks += [_note(chosen)] if preview is not None and any(piece.shortens for piece in chosen) else []
        if blocks:
            message = apis.text_message(draft.conversation.api, "user", "\n\n".join(blocks))
            draft = draft.inserted(at, message, named(chosen), layer, held=held)
    return draft


def named(pieces: Iterable[Attachment]) -> str:
    """What a report calls a message with these pieces. Example: "context a.md, b.md" """
    return f"context {', '.join(piece.source for piece in pieces if piece.source)}".strip()


def _place(messages: tuple[Message, ...]) -> int:
    """Where context goes: before the current message, and before its calls if it answers some."""
    at = max(0, current(messages))
    open_calls = set(messages[at].answers) if messages else set()
    while open_calls and at > 0:
        at -= 1
        open_calls = (open_calls | set(messages[at].answers)) - set(messages[at].calls)
    return at
