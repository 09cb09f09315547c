"""What stands beside what where messages are archived: the rules of single APIs.

Gemini refuses calls that come right after another message of the model. Anthropic refuses a last answer with calls
that lost the thoughts it began with.
"""

from __future__ import annotations

from collections.abc import Sequence

from brim.conversation import Message
from brim.planning.items import SYSTEM, Group, Item


def bridged(groups: Sequence[Group], messages: Sequence[Message], frozen: int) -> list[Group]:
    """Keep what calls need before them, the last archived message of the user; return those that were kept.

    Calls for which there is none are archived too. `frozen` messages at the start stand before the summary of what is
    archived, which speaks for the user as well.

    Example: answer, question (archived), calls -> answer, "[…]", calls
    """
    found: list[Group] = []
    told = all(group.kept for group in groups)  # whether the summary was passed; with nothing archived there is none
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
