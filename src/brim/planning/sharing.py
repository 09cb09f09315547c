"""Divides the room that is left: shares in proportion to value, and for each item the best form its share allows.

A step is shown in place if its share is several times its overhead (frame, ids, arguments), otherwise as a line of the
summary. A text is shown whole when its share reaches its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brim.planning.forms import Forms
from brim.planning.items import WHOLE, Group

CandidateForm = Literal["full", "short", "line", "archived"]
# Tokens of a line with tool, key arguments and outcome; half of it names the call. Values kept by a fit / session of
# tau at 25%, tuned half: .861 / .834 so, .861 / .834 at 24 (bench/meaning.py).
LINE = 32
# A step is shown in place if its share is this many times its overhead; otherwise a line of the summary says more.
IN_PLACE = 4
# Bisections of the price: 2^-24 of the range is far below one token.
HALVINGS = 24


@dataclass(slots=True)
class Candidate:
    """A group that rule 4 decides on, with the decision."""

    group: Group
    weight: float
    size: int  # tokens added by showing it whole
    overhead: int  # tokens added by showing it in place, before any content
    step: bool  # whether it has calls or results, so that a summary line can represent it
    whole: bool  # whether it is kept whole or not at all
    was_kept: bool
    ranked: bool = False  # whether its weight alone decides, because it already accounts for size
    floor: int = 0  # tokens that its line gets in any case
    form: CandidateForm = "archived"
    tokens: int = 0

    @classmethod
    def of(cls, group: Group, weight: float, forms: Forms, chat: bool) -> Candidate:
        step = any(item.kind in ("call", "result") for item in group.items)
        if group.kept:
            shown = sum(item.shown_tokens for item in group.items)
            return cls(group, weight, sum(item.tokens for item in group.items) - shown, 0, step, False, True, chat)
        floors = sum(forms.floor(item) for item in group.items if item.kind != "result")
        whole = not step and sum(item.tokens for item in group.items) <= WHOLE
        fixed = any(item.fixed and not item.droppable for item in group.items)
        return cls(group, weight, group.tokens, group.frame + floors, step, whole or fixed, False, chat)

    @property
    def need(self) -> float:
        """The share at which it is shown whole."""
        return 1.0 if self.ranked else self.size

    def at(self, price: float) -> tuple[CandidateForm, int]:
        """Its form and tokens at a given price per token."""
        share = self.weight / price if price else float("inf")
        if share >= self.need:
            return "full", self.size
        if self.was_kept:
            return "short", int(share)
        if not self.whole and share >= IN_PLACE * self.overhead + LINE:
            return "short", int(share)
        if self.step:
            line = max(int(min(share, IN_PLACE * self.overhead + LINE)), self.floor)
            return ("line", line) if line >= LINE // 2 else ("archived", 0)
        return "archived", 0


def share_out(candidates: list[Candidate], room: int, lines: int) -> None:
    """Decide the form of every candidate, at the lowest price at which everything is within `room` tokens.

    Steps have a short line of their own, then a longer one, the newest first, while these take at most `lines` tokens.
    """
    for candidate in candidates:
        candidate.floor = 0
    for more in (LINE // 2, LINE - LINE // 2):  # each its short line, then the newest a longer one
        for candidate in reversed(candidates):
            if candidate.step and not candidate.was_kept and lines >= more:
                candidate.floor += more
                lines -= more
    low, high = 0.0, max([candidate.weight for candidate in candidates], default=0.0) + 1.0
    if sum(candidate.size for candidate in candidates) <= room:
        high = 0.0
    for _ in range(HALVINGS if high else 0):
        price = (low + high) / 2
        if sum([candidate.at(price)[1] for candidate in candidates]) <= room:
            high = price
        else:
            low = price
    for candidate in candidates:
        candidate.form, candidate.tokens = candidate.at(high)
