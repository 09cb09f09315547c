"""How a message enters a view that has been full before: without what takes room but says nothing."""

from __future__ import annotations

from collections.abc import Callable

from brim.content import Compactor, Hint, handle_of
from brim.content.detect.blocks import elements, label
from brim.content.types import Room
from brim.conversation import Message
from brim.planning.attachments import SMALL as SHORT
from brim.planning.attachments import Attachment
from brim.planning.render import with_text
from brim.tokens.counter import Counter

# A smaller result isn't worth another form.
SMALL = 60
# A lossless form must save at least this share to be worth reading in place of the original.
SAVES = 0.1
# The share of the budget that one saved result may take.
SAVED_SHARE = 0.1


def arrived(
    message: Message, counter: Counter, limit: int, keep: Callable[[str], str], recall: bool = False
) -> Message:
    """The message with its results re-encoded losslessly, and cut to the share that one result may take."""
    texts: dict[int, str] = {}
    for number, (part, size) in enumerate(zip(message.parts, counter.parts(message), strict=True)):
        if part.kind != "result" or part.fixed or part.json or size < SMALL:
            continue
        steps = Compactor(part.text, counter.text, hint=Hint(tool=part.name))
        most = max(SMALL, int(SAVED_SHARE * limit))
        form = steps.dense()
        taken = counter.text(form.text) if form is not None else size
        if taken > most:
            room = Room(most, counter.text, handle_of(part.text), recall)
            form, taken = steps.at(room), most
        if form is not None and taken <= size * (1 - SAVES):
            texts[number] = form.text
            if form.fidelity == "recoverable":
                keep(part.text)
    return with_text(counter.api, message, texts) if texts else message


def with_words_alone(message: Message, api: str, preview: int, keep: Callable[[str], str]) -> Message:
    """A message of the user with its words, and in the place of each long element in it what is carried of context."""
    texts: dict[int, str] = {}
    for number, part in enumerate(message.parts):
        if part.kind != "text" or part.fixed or part.json or len(part.text) <= SHORT:
            continue
        text = _with_previews(part.text, preview, keep)
        if len(text) < len(part.text):
            texts[number] = text
    return with_text(api, message, texts) if texts else message


def _with_previews(text: str, preview: int, keep: Callable[[str], str]) -> str:
    """A text whose long elements, where their tags begin a line, are shown in short under their handles."""
    found, at = "", 0
    for start, end, name, attributes in sorted(elements(text)):
        opening = text.rfind("<", 0, start)
        line = text[text.rfind("\n", 0, opening) + 1 : opening]
        if opening < at or end - start <= SHORT or name == "prior_context" or line.strip():
            continue
        inner = text[start:end]
        block = Attachment(inner.strip("\n"), label(name, attributes), name).carried(preview)
        mark = f"\n[in full: {handle_of(inner)}]\n</prior_context>"
        found += text[at:opening] + block.removesuffix("\n</prior_context>") + mark
        at = end + len(name) + 3
        keep(inner)
    return found + text[at:]
