"""Reports from outcomes: what became of every item, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil

from brim.conversation import Conversation, Message
from brim.ladders import handle_of
from brim.plan import rolling
from brim.plan.folding import kept_whole
from brim.plan.items import SYSTEM, Group, Item, current
from brim.plan.report import Decision, Report, Rung, layer_uses
from brim.plan.task import Outcome
from brim.plan.work import Work

# A last turn that takes more than this share of the budget is worth a warning.
CROWDED = 0.9
# What stands before a message of the user and is none itself: context, and what a session brings back or summarises.
BESIDE = ("<context ", "<prior_context ", rolling.CONTEXT[:20], "[Brim")


def report_of(work: Work, outcome: Outcome) -> Report:
    decisions = tuple(_decisions(work, outcome))
    # Attached context is part of what was asked for.
    given = outcome.planned if outcome.planned and (work.context or work.carried) else work.conversation
    before, after = work.counter.total(given), work.counter.total(outcome.conversation)
    count = work.counter.count(outcome.conversation)
    folded = {decision.item for decision in decisions if decision.rung in ("folded", "summary", "dropped")}
    compacted = [decision for decision in decisions if decision.rung in ("dense", "extract", "stub")]
    return Report(
        model=work.model.name,
        policy=work.policy.name,
        limit=work.limit,
        before=before,
        after=after,
        upper=max(count.upper, ceil(after)),
        source=count.source,
        layers=layer_uses(
            _layers(work, given, _pasted(outcome, lambda item: item.tokens)),
            _layers(work, outcome.conversation, _pasted(outcome, lambda item: item.shown_tokens)),
        ),
        decisions=decisions,
        kept=len(outcome.conversation.messages),
        compacted=len(compacted),
        folded=len(outcome.folded) or len(folded),
        turns_dropped=any(decision.rung == "dropped" for decision in decisions) or bool(outcome.folded),
        warnings=(*outcome.warnings, *_warnings(work, outcome)),
    )


def _pasted(outcome: Outcome, size: Callable[[Item], int]) -> dict[int, int]:
    """The tokens of context blocks inside the current message, by their layer, where the plan saw them."""
    found: dict[int, int] = {}
    for group in outcome.groups:
        for item in group.items if group.layer == 5 and group.kept else ():
            if item.layer != 5:
                found[item.layer] = found.get(item.layer, 0) + size(item)
    return found


def _layers(work: Work, conversation: Conversation, pasted: dict[int, int]) -> list[int]:
    """Tokens by layer; `pasted` is what of the current message is context."""
    found = [0] * 5
    found[0] = work.counter.head(conversation)
    messages = conversation.messages
    now = current(messages)
    this_turn = _begins(messages, now)
    for number, message in enumerate(messages):
        size, text = work.counter.message(message), message.text
        if text.startswith(rolling.PREFIX) and number != now:
            layer = 4  # a summary of what was said, though a system message carries it
        elif message.role == "system":
            layer = 1
        elif number == now:
            layer = 5
        elif text.startswith(rolling.CONTEXT[:20]):
            earlier = _earlier(work, size)
            found[1] += earlier
            size, layer = size - earlier, 3
        elif text.startswith("<prior_context ") or (text.startswith("<context ") and number < this_turn):
            layer = 2
        else:
            layer = 3 if text.startswith("<context ") else 4
        found[layer - 1] += size
    for layer, tokens in pasted.items():
        moved = min(tokens, found[4])
        found[4] -= moved
        found[layer - 1] += moved
    return found


def _begins(messages: Sequence[Message], now: int) -> int:
    """Where this turn begins: after the last message before the current one in which the user asked for something."""
    for number in range(now - 1, -1, -1):
        message = messages[number]
        if message.role == "user" and not message.answers and not message.text.startswith(BESIDE):
            return number
    return 0


def _earlier(work: Work, size: int) -> int:
    """Of the one message that holds all context, what is context of earlier turns."""
    earlier = sum(len(piece.text) for piece in work.carried)
    every = earlier + sum(len(piece.text) for piece in work.context)
    return size * earlier // every if every else 0


def _warnings(work: Work, outcome: Outcome) -> Iterable[str]:
    messages = outcome.conversation.messages
    if messages and work.limit > 0:
        share = work.counter.message(messages[current(messages)]) / work.limit
        if share >= CROWDED:
            yield f"the last turn alone takes {share:.0%} of the budget"
        share = work.counter.head(outcome.conversation) / work.limit
        if share >= 0.5:
            yield f"instructions and tools take {share:.0%} of the budget"


def _decisions(work: Work, outcome: Outcome) -> Iterable[Decision]:
    yield from outcome.steps
    planned = outcome.planned or outcome.conversation
    gone = [planned.messages[member] for group in outcome.groups if not group.kept for member in group.members]
    folded = next((handle for handle in kept_whole(gone) if handle in outcome.stash), "")
    for group in outcome.groups:
        for item in group.items:
            yield _decision(planned, group, item, folded)


def _decision(conversation: Conversation, group: Group, item: Item, folded: str) -> Decision:
    role = "system" if item.message == SYSTEM else conversation.messages[item.message].role
    where = "system" if item.message == SYSTEM else f"messages[{item.message}]"
    name = f"{where}.parts[{item.part}]" + (f" at {item.start:,}" if item.start else "")
    rung, reason = _rung(group, item)
    after = item.shown_tokens if group.kept else 0
    handle = handle_of(item.text) if item.text and rung in ("extract", "stub", "dropped") else ""
    if rung == "folded":
        handle = folded
    preview = " ".join(item.text[:120].split())[:80]
    return Decision(name, role, item.layer, item.kind, item.tokens, after, rung, reason, handle, preview)


def _rung(group: Group, item: Item) -> tuple[Rung, str]:
    if not group.kept:
        return "folded", f"worth less than what was kept (weight {item.weight:.1f})"
    if item.shown is None:
        if item.must:
            return "full", "must stay: " + ("instructions" if item.layer == 1 else "the current turn")
        return "full", f"worth its place (weight {item.weight:.1f})"
    if item.fidelity == "lossless":
        return "dense", "re-encoded without loss"
    if not item.shown:
        return "dropped", f"worth less than what was kept (weight {item.weight:.1f})"
    if item.shown_tokens <= 24:
        return "stub", f"only its name stays (weight {item.weight:.1f})"
    return "extract", f"the most useful {item.shown_tokens / max(1, item.tokens):.0%} of it (weight {item.weight:.1f})"
