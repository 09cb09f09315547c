"""Project context: large blocks inside the instructions, which must not starve everything else.

While the layers together are over the limit they shrink first, by what the current message asks, to what the others
leave, but not below a quarter of the room; below that only where this turn's context and the newest turn do not fit
beside them. What they then have they keep: everything else is planned into the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from brim.content import Compactor, handle_of, passages
from brim.content.detect.blocks import blocks
from brim.content.selection import shares
from brim.content.types import Room
from brim.conversation import Message, Part
from brim.planning.draft import Draft
from brim.planning.items import SYSTEM, current
from brim.planning.render import with_text
from brim.planning.reports.decisions import Decision
from brim.planning.request import PlanRequest

# Share of the room it keeps while anything except this turn can yield.
LEAST_SHARE = 0.25
# This turn and the newest are kept whole up to this share of the limit: what a quarter for the project leaves, less the
# current message.
TURN_SHARE = 0.7
# Tokens left of it if this turn needs everything: a mark for each block with its handle.
LEAST = 40
# Shorter blocks are part of the instructions.
BLOCK = 1_000
# What it is about is asked at the end of a message, or at its beginning: so many characters of each.
ASKED = 600
# What is kept free beside the parts, whose counts do not add up to the last token: a share of the room.
SLACK = 0.005
# Text, where passages are chosen over all of its files; of code, logs and tables their own compactors know more.
TEXT = ("xml", "markdown", "prose", "html")
LARGEST = 400_000


_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


@dataclass(frozen=True, slots=True)
class _Block:
    message: int
    part: int
    start: int
    end: int
    kind: str
    tokens: int


def shrunk(
    request: PlanRequest, draft: Draft, steps: list[Decision], archive: dict[str, str], limit: int | None = None
) -> Draft:
    """The draft with smaller blocks in its instructions, which are then fixed; unchanged if it fits.

    `steps` receives what happened to them, `archive` their originals.
    """
    limit = request.limit if limit is None else limit
    if limit <= 0 or any(index in draft.held for index in _places(draft)):
        return draft
    found = _blocks(request, draft)
    if not found or request.fits(draft.conversation):
        return draft
    room, others, turn = _needs(request, draft, found, limit)
    project = sum(block.tokens for block in found)
    most = min(project, max(room - others, int(LEAST_SHARE * room)), max(room - turn, LEAST * len(found)))
    if most >= project:
        return draft
    given = shares([block.tokens for block in found], most)
    new = dict(zip(found, given, strict=True))
    for index in {block.message for block in found}:
        draft = _with_blocks(
            request, draft, index, {b: t for b, t in new.items() if b.message == index}, steps, archive
        )
    return draft


def this_turn(request: PlanRequest, draft: Draft) -> frozenset[int]:
    """What yields last: this turn's context, and the previous turn if it is only talk.

    Empty if they take more than TURN_SHARE of the limit. Newest steps with tools have their own rule.
    """
    now = current(draft.messages) if draft.messages else -1
    turn = [n for n in range(_turn_before(draft, now), now) if n not in draft.layers]
    if any(draft.messages[n].calls or draft.messages[n].answers or draft.messages[n].role == "system" for n in turn):
        turn = []
    found = [*turn, *(n for n, layer in draft.layers.items() if layer == 3)]
    tokens = sum(request.counter.message(draft.messages[n]) for n in found)
    return frozenset(found) if tokens <= TURN_SHARE * request.limit else frozenset()


def _places(draft: Draft) -> list[int]:
    """The indexes of instructions: the system field, and messages with that role or layer."""
    found = [n for n, message in enumerate(draft.messages) if message.role == "system" or draft.layers.get(n) == 1]
    return [SYSTEM, *found] if draft.conversation.system is not None else found


def _message(draft: Draft, index: int) -> Message:
    system = draft.conversation.system
    return system if index == SYSTEM and system is not None else draft.messages[index]


def _blocks(request: PlanRequest, draft: Draft) -> list[_Block]:
    found: list[_Block] = []
    for index in _places(draft):
        for number, part in enumerate(_message(draft, index).parts):
            if part.kind != "text" or part.fixed or len(part.text) < BLOCK:
                continue
            for span in blocks(part.text, BLOCK):
                tokens = passages.guessed_tokens(part.text[span.start : span.end], request.counter.text)
                found.append(_Block(index, number, span.start, span.end, span.kind, tokens))
    return found


def _needs(request: PlanRequest, draft: Draft, found: Sequence[_Block], limit: int) -> tuple[int, int, int]:
    """The room beside instructions and the current message's words; what all else takes; what this turn takes."""
    size, count, messages = request.counter.message, request.counter.text, draft.messages
    instructions = set(_places(draft))
    bare = replace(draft.conversation, messages=(), system=None)
    words = sum(_outside(_message(draft, index), index, found, count) for index in instructions)
    now = current(messages) if messages else -1
    asked = size(messages[now]) if messages else 0
    others = {n: size(message) for n, message in enumerate(messages) if n not in instructions and n != now}
    begins = _turn_before(draft, now)
    turn = sum(tokens for n, tokens in others.items() if n >= begins or draft.layers.get(n) == 3)
    own = limit * limit // max(limit, request.size(limit))  # in the counter's tokens, where what counts is their bound
    room = own - (request.counter.head(bare) + words + asked)
    return max(0, int(room * (1 - SLACK))), sum(others.values()), turn


