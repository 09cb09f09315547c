"""The state of one planning run. Each rule changes it in turn; the last count turns it into a plan."""

from __future__ import annotations

from functools import cached_property

from brim.conversation import Message, encode, leaf
from brim.planning.draft import Draft
from brim.planning.forms import Forms
from brim.planning.items import SYSTEM, Group, Guess, Item
from brim.planning.prefilter import looked_at
from brim.planning.ranking import relevance
from brim.planning.request import PlanRequest, query_of
from brim.planning.sharing import Candidate
from brim.planning.summary import Summary
from brim.planning.used_keys import used_keys
from brim.planning.user_words import calls_in_text
from brim.relevance.term_spread import Column


class PlanState:
    """The groups of a conversation, what is shown of each, and the total.

    Rule 4 and filling stop at `target`; the limit applies to everything.
    """

    def __init__(self, request: PlanRequest, draft: Draft, guess: Guess | None = None, target: int | None = None):
        self.request = request
        self.draft = draft
        self.conversation = draft.conversation
        self.counter = request.counter
        self.limit = max(1, request.limit)  # with less than nothing it refuses too, and says what would have to stay
        self.target = min(self.limit, target or self.limit)
        self._query = query_of(draft.conversation)
        self._guess = guess
        # For a history many times the limit, the question decides what is worth examining; otherwise ranking can wait.
        self.relevance: Column | None = None
        if guess is not None:
            self.rank(self.limit)
        self.groups = looked_at(request, draft, self.limit, guess, self.relevance)
        self.head = self.counter.head(draft.conversation)
        for group in self.groups:
            if group.members[0] == SYSTEM:
                self.head -= sum(item.tokens for item in group.items)
        used = used_keys(self._seen(), draft.conversation.tools)
        self.forms = Forms(self.counter.text, self.limit, self._original, request.recall, self._query, used)
        self.summary = Summary(request, draft, self.limit, self.forms)
        self.rest: list[Candidate] = []  # the candidates of rule 4
        self.bridges: list[Group] = []  # groups kept only because an API requires them before calls

    def rank(self, room: int) -> None:
        """Rank the messages, given the room of the history."""
        if self.relevance is None:
            columns = None if self._guess is None else self._guess.columns
            self.relevance = relevance(self.conversation, self._query, self.counter.message, room, columns)

    def message(self, index: int) -> Message:
        system = self.conversation.system
        return system if index == SYSTEM and system is not None else self.conversation.messages[index]

    def surely_over(self) -> bool:
        """Whether the examined part alone is too much."""
        seen = sum([group.tokens for group in self.groups if group.items])
        return self.request.size(self.head + seen) > self.limit

    def total(self) -> int:
        """The total of everything shown, as the sum of its parts."""
        kept = [group for group in self.groups if group.kept]
        frames = sum([group.frame for group in kept])
        shown = sum([item.shown_tokens for group in kept for item in group.items])
        return self.request.size(self.head + frames + shown + self.summary.tokens)

    @cached_property
    def chat(self) -> bool:
        """Whether no tools were used: then what answers a question may stand anywhere, and mostly not at the end."""
        messages = self.conversation.messages
        return not any(message.answers or message.calls or calls_in_text(message) for message in messages)

    @cached_property
    def answered(self) -> bool:
        """Whether anyone but the user speaks: a transcript in one role asks nothing of anybody; its end is no answer.

        Spans kept of meetings, tuned half, 5/10/25%: .338/.497/.680 so, .321/.492/.679 if not (bench/chats.py).
        """
        return any(message.role == "assistant" for message in self.conversation.messages)

    def held(self, item: Item) -> bool:
        return item.message in self.draft.held

    def lacks(self, group: Group) -> bool:
        """Whether part of a group isn't shown."""
        return not group.kept or any(item.shown is not None for item in group.items)

    def missing(self, group: Group) -> int:
        """The tokens that showing all of a group would add, in its smallest lossless form."""
        shown = group.frame + sum([item.shown_tokens for item in group.items]) if group.kept else 0
        return group.frame + sum([self._lossless(item) for item in group.items]) - shown

    def keep_whole(self, group: Group) -> None:
        group.kept = True
        for item in group.items:
            item.given = item.tokens
            self.forms.show(item)

    def keep_lossless(self, group: Group) -> None:
        """Keep a group with its results in their smallest lossless form."""
        group.kept = True
        for item in group.items:
            item.given = self._lossless(item)
            self.forms.show(item)

    def restore(self) -> None:
        """Show what is re-encoded without loss as it came, the newest first, as far as there is room."""
        left = self.target - self.total()
        for group in reversed(self.groups):
            for item in group.items if group.kept else ():
                more = item.tokens - item.shown_tokens
                if item.shown is not None and item.fidelity == "lossless" and 0 < more <= left:
                    left -= more
                    item.given = item.tokens
                    self.forms.show(item)

    def _lossless(self, item: Item) -> int:
        return item.tokens if self.held(item) else self.forms.lossless(item)

    def name_rule(self, rule: str) -> None:
        """Record this rule for everything shown that no earlier rule kept."""
        for group in self.groups:
            for item in group.items if group.kept else ():
                if not item.rule and not item.must:
                    item.rule = rule if item.shown_tokens > self.forms.floor(item) or item.shown is None else ""

    def must_stay(self) -> list[tuple[str, int]]:
        """What has to stay, with its tokens including frames, largest first."""
        found = [("tools and framing", self.head)]
        for group in self.groups:
            for member in group.members if group.must else ():
                if member == SYSTEM:
                    name, frame = "system", 0
                else:
                    message = self.message(member)
                    pinned = member in self.draft.held and member not in self.draft.layers  # and no attached context
                    name = f"{'pinned ' * pinned}{message.role} {self.draft.name(member)}"
                    frame = self.counter.message(message) - sum(self.counter.parts(message))
                shown = sum(item.shown_tokens for item in group.items if item.message == member)
                found.append((name, shown + frame))
        return sorted(found, key=lambda entry: -entry[1])

    def _seen(self) -> list[Message]:
        """The examined messages of the history, in order."""
        members = [member for group in self.groups if group.items for member in group.members if member != SYSTEM]
        return [self.conversation.messages[member] for member in members]

    def _original(self, item: Item) -> str:
        """The JSON of an item without text, such as an image or signed thinking."""
        message = self.message(item.message)
        return encode(leaf(message.value, message.parts[item.part].at)).decode("utf-8", "surrogatepass")


def is_step(group: Group) -> bool:
    return any(item.kind in ("call", "result", "media") for item in group.items)
