"""Re-plans: how a view comes back under its limit, with as much of its start as possible left as it was sent.

A shallow re-plan leaves what is settled alone and compacts what came after it. When the settled part has grown so
large that too little room is left for the rest, a deep one plans the whole log anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from brim.conversation import Conversation, Message
from brim.errors import BudgetTooSmall
from brim.memory.view import Entry, View
from brim.plan import agent
from brim.plan.planner import Outcome
from brim.plan.strategies import PLANNERS
from brim.plan.work import Work

# A shallow re-plan needs at least this share of the free budget for what is not settled.
SHALLOW = 0.15
# How far down a deep re-plan goes, so that the next one is far off.
DEEP = 0.85


@dataclass(slots=True)
class Replan:
    """One re-plan of a view of a log."""

    work: Work
    log: list[Message]
    view: View

    def run(self) -> Outcome:
        """Bring the view under the limit, or raise BudgetTooSmall and leave it as it was."""
        if self.work.policy.name != "agent":
            return self._by_policy()
        head = self.work.counter.head(self.work.conversation) + self._instructions()
        free = self.work.limit - head
        low = self.work.policy.low
        settled = self.view.entries[: self.view.settled]
        taken = sum(entry.tokens for entry in settled)
        if settled and low * free - taken >= SHALLOW * low * free:
            try:
                return self._from(len(settled), head + int(low * free))
            except BudgetTooSmall:
                pass  # what is not settled cannot shrink that far by itself: plan everything
        for target in (head + int(DEEP * low * free), self.work.limit):
            try:
                return self._from(0, target)
            except BudgetTooSmall:
                if target == self.work.limit:
                    raise
        raise AssertionError("the last target is the limit")

    def _instructions(self) -> int:
        """System messages in the log: they stand before everything and never change."""
        counter = self.work.counter
        return sum(counter.message(message) for message in self.log[:4] if message.role == "system")

    def _from(self, keep: int, target: int) -> Outcome:
        """Plan what stands after the first `keep` entries into what they leave of the target."""
        kept = self.view.entries[:keep]
        covered = max((entry.end for entry in kept), default=0)
        conversation = replace(
            self.work.conversation, messages=(*(entry.message for entry in kept), *self.log[covered:])
        )
        outcome = agent.enforce(replace(self.work, limit=target), conversation, frozen=keep)
        self._take(keep, covered, outcome)
        return outcome

    def _take(self, keep: int, covered: int, outcome: Outcome) -> None:
        """Make the planned messages the new end of the view."""
        entries: list[Entry] = []
        counter = self.work.counter
        last_folded = max(outcome.folded, default=-1) - keep + covered + 1
        places = outcome.places or list(range(len(outcome.conversation.messages)))
        for message, place in zip(outcome.conversation.messages, places, strict=True):
            if 0 <= place < keep:
                continue
            size = counter.message(message)
            if place < 0:
                entries.append(Entry(covered, last_folded, message, size, "ledger"))
                continue
            number = place - keep + covered
            same = message is self.log[number]
            entries.append(Entry(number, number + 1, message, size, "as is" if same else "compacted"))
        settled = keep + 1 + max((n for n, entry in enumerate(entries) if entry.kind != "as is"), default=-1)
        # Every result of a step is settled with it.
        while settled < keep + len(entries) and entries[settled - keep].message.answers:
            settled += 1
        self.view.replace(keep, entries, min(settled, keep + len(entries)))

    def _by_policy(self) -> Outcome:
        """The other policies plan what is sent now: their summary, the recent messages, the current one."""
        shown = replace(self.work.conversation, messages=self.view.messages())
        outcome = PLANNERS[self.work.policy.name](replace(self.work, conversation=shown))
        known = {id(entry.message): entry for entry in self.view.entries}
        entries: list[Entry] = []
        for message in outcome.conversation.messages:
            entry = known.get(id(message))
            size = self.work.counter.message(message)
            at = entries[-1].end if entries else 0
            entries.append(entry or Entry(at, at, message, size, "ledger"))
        self.view.replace(0, entries, 0)
        return outcome


def as_sent(conversation: Conversation, view: View) -> Conversation:
    return replace(conversation, messages=view.messages())
