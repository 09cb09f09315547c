"""A model: its window, its largest output, its tokenizer family and its prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from brim import errors
from brim.models.families import Family

UNKNOWN_OUTPUT_SHARE: Final = 0.85
"""The share of the window that is input where the largest output is not known."""


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens. An unknown price is None and counts as the price of fresh input.

    Where a provider charges by the size of the prompt, these are the prices of the first tier.
    """

    fresh: float
    output: float
    cached: float | None = None
    written: float | None = None

    def cost(self, fresh: int = 0, cached: int = 0, written: int = 0, output: int = 0) -> float:
        """The price in USD of so many tokens; the three kinds of input do not overlap.

        Example: `Prices(fresh=2.5, output=10, cached=1.25).cost(1000, 9000, 0, 500)` -> `0.01875`.
        """
        reading = self.fresh if self.cached is None else self.cached
        writing = self.fresh if self.written is None else self.written
        return (fresh * self.fresh + cached * reading + written * writing + output * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Model:
    """One model at one provider.

    `window` holds input and output together; `input_limit` is a tighter limit on the input alone, where the
    provider has one (GPT-5: a window of 400,000 and at most 272,000 of it as input). `max_output` is None
    where it is unknown. `api` names the wire format, `source` says where these facts come from.
    """

    name: str
    provider: str
    window: int
    max_output: int | None
    family: Family
    prices: Prices | None
    api: str
    source: str
    input_limit: int | None = None

    def __post_init__(self) -> None:
        for field in ("window", "max_output", "input_limit"):
            value = getattr(self, field)
            if value is not None and value <= 0:
                raise errors.BadInput(f"models.{self.name}.{field}", f"{value} is not a positive number of tokens")

    def max_input(self, reserve: int | None = None) -> int:
        """The most input tokens that leave room for an answer of `reserve` tokens.

        Without `reserve` the largest output is reserved, but never more than half the window: some models
        may write (almost) their whole window, and nobody wants no input. Where the largest output is
        unknown, 0.85 of the window is input.

        Example: window 200,000 and largest output 64,000 -> `136_000`; with `reserve=4_096` -> `195_904`.
        """
        if reserve is not None:
            if reserve < 0:
                raise errors.BadInput("reserve", f"{reserve} is not a number of tokens: it must be 0 or more")
            room = max(0, self.window - reserve)
        elif self.max_output is None:
            room = int(self.window * UNKNOWN_OUTPUT_SHARE)
        else:
            room = self.window - min(self.max_output, self.window // 2)
        return room if self.input_limit is None else min(room, self.input_limit)
