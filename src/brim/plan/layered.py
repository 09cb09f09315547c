"""Policy `layered`: one total budget over five layers, enforced where they come together.

Context blocks shrink when what the instructions leave is too little for them; then the oldest complete turns go,
never the most recent one; then long answers are shortened; then the user is warned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from brim import wire
from brim.conversation import Conversation, Message
from brim.ladders import Ladder, handle_of
from brim.ladders.rung import Room
from brim.ladders.selection import shares
from brim.plan import agent
from brim.plan.context import Attachment, attached, originals
from brim.plan.folding import kept_whole, told
from brim.plan.items import current
from brim.plan.rebuild import with_text
from brim.plan.renditions import TINY
from brim.plan.report import Decision
from brim.plan.summaries import block_summary
from brim.plan.task import Outcome
from brim.plan.work import Work, query_of

# The least that is left of context that has to be cut.
LEAST = 32
# By how many tokens one handle may be longer than another.
NOTICE = 8


def plan(work: Work) -> Outcome:
    steps: list[Decision] = []
    stash = originals(work.carried)
    warnings: list[str] = []
    context = _context(work, steps, stash)
    conversation, layers = attached(work.conversation, context, work.carried, work.policy.preview_chars)
    gone, turns = _oldest_turns(work, conversation, layers)
    if gone:
        warnings.append(f"the {turns} oldest turns ({len(gone)} messages) were dropped to fit the budget")
        kept = kept_whole([conversation.messages[index] for index in gone])
        steps += told(work, gone, "dropped", "one of the oldest turns of a history that is over its budget", kept)
        stash |= kept
        notice = _notice(work, len(gone), turns, next(iter(kept)))
        conversation, layers = _without(conversation, layers, gone, notice)
    if not work.fits(conversation):
        conversation = _shorten_answers(work, conversation, max(0, len(gone) - 1), steps, stash)
    if not work.fits(conversation):
        conversation = _shorten_context(work, conversation, layers, steps, stash)
    if not work.fits(conversation):
        warnings.append("the request is over its budget even with only the most recent turn: more of it was compacted")
    outcome = agent.enforce(work, conversation, layers)
    outcome.steps, outcome.warnings = steps, [*warnings, *outcome.warnings]
    outcome.stash = stash | outcome.stash
    outcome.folded = [*gone, *outcome.folded]
    return outcome


def _context(work: Work, steps: list[Decision], stash: dict[str, str]) -> list[Attachment]:
    """This turn's context; large blocks are summarised when L2 + L3 + L5 pass what L1 leaves."""
    count = work.counter.text
    instructions = work.counter.head(work.conversation) + sum(
        work.counter.message(message) for message in work.conversation.messages if message.role == "system"
    )
    threshold = work.limit - work.size(instructions)
    sizes = [count(piece.text) for piece in work.context]
    asked = work.conversation.messages[current(work.conversation.messages)] if work.conversation.messages else None
    others = sum(count(piece.carried(work.policy.preview_chars)) for piece in work.carried)
    others += work.counter.message(asked) if asked else 0
    if sum(sizes) + others <= threshold:
        return list(work.context)
    large = [n for n, piece in enumerate(work.context) if len(piece.text) > work.policy.block_chars]
    small = sum(size for n, size in enumerate(sizes) if n not in large)
    found = list(work.context)
    for n in large:
        share = max(64, (threshold - others - small) * sizes[n] // max(1, sum(sizes[k] for k in large)) // 2)
        handle = handle_of(found[n].text)
        text = block_summary(work, found[n].text, share)
        stash[handle] = found[n].text
        reason = "larger than a block may be while the layers together are over their budget"
        name = f"context {found[n].source}".strip()
        steps.append(Decision(name, "user", 3, "block", sizes[n], count(text), "summary", reason, handle))
        found[n] = replace(found[n], text=text)
    return found


def _notice(work: Work, messages: int, turns: int, handle: str) -> Message:
    """One line in the place of the turns that were dropped: what leaves the prompt does not leave it unsaid."""
    which = f"{turns:,} earlier turn{'s' if turns > 1 else ''} ({messages:,} messages)"
    where = f", recall {handle}" if work.recall else f", {handle}" if work.limit >= TINY else ""
    return wire.text_message(work.conversation.api, "user", f"[{which} dropped to fit{where}]")


def _oldest_turns(work: Work, conversation: Conversation, layers: dict[int, int]) -> tuple[list[int], int]:
    """The messages of the oldest complete turns that must go, and how many turns; the most recent one always stays."""
    total = work.counter.total(conversation)
    gone: list[int] = []
    turns = 0
    for turn in turns_of(conversation.messages, layers)[:-1]:
        if work.size(total) <= work.limit:
            break
        if not gone:
            every = len(conversation.messages)
            total += work.counter.message(_notice(work, every, every, "brim:00000000")) + NOTICE
        total -= sum(work.counter.message(conversation.messages[index]) for index in turn)
        gone += turn
        turns += 1
    return gone, turns


def _without(
    conversation: Conversation, layers: dict[int, int], gone: list[int], notice: Message
) -> tuple[Conversation, dict[int, int]]:
    """The conversation with a notice in the place of the first of the messages that are gone."""
    dropped, first = set(gone), gone[0]
    kept = [index for index in range(len(conversation.messages)) if index == first or index not in dropped]
    place = {index: number for number, index in enumerate(kept)}
    moved = {place[index]: layer for index, layer in layers.items() if index in place}
    messages = [notice if index == first else conversation.messages[index] for index in kept]
    return replace(conversation, messages=tuple(messages)), moved


def turns_of(messages: Sequence[Message], layers: dict[int, int]) -> list[list[int]]:
    """The complete turns of the history: a user's message with everything up to the next one."""
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
    work: Work, conversation: Conversation, gone: int, steps: list[Decision], stash: dict[str, str]
) -> Conversation:
    """Cut long answers in the history to their first characters, oldest first, until the rest fits."""
    limit, messages = work.policy.answer_chars, list(conversation.messages)
    total = work.counter.total(conversation)
    for index, message in enumerate(messages[: current(conversation.messages)]):
        texts = {
            number: part.text[:limit] + f"\n[… {len(part.text) - limit:,} more characters, {handle_of(part.text)}]"
            for number, part in enumerate(message.parts)
            if part.kind == "text" and len(part.text) > limit + 80 and not part.fixed
        }
        if message.role != "assistant" or not texts:
            continue
        if work.size(total) <= work.limit:
            break
        messages[index] = with_text(conversation.api, message, texts)
        stash.update({handle_of(message.parts[number].text): message.parts[number].text for number in texts})
        before, after = work.counter.message(message), work.counter.message(messages[index])
        total += after - before
        reason = "a long answer in a history that is over its budget"
        name, handle = f"messages[{index + gone}]", handle_of(message.parts[min(texts)].text)
        steps.append(Decision(name, "assistant", 4, "text", before, after, "extract", reason, handle))
    return replace(conversation, messages=tuple(messages))


