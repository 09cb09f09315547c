"""Policy `layered`: one total budget over five layers, enforced where they come together.

Context blocks shrink when what the instructions leave is too little for them; then the oldest complete turns go,
never the most recent one; then long answers are shortened; then the user is warned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from brim import apis
from brim.content import Compactor, handle_of
from brim.content.selection import shares
from brim.content.types import Room
from brim.conversation import Message
from brim.planning.archived import kept_whole, told
from brim.planning.attachments import Attachment, attached, named, originals
from brim.planning.draft import Draft
from brim.planning.forms import TINY
from brim.planning.items import current
from brim.planning.policies import agent
from brim.planning.policies.policy import LayeredPolicy
from brim.planning.policies.summaries import block_summary
from brim.planning.rebuild import with_text
from brim.planning.report import Decision
from brim.planning.task import Notice, Outcome
from brim.planning.work import Work, query_of

# The least that is left of context that has to be cut.
LEAST = 32
# By how many tokens one handle may be longer than another.
NOTICE = 8


def plan(work: Work, policy: LayeredPolicy) -> Outcome:
    steps: list[Decision] = []
    archive = originals(work.carried)
    warnings: list[Notice] = []
    draft = attached(
        Draft(work.conversation), _context(work, policy, steps, archive), work.carried, policy.preview_chars
    )
    gone, turns = _oldest_turns(work, draft)
    dropped = draft.given(gone)
    if gone:
        which = f"the {turns:,} oldest turns" if turns > 1 else "the oldest turn"
        warning = f"{which} ({len(gone):,} messages) {'were' if turns > 1 else 'was'} dropped to fit the budget"
        warnings.append(Notice(warning, {"turns": turns, "messages": len(gone)}))
        kept = kept_whole([draft.messages[index] for index in gone])
        steps += told(work, dropped, "dropped", "one of the oldest turns of a history that is over its budget", kept)
        archive |= kept
        notice = _notice(work, len(gone), turns, next(iter(kept)))
        draft = draft.without(gone).inserted(gone[0], notice, "notice of dropped turns")
    if not work.fits(draft.conversation):
        draft = _shorten_answers(work, policy.answer_chars, draft, steps, archive)
    if not work.fits(draft.conversation):
        draft = _shorten_context(work, draft, steps, archive)
    if not work.fits(draft.conversation):
        warning = "the request is over its budget even with only the most recent turn: more of it was compacted"
        warnings.append(Notice(warning, {"tokens": work.total(draft.conversation), "budget": work.limit}))
    outcome = agent.enforce(work, draft)
    outcome.steps, outcome.warnings = steps, [*warnings, *outcome.warnings]
    outcome.archive = archive | outcome.archive
    outcome.archived = [*dropped, *draft.given(outcome.archived)]
    return outcome


def _context(work: Work, policy: LayeredPolicy, steps: list[Decision], archive: dict[str, str]) -> list[Attachment]:
    """This turn's context; large blocks are summarised when L2 + L3 + L5 pass what L1 leaves."""
    count = work.counter.text
    instructions = work.counter.head(work.conversation) + sum(
        work.counter.message(message) for message in work.conversation.messages if message.role == "system"
    )
    threshold = work.limit - work.size(instructions)
    sizes = [count(piece.text) for piece in work.context]
    asked = work.conversation.messages[current(work.conversation.messages)] if work.conversation.messages else None
    others = sum(count(piece.carried(policy.preview_chars)) for piece in work.carried)
    others += work.counter.message(asked) if asked else 0
    if sum(sizes) + others <= threshold:
        return list(work.context)
    blocks = [n for n, piece in enumerate(work.context) if piece.recoverable]
    large = [n for n in blocks if len(work.context[n].text) > policy.block_chars]
    small = sum(size for n, size in enumerate(sizes) if n not in large)
    found = list(work.context)
    for n in large:
        share = max(64, (threshold - others - small) * sizes[n] // max(1, sum(sizes[k] for k in large)) // 2)
        handle = handle_of(found[n].text)
        text = block_summary(work, found[n].text, share, policy.block_chars)
        archive[handle] = found[n].text
        reason = "larger than a block may be while the layers together are over their budget"
        steps.append(Decision(named([found[n]]), "user", 3, "block", sizes[n], count(text), "summary", reason, handle))
        found[n] = replace(found[n], text=text)
    return found


def _notice(work: Work, messages: int, turns: int, handle: str) -> Message:
    """One line in the place of the turns that were dropped: what leaves the prompt does not leave it unsaid."""
    which = f"{turns:,} earlier turn{'s' if turns > 1 else ''} ({messages:,} messages)"
    where = f", recall {handle}" if work.recall else f", {handle}" if work.limit >= TINY else ""
    return apis.text_message(work.conversation.api, "user", f"[{which} dropped to fit{where}]")


def _oldest_turns(work: Work, draft: Draft) -> tuple[list[int], int]:
    """The messages of the oldest complete turns that must go, and how many turns; the most recent one always stays."""
    total = work.counter.total(draft.conversation)
    gone: list[int] = []
    turns = 0
    for turn in turns_of(draft.messages, draft.layers)[:-1]:
        if work.size(total) <= work.limit:
            break
        if not gone:
            every = len(draft.messages)
            total += work.counter.message(_notice(work, every, every, "brim:00000000")) + NOTICE
        total -= sum(work.counter.message(draft.messages[index]) for index in turn)
        gone += turn
        turns += 1
    return gone, turns


def turns_of(messages: Sequence[Message], layers: Mapping[int, int]) -> list[list[int]]:
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


def _shorten_answers(work: Work, limit: int, draft: Draft, steps: list[Decision], archive: dict[str, str]) -> Draft:
    """Cut long answers in the history to their first characters, oldest first, until the rest fits."""
    messages = list(draft.messages)
    total = work.counter.total(draft.conversation)
    for index, message in enumerate(messages[: current(draft.messages)]):
        texts = {
            number: part.text[:limit] + f"\n[… {len(part.text) - limit:,} more characters, {handle_of(part.text)}]"
            for number, part in enumerate(message.parts)
            if part.kind == "text" and len(part.text) > limit + 80 and not part.fixed
        }
        if message.role != "assistant" or not texts:
            continue
        if work.size(total) <= work.limit:
            break
        messages[index] = with_text(draft.conversation.api, message, texts)
        archive.update({handle_of(message.parts[number].text): message.parts[number].text for number in texts})
        before, after = work.counter.message(message), work.counter.message(messages[index])
        total += after - before
        reason = "a long answer in a history that is over its budget"
        name, handle = draft.name(index), handle_of(message.parts[min(texts)].text)
        steps.append(Decision(name, "assistant", 4, "text", before, after, "outline", reason, handle))
    return draft.showing(messages)


def _shorten_context(work: Work, draft: Draft, steps: list[Decision], archive: dict[str, str]) -> Draft:
    """Cut attached context to what the other layers leave, so that the most recent turn is not what goes."""
    messages, count, api = list(draft.messages), work.counter.text, draft.conversation.api
    places = sorted(draft.layers.keys() - draft.held)
    rest = draft.without(places).conversation
    frame = sum(work.counter.message(apis.text_message(api, "user", "")) for _ in places)
    sizes = [count(messages[index].text) for index in places]
    spare = work.limit - work.total(rest) - work.size(frame)
    for index, size, given in zip(places, sizes, shares(sizes, max(0, spare - 8)), strict=True):
        if given >= size:
            continue
        text = messages[index].text
        room = Room(max(LEAST, given), count, handle_of(text), work.recall, query_of(work.conversation))
        short = Compactor(text, count).at(room).text
        archive[handle_of(text)] = text
        messages[index] = apis.text_message(api, "user", short)
        reason = "context in what the instructions, the most recent turn and the current message leave"
        layer, name = draft.layers[index], draft.name(index)
        steps.append(Decision(name, "user", layer, "block", size, count(short), "outline", reason, handle_of(text)))
    return draft.showing(messages)
