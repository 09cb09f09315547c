"""Policy `rolling`: the last messages verbatim, one summary of what came before, context in what is left.

The prompt is, in this order: instructions, context (trimmed to what the rest leaves, to nothing if need be),
the summary, the recent messages, the current message once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from brim import wire
from brim.conversation import Conversation, Message
from brim.ladders import handle_of, plain
from brim.ladders.rung import Room
from brim.plan import agent
from brim.plan.items import current
from brim.plan.planner import Outcome
from brim.plan.report import Decision
from brim.plan.summaries import summary
from brim.plan.work import Work

PREFIX = "Conversation summary: "
CONTEXT = "You have access to the following document:\n--- BEGIN ---\n{}\n--- END ---"
# The share of the limit that a summary may take; the last resort makes it very short.
SUMMARY, CONCISE_SUMMARY = 0.25, 0.08


def plan(work: Work) -> Outcome:
    instructions, previous, talk = _partition(work.conversation)
    fixed = replace(work.conversation, messages=tuple(instructions))
    room = work.limit - work.total(fixed)
    parts = _Parts(work, instructions, previous, talk)
    kept, folded = parts.window(room)
    made = parts.summary_message(folded, max(1, int(SUMMARY * work.limit)))
    if parts.size(kept, made) > room:
        kept, folded, made = parts.last_resort(room)
    context = parts.context(room - parts.size(kept, made))
    messages = [*instructions, *context, *made, *kept]
    outcome = agent.enforce(work, replace(work.conversation, messages=tuple(messages)))
    outcome.steps = parts.steps(folded)
    outcome.folded = [number for number, message in enumerate(work.conversation.messages) if message in folded]
    if folded:
        text = b"\n".join(message.raw for message in folded).decode("utf-8", "surrogatepass")
        outcome.stash.setdefault(handle_of(text), text)
    return outcome


def _partition(conversation: Conversation) -> tuple[list[Message], str, list[Message]]:
    """Instructions, the summary of an earlier compaction, and the talk with the current message once, at its end."""
    instructions: list[Message] = []
    previous = ""
    talk: list[Message] = []
    for message in conversation.messages:
        if message.role == "system" and message.text.startswith(PREFIX):
            previous = message.text.removeprefix(PREFIX)
        elif message.role == "system":
            instructions.append(message)
        elif talk and message.role == "user" and message.digest == talk[-1].digest:
            continue  # the current message was added to the history and then said again
        else:
            talk.append(message)
    return instructions, previous, talk


class _Parts:
    def __init__(self, work: Work, instructions: list[Message], previous: str, talk: list[Message]) -> None:
        self.work = work
        self.instructions = instructions
        self.previous = previous
        self.talk = talk
        # A window starts where the user speaks: then no result loses its call, and every API takes it.
        starts = [number for number, message in enumerate(talk) if message.role == "user" and not message.answers]
        self.starts = starts or [0]

    def size(self, *parts: Sequence[Message]) -> int:
        return self.work.size(sum(self.work.counter.message(message) for part in parts for message in part))

    def window(self, room: int) -> tuple[list[Message], list[Message]]:
        """The recent messages and the older ones: as many recent as wanted, fewer if they do not fit."""
        policy = self.work.policy
        if self.size(self.talk) <= room:
            return self.talk, []
        kept: list[Message] = []
        for keep in range(policy.recent_messages_to_keep, policy.min_recent_messages_to_keep - 1, -1):
            cut = self._cut(keep)
            kept = self.talk[cut:]
            if self.size(kept) <= room * (1 - SUMMARY):
                return kept, self.talk[:cut]
        return kept, self.talk[: len(self.talk) - len(kept)]

    def _cut(self, keep: int) -> int:
        """Where the last `keep` messages start, or the turn that the first of them is in."""
        wanted = max(0, len(self.talk) - keep)
        return max((start for start in self.starts if start <= wanted), default=0)

    def summary_message(self, folded: Sequence[Message], tokens: int) -> list[Message]:
        if not folded and not self.previous:
            return []
        text = summary(self.work, folded, self.previous, tokens) if folded else self.previous
        return [wire.text_message(self.work.conversation.api, "system", PREFIX + text)]

    def last_resort(self, room: int) -> tuple[list[Message], list[Message], list[Message]]:
        """A very short summary of everything, and the current message with what belongs to it.

        Messages between the oldest recent one and that are folded one by one before it comes to this.
        """
        at = current(tuple(self.talk))
        starts = [start for start in self.starts if start <= at]
        cuts = [start for start in starts if start > len(self.talk) - self.work.policy.recent_messages_to_keep]
        for cut in cuts or starts[-1:]:
            made = self.summary_message(self.talk[:cut], max(1, int(CONCISE_SUMMARY * self.work.limit)))
            if self.size(self.talk[cut:], made) <= room:
                return self.talk[cut:], self.talk[:cut], made
        cut = starts[-1] if starts else 0
        made = self.summary_message(self.talk[:cut], max(1, int(CONCISE_SUMMARY * self.work.limit)))
        return self.talk[cut:], self.talk[:cut], made

    def context(self, room: int) -> list[Message]:
        """The context in what the messages leave; nothing if they leave nothing."""
        text = "\n\n".join(piece.text for piece in (*self.work.carried, *self.work.context))
        if not text:
            return []
        frame = self.size([self._context_message("")])
        if room - frame < 8:
            return []
        count = self.work.counter.text
        short = plain.extract(text, Room(room - frame - 4, count))
        message = self._context_message(short)
        return [message] if self.size([message]) <= room else []

    def _context_message(self, text: str) -> Message:
        return wire.text_message(self.work.conversation.api, "user", CONTEXT.format(text))

    def steps(self, folded: Sequence[Message]) -> list[Decision]:
        return [
            Decision(
                item=f"messages[{self.talk.index(message)}]",
                role=message.role,
                layer=4,
                kind="text",
                before=self.work.counter.message(message),
                after=0,
                rung="summary",
                reason="older than the messages that are kept verbatim; in the summary",
            )
            for message in folded
        ]