def _shorten_context(
    work: Work, conversation: Conversation, layers: dict[int, int], steps: list[Decision], stash: dict[str, str]
) -> Conversation:
    """Cut attached context to what the other layers leave, so that the most recent turn is not what goes."""
    messages, count = list(conversation.messages), work.counter.text
    places = sorted(layers)
    rest = replace(conversation, messages=tuple(m for n, m in enumerate(messages) if n not in layers))
    frame = sum(work.counter.message(wire.text_message(conversation.api, "user", "")) for _ in places)
    sizes = [count(messages[index].text) for index in places]
    spare = work.limit - work.total(rest) - work.size(frame)
    for index, size, given in zip(places, sizes, shares(sizes, max(0, spare - 8)), strict=True):
        if given >= size:
            continue
        text = messages[index].text
        room = Room(max(LEAST, given), count, handle_of(text), work.recall, query_of(work.conversation))
        short = Ladder(text, count).at(room).text
        stash[handle_of(text)] = text
        messages[index] = wire.text_message(conversation.api, "user", short)
        reason = "context in what the instructions, the most recent turn and the current message leave"
        layer, handle = layers[index], handle_of(text)
        steps.append(Decision("context", "user", layer, "block", size, count(short), "extract", reason, handle))
    return replace(conversation, messages=tuple(messages))
