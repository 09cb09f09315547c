"""A framework's own model object with other methods: it stays an instance of its class, and no other changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def overridden(instance: T, methods: dict[str, Callable[..., Any]]) -> T:
    """A copy of `instance` with `methods` in place of its own; `super(type(self), self)` has those.

    Example: overridden(model, {"invoke": invoke})
    """
    kind: Any = type(instance)
    found = copy.copy(instance)
    made = type(kind)(kind.__name__, (kind,), {"__module__": kind.__module__, **methods})
    object.__setattr__(found, "__class__", made)  # pydantic's own __setattr__ takes fields only
    return found


def own(instance: object, name: str) -> Any:
    """The method that an overridden one stands in front of."""
    return getattr(super(type(instance), instance), name)