def _outside(message: Message, index: int, found: Sequence[_Block], count: Callable[[str], int]) -> int:
    """The tokens of a message outside its blocks."""
    tokens = 8
    for number, part in enumerate(message.parts):
        at = 0
        for block in found:
            if (block.message, block.part) == (index, number):
                tokens += count(part.text[at : block.start])
                at = block.end
        tokens += count(part.text[at:])
    return tokens


def _turn_before(draft: Draft, now: int) -> int:
    """The start of the newest turn before the current message."""
    for number in range(now - 1, -1, -1):
        message = draft.messages[number]
        if message.role == "user" and not message.answers and number not in draft.layers:
            return number
    return now


def _with_blocks(
    request: PlanRequest,
    draft: Draft,
    index: int,
    given: dict[_Block, int],
    steps: list[Decision],
    archive: dict[str, str],
) -> Draft:
    message, texts = _message(draft, index), {}
    for number, part in enumerate(message.parts):
        own = {block: tokens for block, tokens in given.items() if block.part == number and tokens < block.tokens}
        if not own:
            continue
        text, at = "", 0
        before, after, handle = 0, 0, ""
        for block, tokens in own.items():
            inside = part.text[block.start : block.end]
            short = _short(request, draft, block, inside, tokens)
            handle = handle or handle_of(inside)
            archive[handle_of(inside)] = inside
            text += part.text[at : block.start] + _between(inside, short)
            at = block.end
            before, after = before + block.tokens, after + request.counter.text(short)
        texts[number] = text + part.text[at:]
        steps.append(_decision(draft, (index, number), part, (before, after), handle))
    made = with_text(draft.conversation.api, message, texts)
    if index == SYSTEM:
        new = replace(draft.conversation, system=made)
    else:
        new = replace(draft.conversation, messages=(*draft.messages[:index], made, *draft.messages[index + 1 :]))
    return replace(draft, conversation=new, held=draft.held | {index})


def _between(inside: str, short: str) -> str:
    """The shown part of a block, with its tags on their own lines."""
    return ("\n" if inside.startswith("\n") else "") + short.strip("\n") + ("\n" if inside.endswith("\n") else "")


def _short(request: PlanRequest, draft: Draft, block: _Block, inside: str, tokens: int) -> str:
    room = Room(
        max(1, tokens - 2), request.counter.text, handle_of(inside), request.recall, asked_words(draft.messages)
    )
    if block.kind in TEXT or len(inside) > LARGEST:
        return passages.extract(inside, room)
    return Compactor(inside, request.counter.text).at(room).text


def asked_words(messages: Sequence[Message]) -> str:
    """The user's own words in the current message, last sentence first, because only so many terms are searched."""
    if not messages:
        return ""
    text = messages[current(tuple(messages))].text
    for span in reversed(blocks(text)):
        text = text[: span.start] + text[span.end :]
    ends = text if len(text) <= 2 * ASKED else f"{text[:ASKED]}\n{text[-ASKED:]}"
    return " ".join(reversed(_SENTENCE.findall(ends)))


def _decision(draft: Draft, at: tuple[int, int], part: Part, tokens: tuple[int, int], handle: str) -> Decision:
    where = "system" if at[0] == SYSTEM else draft.name(at[0])
    before, after = tokens
    reason = f"project context: the most useful {after / max(1, before):.0%} of it, beside what else has to fit"
    preview = " ".join(part.text[:120].split())[:80]
    name = f"{where}.parts[{at[1]}]"
    return Decision(name, "system", 1, "block", before, after, "outline", reason, handle, preview)
