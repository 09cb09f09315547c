"""What a policy folds before the planner sees the conversation: kept by its handle, and told message by message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from brim.conversation import Message
from brim.ladders import handle_of
from brim.plan.draft import Draft
from brim.plan.report import Decision, Rung
from brim.plan.work import Work


def kept_whole(messages: Sequence[Message]) -> dict[str, str]:
    """Folded messages as one entry of the stash; nothing for none."""
    if not messages:
        return {}
    text = b"\n".join(message.raw for message in messages).decode("utf-8", "surrogatepass")
    return {handle_of(text): text}


def told(work: Work, indexes: Iterable[int], rung: Rung, reason: str, stash: Mapping[str, str]) -> list[Decision]:
    """A decision for every folded message of the conversation that was given; `stash` is what `kept_whole` made."""
    messages, name = work.conversation.messages, Draft(work.conversation).name
    size, handle = work.counter.message, next(iter(stash), "")
    return [
        Decision(name(index), messages[index].role, 4, "text", size(messages[index]), 0, rung, reason, handle)
        for index in indexes
    ]
