"""What a request costs around its text: one file a provider.

Each provider's file gives the parts of a request separately (a base, each message, the system text, the tools),
so that a caller can keep the sizes of the messages that it has seen. Where the provider's own rendering is known
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
        """The best number there is."""
        return self.base + sum(self.messages) + self.tools

    @property
    def upper(self) -> int:
        """A number that the provider's is not above."""
        return self.tokens + self.slack
