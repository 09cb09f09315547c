"""Messages with some of their parts changed: what a plan decided, written into the message it was decided for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from brim.apis import APIS
from brim.conversation import DROP, Message, Part, Path, changed, encode
from brim.planning.items import Item

# What is left of a message of which everything else goes.
SIGN = "[…]"


def rebuilt(api: str, message: Message, items: Sequence[Item]) -> Message:
    """The message with the texts that its items now have; the message itself if nothing is changed."""
    if not [item for item in items if item.shown is not None]:
        return message
    edits: dict[Path, Any] = {}
    by_part: dict[int, list[Item]] = {}
    for item in items:
        by_part.setdefault(item.part, []).append(item)
    for number, pieces in by_part.items():
        if any(piece.shown is not None for piece in pieces):
            part = message.parts[number]
            edits[_place(part, pieces)] = _leaf(api, part, pieces)
    _keep_one(api, message, edits)
    return _changed(api, message, edits)


def with_text(api: str, message: Message, texts: Mapping[int, str]) -> Message:
    """The message with other texts in some of its parts; a block for which there is none is left out."""
    edits: dict[Path, Any] = {}
    for number, text in texts.items():
        part = message.parts[number]
        edits[part.at if text or not part.block else part.block] = text if text or not part.block else DROP
    return _changed(api, message, edits)


def _changed(api: str, message: Message, edits: dict[Path, Any]) -> Message:
    spec = APIS[api]
    raw = encode(changed(message.value, edits))
    interned = spec.messages if message.role != "system" or spec.systems is None or _inline(message) else spec.systems
    return interned.get(raw, "fitted message")


def _inline(message: Message) -> bool:
    """Whether a system message is one of the list rather than a field of its own."""
    value = message.value
    return isinstance(value, dict) and "role" in value


def _place(part: Part, pieces: Sequence[Item]) -> Path:
    """Where the edit goes: the leaf, or the whole block when nothing is left of it."""
    text = _text(pieces)
    if pieces[0].kind == "media" or (not text and part.block and not part.json):
        return part.at if pieces[0].kind == "media" else part.block
    return part.at


def _text(pieces: Sequence[Item]) -> str:
    ordered = sorted(pieces, key=lambda piece: piece.start)
    return "".join(piece.text if piece.shown is None else piece.shown for piece in ordered)


def _leaf(api: str, part: Part, pieces: Sequence[Item]) -> Any:
    text = _text(pieces)
    if pieces[0].kind == "media":
        return APIS[api].text_block(text) if text else DROP
    if not text and part.block and not part.json:
        return DROP
    if not part.json:
        return text
    if part.kind == "call":
        return json.loads(text)
    # A result that must be an object: compact text is one field of it.
    return {"result": text}


def _keep_one(api: str, message: Message, edits: dict[Path, Any]) -> None:
    """A message must say something: the last part that would go leaves a sign instead."""
    blocks = [part.block for part in message.parts]
    if all(edits.get(block) is DROP for block in blocks):
        part = next((part for part in message.parts if part.kind == "text"), None)
        if part is not None:
            del edits[part.block]
            edits[part.at] = SIGN
        elif message.role == "user" and blocks and blocks[0]:
            edits[blocks[0]] = APIS[api].text_block(SIGN)
