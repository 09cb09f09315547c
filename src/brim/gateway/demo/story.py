"""What a sample agent is: a client, a model, tools and the words of its user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# The APIs of the sample whose instructions are no message.
SYSTEM_FIELD = frozenset(("anthropic",))


@dataclass(frozen=True, slots=True)
class Step:
    """What the user says; the tool that this leads to, if any; what a right answer holds, if it is a question."""

    said: str
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """One agent from its first message to its last."""

    name: str
    client: str
    api: Literal["openai_chat", "anthropic"]
    model: str
    instructions: str
    tools: Mapping[str, str]
    argument: str
    steps: tuple[Step, ...]
    answer: Callable[[str, Mapping[str, Any]], str]

    @property
    def system_field(self) -> bool:
        """Whether its API has a field for the instructions, and blocks in the place of plain contents."""
        return self.api in SYSTEM_FIELD

    @property
    def requests(self) -> int:
        """How many requests it takes: one a step, and one more for each that calls a tool."""
        return sum(2 if step.tool else 1 for step in self.steps)
