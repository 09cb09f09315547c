"""What stands beside what where messages are folded: where that is told, and the rules of single APIs.

Gemini refuses calls that come right after another message of the model. Anthropic refuses a last answer with calls
that lost the thoughts it began with.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from brim.conversation import Message
from brim.plan.items import SYSTEM, Group, Item
from brim.plan.task import Task


def bridged(groups: Sequence[Group], messages: Sequence[Message], frozen: int) -> list[Group]:
    """Keep what calls need before them, the last folded message of the user; return those that were kept.

    Calls for which there is none are folded too. `frozen` messages at the start stand before the notice of what is
    folded, which speaks for the user as well.

    Example: answer, question (folded), calls -> answer, "[…]", calls
    """
    found: list[Group] = []
    told = all(group.kept for group in groups)  # whether the notice was passed; with nothing folded there is none
    before, asked = "user", None
    for group in groups:
        if group.members[0] == SYSTEM:
            continue
        if not group.kept:
            if group.items and messages[group.members[0]].role == "user":
                asked = group
            continue
        first = messages[group.members[0]]
        if not told and first.role != "system" and group.members[0] >= frozen:
            told, before = True, "user"
        if before == "assistant" and first.role == "assistant" and first.calls:
            if asked is not None:
                asked.kept = True
                found.append(asked)
            elif not group.must:
                group.kept = False
                continue
        before, asked = messages[group.members[-1]].role, None
    return found


def last_thoughts(groups: Sequence[Group], messages: Sequence[Message]) -> list[Item]:
    """The thoughts that have to stay: those of the last answer that is kept, where it calls tools."""
    for group in reversed(groups):
        answers = [member for member in group.members if member != SYSTEM and messages[member].role == "assistant"]
        if group.kept and answers:
            called = [member for member in answers if messages[member].calls]
            return [item for item in group.items if item.kind == "thinking" and item.message in called]
    return []


def notice_before(task: Task, kept: Sequence[int], folded: Sequence[int], *, silent: bool) -> int | None:
    """Before which kept message it is told that others are folded: after the widest gap, the last of equals.

    In a session after the first one, so that what was sent before it stays as it was. First of all where an answer
    would speak first, where there is no more than a sign, and for Gemini, which wants the user's side before calls.
    """
    messages, api = task.conversation.messages, task.conversation.api
    told = [n for n in kept if n >= task.frozen and messages[n].role != "system" and task.layers.get(n) != 1]
    if not told or silent or api == "gemini" or messages[told[0]].role != "user":
        return told[0] if told else None
    passed = [bisect_left(folded, index) for index in told]
    if not task.fill:
        return next((index for index, before in zip(told, passed, strict=True) if before), told[0])
    gaps = [here - before for before, here in pairwise([0, *passed])]
    return max(zip(gaps, told, strict=True))[1]
