"""Sections: the pieces that a prompt is assembled from, and what each of them says about its place in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from brim.conversation import Role
from brim.count_text import CountText
from brim.errors import BadInput

ROLES = ("system", "user", "assistant")
_PART = re.compile(r"/[1-9]\d{0,5}")


class Budget(int):
    """The tokens that an expandable section may take, and the count that they are measured with."""

    count: CountText

    def __new__(cls, tokens: int, count: CountText) -> Budget:
        made = super().__new__(cls, tokens)
        made.count = count
        return made


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a prompt: a text, other sections, a text that is made when its room is known, or a whole message.

    Of sections that stand beside each other the one with the lowest `priority` leaves first; one without a priority
    stays, and lets the sections inside it be compared with those beside it. `break_on` says where a text may be cut,
    `limit` how many tokens it or what is inside it may take at most, `keep_with` which sections (by their name or by
    a word that they share) go when it goes. What stands before the last `cache_breakpoint` leaves only when nothing
    else is left to leave.

    `expand` is called with the tokens that are left for it and gives a text. Sections with a lower `flex_grow` are
    asked first; those with the same one share what is left, in proportion to their `flex_basis`. `flex_reserve` keeps
    tokens (1000) or a part of the budget ("/4") free for it.

    Example: Section("Notes:\\n…", priority=5, break_on="\\n", limit=800)
    """

    text: str = ""
    children: Sequence[Section | str] = ()
    role: Role | None = None
    priority: float | None = None
    flex_grow: int = 0
    flex_basis: float = 1
    flex_reserve: int | str = 0
    limit: int | None = None
    keep_with: str = ""
    break_on: str = ""
    cache_breakpoint: bool = False
    expand: Callable[[Budget], str] | None = None
    message: Mapping[str, Any] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        given: Any = self.children
        if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping, Sequence)):
            object.__setattr__(self, "children", tuple(given))  # a generator can be read only once

    def reserve(self, budget: int) -> int:
        """Example: Section(flex_reserve="/4").reserve(1_000) -> 250"""
        if isinstance(self.flex_reserve, str):
            return budget // int(self.flex_reserve[1:])
        return self.flex_reserve

    def check(self, at: str) -> None:
        """Refuse what makes no sense, by its place."""
        for name, wrong, problem in self._problems():
            if wrong:
                raise BadInput(f"{at}.{name}", problem)

    def _problems(self) -> list[tuple[str, bool, str]]:
        contents = sum((bool(self.text), bool(self.children), self.expand is not None, self.message is not None))
        reserve = self.flex_reserve
        part = isinstance(reserve, str) and _PART.fullmatch(reserve) is not None
        return [
            ("text", not isinstance(self.text, str), "must be text"),
            ("children", not listed(self.children), "must be a list of sections"),
            ("text", contents > 1, "a section has a text, children, expand or a message: one of them"),
            ("role", self.role is not None and self.role not in ROLES, f"must be one of {', '.join(ROLES)}"),
            ("role", self.role is not None and self.message is not None, "a message has its own role"),
            ("priority", self.priority is not None and not _number(self.priority), "must be a number"),
            ("flex_grow", not _whole(self.flex_grow), "must be a whole number of at least 0"),
            ("flex_basis", not (_number(self.flex_basis) and 0 < self.flex_basis < inf), "must be a number above 0"),
            ("flex_reserve", not part and not _whole(reserve), 'must be a number of tokens, or a part such as "/4"'),
            ("limit", self.limit is not None and not _whole(self.limit), "must be a whole number of at least 0"),
            ("break_on", not isinstance(self.break_on, str), "must be text"),
            ("keep_with", not isinstance(self.keep_with, str), "must be text"),
            ("name", not isinstance(self.name, str), "must be text"),
            ("expand", self.expand is not None and not callable(self.expand), "must be a function of a budget"),
            ("message", self.message is not None and not isinstance(self.message, Mapping), "must be a message"),
        ]


def listed(value: Any) -> bool:
    """Whether something is several sections."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, Section))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
