"""The token cost of a request's parts; each provider's file computes them.

Each provider's file gives the parts of a request separately (a base, each message, the system text, the tools),
so that a caller can cache the sizes of messages that it has seen. Where the provider's own rendering is known
from its published counts, the parts are exact; where it is not, they are on the high side, and `slack` holds what
a request could cost beyond them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Framed:
    """The parts of one request in tokens.

    Example: Framed(base=3, messages=(5, 8), tools=0, slack=2).tokens -> 16, .upper -> 18
    """

    base: int
    messages: tuple[int, ...]
    tools: int
    slack: int = 0

    @property
    def tokens(self) -> int:
        """The best estimate."""
        return self.base + sum(self.messages) + self.tools

    @property
    def upper(self) -> int:
        """An upper bound on the provider's count."""
        return self.tokens + self.slack
