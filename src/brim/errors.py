"""Every error that Brim raises.

BrimError
├── BadInput            invalid data from the caller: names the place inside it
│   └── BadBody         an invalid request body: `at` is the path, such as messages[3].content[0].type
│       └── TooDeep     JSON nested deeper than any API accepts
├── BadSetting          an invalid setting, flag or policy value: names it and the valid values
├── UnknownModel        no such model: lists the nearest names
├── BudgetTooSmall      what must stay doesn't fit: lists each part with its tokens
├── NotDecodable        brim.decode was given text that Brim didn't produce
├── NotFound            a handle, session or document that doesn't exist
└── MissingExtra        an optional extra isn't installed: gives the command to install it
    └── MissingFramework  the framework of an adapter isn't installed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BrimError(Exception):
    """The root of the tree: `except brim.BrimError` catches everything that Brim raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle an error with all its fields, because most errors are created from more than their text."""
        return _raised_elsewhere, (type(self), self.args, self.__dict__)


def _raised_elsewhere(kind: type[BrimError], args: tuple[Any, ...], fields: dict[str, Any]) -> BrimError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class BadInput(BrimError, ValueError):
    """The caller's data is invalid; `at` names the place inside it."""

    def __init__(self, at: str, problem: str) -> None:
        self.at = at
        self.problem = problem
        super().__init__(f"{at}: {problem}" if at else problem)


class BadBody(BadInput):
    """A request body is invalid for its API."""


class TooDeep(BadBody):
    """A request body is nested deeper than any API accepts; no provider could answer it."""

    def __init__(self, at: str, most: int) -> None:
        super().__init__(at, f"is nested more than {most} levels deep")


class BadSetting(BrimError, ValueError):
    """A setting has an invalid value."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"{name}: {problem}")


class UnknownModel(BrimError, LookupError):
    """No model with this name is known."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        self.name = name
        self.near = tuple(near)
        hint = f"did you mean {', '.join(self.near)}? " if self.near else ""
        asked = f"no model {name!r} is known: {hint}" if name else "no model is named: give one, such as gpt-4o; "
        super().__init__(
            f"{asked}`brim models` lists them; brim.toml adds one to the commands and the gateway ([models.NAME]), "
            "and model=brim.Model(…) one to a call"
        )


class BudgetTooSmall(BrimError):
    """The parts that must stay need more than the budget; `must_stay` lists them with their tokens."""

    def __init__(self, needed: int, budget: int, must_stay: Sequence[tuple[str, int]] = ()) -> None:
        self.needed = needed
        self.budget = budget
        self.must_stay = tuple(must_stay)
        parts = "; ".join(f"{what} {tokens:,}" for what, tokens in self.must_stay[:8])
        listed = f" ({parts})" if parts else ""
        super().__init__(
            f"the parts that must stay need {needed:,} tokens and the budget is {budget:,}{listed}: "
            "raise budget=, shorten the instructions or tools, or unpin what may go"
        )


class NotDecodable(BrimError, ValueError):
    """The text isn't a lossless form that Brim produced."""


class NotFound(BrimError, LookupError):
    """A handle, session or document doesn't exist."""


class MissingExtra(BrimError, ImportError):
    """An optional extra isn't installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.what = what
        self.extra = extra
        super().__init__(f"{what} needs an optional part: pip install 'brim[{extra}]'")


class MissingFramework(MissingExtra):
    """An adapter's framework isn't installed. `extra` is the requirement that was tested."""

    def __init__(self, module: str, requirement: str) -> None:
        self.what = module
        self.extra = requirement
        BrimError.__init__(self, f"{module} needs its framework: pip install '{requirement}'")
