"""Policy `layered`: one total budget over five layers, enforced where they come together.

Context blocks shrink when what the instructions leave is too little for them; then the oldest complete turns go,
never the most recent one; then long answers are shortened; then the user is warned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from brim.conversation import Conversation, Message
from brim.ladders import handle_of
from brim.plan import agent
from brim.plan.context import Attachment, attached
from brim.plan.items import current
from brim.plan.planner import Outcome
from brim.plan.rebuild import with_text
from brim.plan.report import Decision
from brim.plan.summaries import block_summary
from brim.plan.work import Work


def plan(work: Work) -> Outcome:
    steps: list[Decision] = []
    stash: dict[str, str] = {}
    context = _context(work, steps, stash)
    conversation, layers = attached(work.conversation, context, work.carried, work.policy.preview_chars)
    conversation, layers, dropped = _drop_turns(work, conversation, layers, steps)
    if dropped:
        raws = b"\n".join(message.raw for message in dropped).decode("utf-8", "surrogatepass")
        stash[handle_of(raws)] = raws
    if work.total(conversation) > work.limit:
        conversation = _shorten_answers(work, conversation, steps, stash)
    warnings = []
    if work.total(conversation) > work.limit:
        warnings.append("the request is over its budget even with only the most recent turn: more of it was compacted")
    outcome = agent.enforce(work, conversation, layers)
    outcome.steps, outcome.warnings = steps, warnings
    outcome.stash = stash | outcome.stash
    outcome.folded = outcome.folded or [work.conversation.messages.index(message) for message in dropped]
    return outcome


def _context(work: Work, steps: list[Decision], stash: dict[str, str]) -> list[Attachment]:
    """This turn's context; large blocks are summarised when L2 + L3 + L5 pass what L1 leaves."""
    count = work.counter.text
    instructions = work.counter.head(work.conversation) + sum(
        work.counter.message(message) for message in work.conversation.messages if message.role == "system"
    )
    threshold = work.limit - instructions
    sizes = [count(piece.text) for piece in work.context]
    asked = work.conversation.messages[current(work.conversation.messages)] if work.conversation.messages else None
    others = sum(count(piece.text) for piece in work.carried) + (work.counter.message(asked) if asked else 0)
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
        steps.append(
            Decision(
                f"context {found[n].source}",
                "user",
                3,
                "block",
                sizes[n],
                count(text),
                "summary",
                "larger than a block may be while the layers together are over their budget",
                handle,
            )
        )
        found[n] = replace(found[n], text=text)
    return found


def _drop_turns(
    work: Work, conversation: Conversation, layers: dict[int, int], steps: list[Decision]
) -> tuple[Conversation, dict[int, int], list[Message]]:
    """Drop the oldest complete turns until the rest fits; the most recent one always stays."""
    over = work.total(conversation) - work.limit
    if over <= 0:
        return conversation, layers, []
    turns = turns_of(conversation.messages, layers)
    gone: set[int] = set()
    for turn in turns[:-1]:
        if over <= 0:
            break
        over -= work.size(sum(work.counter.message(conversation.messages[index]) for index in turn))
        gone.update(turn)
    for index in sorted(gone):
        message = conversation.messages[index]
        size = work.counter.message(message)
        steps.append(
            Decision(
                f"messages[{index}]",
                message.role,
                4,
                "text",
                size,
                0,
                "dropped",
                "one of the oldest turns of a history that is over its budget",
            )
        )
    kept = [index for index in range(len(conversation.messages)) if index not in gone]
    moved = {kept.index(index): layer for index, layer in layers.items() if index not in gone}
    messages = tuple(conversation.messages[index] for index in kept)
    return replace(conversation, messages=messages), moved, [conversation.messages[index] for index in sorted(gone)]


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
    work: Work, conversation: Conversation, steps: list[Decision], stash: dict[str, str]
) -> Conversation:
    """Cut long answers in the history to their first characters."""
    limit = work.policy.answer_chars
    messages = list(conversation.messages)
    for index, message in enumerate(messages[: current(conversation.messages)]):
        if message.role != "assistant":
            continue
        texts = {
            number: part.text[:limit] + f"\n[… {len(part.text) - limit:,} more characters, {handle_of(part.text)}]"
            for number, part in enumerate(message.parts)
            if part.kind == "text" and len(part.text) > limit + 80 and not part.fixed
        }
        if texts:
            new = with_text(conversation.api, message, texts)
            stash.update({handle_of(message.parts[number].text): message.parts[number].text for number in texts})
            before, after = work.counter.message(message), work.counter.message(new)
            steps.append(
                Decision(
                    f"messages[{index}]",
                    "assistant",
                    4,
                    "text",
                    before,
                    after,
                    "extract",
                    "a long answer in a history that is over its budget",
                )
            )
            messages[index] = new
    return replace(conversation, messages=tuple(messages))
