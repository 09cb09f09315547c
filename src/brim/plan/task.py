"""What one planning is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from brim.conversation import Conversation, Message
from brim.plan.items import Group
from brim.plan.report import Decision
from brim.tokens.counter import Counter


@dataclass(slots=True)
class Task:
    """What one planning is given."""

    conversation: Conversation
    counter: Counter
    limit: int
    recent: float = 0.05
    query: str = ""
    relevance: Callable[[int], list[float] | None] | None = None  # given the room that the history has
    recall: bool = False
    layers: dict[int, int] = field(default_factory=dict)
    record: Callable[[list[Message], int], str] | None = None  # what folded messages were about, in so many tokens
    ledger: float = 0.05
    frozen: int = 0  # so many messages at the start were sent before and stay as they are
    fill: bool = True  # whether what thresholds leave over is spent; a session keeps it for what comes
    spare: bool = True  # whether to go below the usual floors rather than refuse; a session has other plans first
    size: Callable[[int], int] = lambda tokens: tokens  # the tokens that count against the limit
    guessed: list[int] | None = None  # about what each message takes, where all of them are far more than the limit


@dataclass(slots=True)
class Outcome:
    """What one planning gives: the conversation to send, and what became of the one that was given."""

    conversation: Conversation
    total: int
    groups: list[Group] = field(default_factory=list)
    stash: dict[str, str] = field(default_factory=dict)
    folded: list[int] = field(default_factory=list)
    # What a policy did before the planner saw the conversation, and what its users should know.
    steps: list[Decision] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    planned: Conversation | None = None
    # For every message of the conversation its index in the planned one; -1 for the notice.
    places: list[int] = field(default_factory=list)
