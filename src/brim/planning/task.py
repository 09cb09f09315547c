"""What one planning is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from brim.conversation import Conversation
from brim.planning.archived import ArchivedMessages
from brim.planning.draft import Draft
from brim.planning.items import Group, Guess
from brim.planning.reports.decisions import Decision
from brim.relevance.term_spread import Column
from brim.tokens.counter import Counter


@dataclass(slots=True)
class Task:
    """What one planning is given."""

    conversation: Conversation
    counter: Counter
    limit: int
    query: str = ""
    relevance: Callable[[int], Column | None] | None = None  # given the room that the history has
    recall: bool = False
    layers: Mapping[int, int] = field(default_factory=dict)
    held: frozenset[int] = frozenset()  # messages that stay as they are
    name: Callable[[int], str] = "messages[{}]".format  # what a refusal calls a message
    frozen: int = 0  # so many messages at the start were sent before and stay as they are
    target: int | None = None  # where a compaction ends; None: at the limit
    spare: bool = True  # whether to go below the usual floors rather than refuse; a session has other plans first
    size: Callable[[int], int] = lambda tokens: tokens  # the tokens that count against the limit
    guessed: Guess | None = None  # about what each message takes, where all of them are far more than the limit

    @property
    def stay(self) -> set[int]:
        """Messages that are no system messages and have to stay: instructions, and what is held."""
        return {index for index, layer in self.layers.items() if layer == 1} | self.held


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that users of a fit should know, with its numbers."""

    message: str
    numbers: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """What one planning gives: the conversation to send, and what became of the one that was given."""

    conversation: Conversation
    total: int
    groups: list[Group] = field(default_factory=list)
    archive: dict[str, str] = field(
        default_factory=dict
    )  # originals by their handles, but for what the planner archived
    archived_messages: ArchivedMessages | None = None
    archived: list[int] = field(default_factory=list)
    # What a policy did before the planner saw the conversation, and what its users should know.
    steps: list[Decision] = field(default_factory=list)
    warnings: list[Notice] = field(default_factory=list)
    planned: Conversation | None = None
    draft: Draft | None = None  # what was planned, with the names of its messages
    # For every message of the conversation its index in the planned one; -1 for the summary.
    places: list[int] = field(default_factory=list)

    def originals(self) -> dict[str, str]:
        """All that left the request, by its handle."""
        return (
            self.archive
            if self.archived_messages is None
            else {**self.archive, self.archived_messages.handle: self.archived_messages.text}
        )
