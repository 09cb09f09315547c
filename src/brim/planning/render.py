"""Rendering: writes a plan's decisions into the messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.apis import APIS
from brim.conversation import DROP, Message, Part, Path, changed, encode
from brim.planning.items import SYSTEM, Item
from brim.planning.plan import ArchivedMessages, Plan
from brim.planning.state import PlanState

# What is left of a message when everything else goes.
SIGN = "[…]"


def rendered(state: PlanState) -> Plan:
    """The conversation to send, counted, with the summary in place."""
    conversation, by_message = state.conversation, _by_message(state)
    shown = {index: rebuilt(conversation.api, state.message(index), items) for index, items in by_message.items()}
    archived = [member for group in state.groups if not group.kept for member in group.members]
    gone = ArchivedMessages.of([conversation.messages[index] for index in archived]) if archived else None
    kept = sorted(shown.keys() - {SYSTEM})
    before = _summary_before(state, kept, archived) if archived else None
    messages: list[Message] = []
    places: list[int] = []
    for index in kept:
        speaks = not state.summary.silent or conversation.messages[index].role == "assistant"
        if index == before and gone is not None and speaks:
            messages.append(state.summary.message(len(archived), gone.handle))
            places.append(-1)
        messages.append(shown[index])
        places.append(index)
    new = replace(conversation, messages=tuple(messages), system=shown.get(SYSTEM, conversation.system))
    total = state.request.size(state.counter.total(new))
    return Plan(new, total, state.groups, state.forms.archive, gone, archived, draft=state.draft, places=places)


def _summary_before(state: PlanState, kept: Sequence[int], archived: Sequence[int]) -> int | None:
    """Before which kept message the summary stands: where the first message was removed, so that what was sent
    before it stays as it was; first of all where an answer would speak first.
    """
    messages, api = state.conversation.messages, APIS[state.conversation.api]
    told = [n for n in kept if messages[n].role != "system" and state.draft.layers.get(n) != 1]
    if not told or state.summary.silent or api.calls_after_user or messages[told[0]].role != "user":
        return told[0] if told else None
    return next((index for index in told if index > archived[0]), told[0])


def _by_message(state: PlanState) -> dict[int, list[Item]]:
    found: dict[int, list[Item]] = {}
    for group in state.groups:
        if group.kept:
            for member in group.members:
                found.setdefault(member, [])
            for item in group.items:
                found[item.message].append(item)
    return found


def rebuilt(api: str, message: Message, items: Sequence[Item]) -> Message:
    """The message with its items' new texts; the same object if nothing changed."""
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
    """The message with new texts for some parts; a block without a text is removed."""
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
    """Whether a system message is in the list rather than in its own field."""
    value = message.value
    return isinstance(value, dict) and "role" in value


def _place(part: Part, pieces: Sequence[Item]) -> Path:
    """Where the edit goes: the leaf, or the whole block if nothing is left of it."""
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
    # A result that must be an object gets the compact text as a field.
    return {"result": text}


def _keep_one(api: str, message: Message, edits: dict[Path, Any]) -> None:
    """A message must not be empty, so the last part that would go leaves a sign instead."""
    blocks = [part.block for part in message.parts]
    if all(edits.get(block) is DROP for block in blocks):
        part = next((part for part in message.parts if part.kind == "text"), None)
        if part is not None:
            del edits[part.block]
            edits[part.at] = SIGN
        elif message.role == "user" and blocks and blocks[0]:
            edits[blocks[0]] = APIS[api].text_block(SIGN)
