"""A sample agent: a client, a model, tools and its user's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# The sample's APIs whose instructions are a field rather than a message.
SYSTEM_FIELD = frozenset(("anthropic",))


@dataclass(frozen=True, slots=True)
class Step:
    """The user's message, the tool call it leads to, if any, and what a correct answer to a question contains."""

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
        """Whether its API has a field for instructions, and blocks instead of plain contents."""
        return self.api in SYSTEM_FIELD

    @property
    def requests(self) -> int:
        """The number of requests: one per step, and one more for each tool call."""
        return sum(2 if step.tool else 1 for step in self.steps)
