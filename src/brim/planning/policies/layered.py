"""Policy `layered`: one total budget over five layers, enforced where they come together.

Context blocks shrink when what the instructions leave is too little for them; then the oldest complete turns go,
never the most recent one; then long answers are shortened; then the user is warned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from brim import apis
from brim.content import handle_of
from brim.content.documents import xml_blocks
from brim.content.selection import shares
from brim.content.types import Room
from brim.conversation import Message
from brim.planning.attachments import attached, named, originals
from brim.planning.draft import Draft
from brim.planning.forms import TINY
from brim.planning.items import current
from brim.planning.plan import Notice, Plan, kept_whole, told
from brim.planning.policies import agent
from brim.planning.policies.policy import LayeredPolicy
from brim.planning.policies.summaries import block_summary
from brim.planning.project_context import shrunk
from brim.planning.render import with_text
from brim.planning.reports.decisions import Decision
from brim.planning.request import PlanRequest, query_of

# The least to keep of context that has to be cut.
LEAST = 32
# Tokens by which one handle may be longer than another.
NOTICE = 8


def plan(request: PlanRequest, policy: LayeredPolicy) -> Plan:
    steps: list[Decision] = []
    archive = originals(request.carried)
    warnings: list[Notice] = []
    draft = attached(Draft(request.conversation), request.context, request.carried, policy.preview_chars)
    draft = _blocks_summarised(request, policy, shrunk(request, draft, steps, archive), steps, archive)
    gone, turns = _oldest_turns(request, draft)
    dropped = draft.given(gone)
    if gone:
        which = f"the {turns:,} oldest turns" if turns > 1 else "the oldest turn"
        warning = f"{which} ({len(gone):,} messages) {'were' if turns > 1 else 'was'} dropped to fit the budget"
        warnings.append(Notice(warning, {"turns": turns, "messages": len(gone)}))
        kept = kept_whole([draft.messages[index] for index in gone])
        steps += told(request, dropped, "dropped", "one of the oldest turns of a history that is over its budget", kept)
        archive |= kept
        notice = _notice(request, len(gone), turns, next(iter(kept)))
        draft = draft.without(gone).inserted(gone[0], notice, "notice of dropped turns")
    for layers in ((2,), (), (3,)):  # carried context, then the newest answers, then this turn's context
        if request.fits(draft.conversation):
            break
        if layers:
            draft = _shorten_context(request, draft, layers, steps, archive)
        else:
            draft = _shorten_answers(request, policy.answer_chars, draft, steps, archive)
    if not request.fits(draft.conversation):
        warning = "the request is over its budget even with only the most recent turn: more of it was compacted"
        warnings.append(Notice(warning, {"tokens": request.total(draft.conversation), "budget": request.limit}))
    made = agent.enforce(request, draft)
    return replace(
        made,
        steps=steps,
        archive={**archive, **made.archive},
        archived=[*dropped, *draft.given(made.archived)],
        warnings=(*warnings, *made.warnings),
    )


def _blocks_summarised(
    request: PlanRequest, policy: LayeredPolicy, draft: Draft, steps: list[Decision], archive: dict[str, str]
) -> Draft:
    """This turn's context with large blocks summarised, if L2 + L3 + L5 exceed what L1 leaves."""
    places = [index for index, layer in draft.layers.items() if layer == 3 and index not in draft.held]
    if not places:
        return draft
    count, size = request.counter.text, request.counter.message
    # The same is counted of what `shrunk` left of the instructions.
    instructions = request.counter.head(draft.conversation) + sum(
        size(message) for message in draft.messages if message.role == "system"
    )
    threshold = request.limit - request.size(instructions)
    now = current(draft.messages)
    beside = [n for n, layer in draft.layers.items() if layer == 2 or (layer == 3 and n in draft.held)]
    others = sum(size(draft.messages[n]) for n in {*beside, now})
    pieces = [piece for piece in request.context if piece.recoverable]
    sizes = [count(piece.text) for piece in pieces]
    large = [n for n, piece in enumerate(pieces) if len(piece.text) > policy.block_chars]
    if sum(sizes) + others <= threshold or not large:
        return draft
    small = sum(tokens for n, tokens in enumerate(sizes) if n not in large)
    for n in large:
        share = max(64, (threshold - others - small) * sizes[n] // max(1, sum(sizes[k] for k in large)) // 2)
        handle, text = handle_of(pieces[n].text), block_summary(request, pieces[n].text, share, policy.block_chars)
        archive[handle] = pieces[n].text
        reason = "larger than a block may be while the layers together are over their budget"
        steps.append(Decision(named([pieces[n]]), "user", 3, "block", sizes[n], count(text), "summary", reason, handle))
        pieces[n] = replace(pieces[n], text=text)
    text = "\n\n".join(piece.block() for piece in pieces)
    return draft.showing_at({places[0]: apis.text_message(draft.conversation.api, "user", text)})


def _notice(request: PlanRequest, messages: int, turns: int, handle: str) -> Message:
    """One line in place of the dropped turns, so that the model knows."""
    which = f"{turns:,} earlier turn{'s' if turns > 1 else ''} ({messages:,} messages)"
    where = f", recall {handle}" if request.recall else f", {handle}" if request.limit >= TINY else ""
    return apis.text_message(request.conversation.api, "user", f"[{which} dropped to fit{where}]")


def _oldest_turns(request: PlanRequest, draft: Draft) -> tuple[list[int], int]:
    """The messages of the oldest complete turns to drop, and the number of turns; the most recent turn always stays."""
    total = request.counter.total(draft.conversation)
    gone: list[int] = []
    turns = 0
    for turn in turns_of(draft.messages, draft.layers)[:-1]:
        if request.size(total) <= request.limit:
            break
        if not gone:
            every = len(draft.messages)
            total += request.counter.message(_notice(request, every, every, "brim:00000000")) + NOTICE
        total -= sum(request.counter.message(draft.messages[index]) for index in turn)
        gone += turn
        turns += 1
    return gone, turns


def turns_of(messages: Sequence[Message], layers: Mapping[int, int]) -> list[list[int]]:
    """The complete turns of the history: each user message with everything up to the next."""
    now = current(tuple(messages))
    turns: list[list[int]] = []
    for index, message in enumerate(messages[:now]):
        if message.role == "system" or index in layers:
            continue
        if not turns or (message.role == "user" and not message.answers):
            turns.append([])
        turns[-1].append(index)
    return turns


def _shorten_answers(
    request: PlanRequest, least: int, draft: Draft, steps: list[Decision], archive: dict[str, str]
) -> Draft:
    """Cut long answers in the history to the room there is, keeping at least their first characters."""
    texts = {
        (index, number): part.text
        for index, message in enumerate(draft.messages[: current(draft.messages)])
        for number, part in enumerate(message.parts)
        if message.role == "assistant" and part.kind == "text" and len(part.text) > least + 80 and not part.fixed
    }
    if not texts:
        return draft
    count, size = request.counter.text, request.counter.message
    sizes = [count(text) for text in texts.values()]
    room = sum(sizes) - (request.total(draft.conversation) - request.limit) - NOTICE
    messages: dict[int, Message] = {}
    for ((index, number), text), taken, given in zip(texts.items(), sizes, shares(sizes, max(0, room)), strict=True):
        if given >= taken:
            continue
        archive[handle_of(text)] = text
        message = messages.get(index, draft.messages[index])
        short = _beginning(text, given, least, count)
        messages[index] = with_text(draft.conversation.api, message, {number: short})
        reason = "a long answer in a history that is over its budget"
        before, after = size(message), size(messages[index])
        name, handle = draft.name(index), handle_of(text)
        steps.append(Decision(name, "assistant", 4, "text", before, after, "outline", reason, handle))
    return draft.showing_at(messages)


def _beginning(text: str, tokens: int, least: int, count: Callable[[str], int]) -> str:
    """The beginning of an answer in this many tokens, and at least `least` characters."""

    def cut(characters: int) -> str:
        return text[:characters] + f"\n[… {len(text) - characters:,} more characters, {handle_of(text)}]"

    low, high = least, min(len(text), least + 8 * tokens)
    while high - low > max(8, least // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if count(cut(middle)) <= tokens else (low, middle)
    return cut(low)


def _shorten_context(
    request: PlanRequest, draft: Draft, layers: Sequence[int], steps: list[Decision], archive: dict[str, str]
) -> Draft:
    """Cut attached context to what everything else leaves, so that the most recent turn can stay."""
    count, api = request.counter.text, draft.conversation.api
    places = [place for place in sorted(draft.layers.keys() - draft.held) if draft.layers[place] in layers]
    sizes = [count(draft.messages[index].text) for index in places]
    over = request.total(draft.conversation) - request.limit
    messages: dict[int, Message] = {}
    for index, size, given in zip(places, sizes, shares(sizes, max(0, sum(sizes) - over - NOTICE)), strict=True):
        if given >= size:
            continue
        text, layer = draft.messages[index].text, draft.layers[index]
        room = Room(max(LEAST, given), count, handle_of(text), request.recall, query_of(request.conversation))
        short = xml_blocks.extract(text, room)
        archive[handle_of(text)] = text
        messages[index] = apis.text_message(api, "user", short)
        reason = "context in what the instructions, the most recent turn and the current message leave"
        name, handle = draft.name(index), handle_of(text)
        steps.append(Decision(name, "user", layer, "block", size, count(short), "outline", reason, handle))
    return draft.showing_at(messages)
