"""Overrides methods of a single object of a framework; it stays an instance of its class, and others don't change."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def overridden(instance: T, methods: dict[str, Callable[..., Any]]) -> T:
    """A copy of `instance` with its methods overridden by `methods`; `super(type(self), self)` has the originals.

    Example: overridden(model, {"invoke": invoke})
    """
    kind: Any = type(instance)
    found = copy.copy(instance)
    made = type(kind)(kind.__name__, (kind,), {"__module__": kind.__module__, **methods})
    object.__setattr__(found, "__class__", made)  # pydantic's __setattr__ only accepts fields
    return found


def own(instance: object, name: str) -> Any:
    """The original of an overridden method."""
    return getattr(super(type(instance), instance), name)
