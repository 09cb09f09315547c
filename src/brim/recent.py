"""A bounded memory for results that may always be made again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping that forgets what has not been used for long, bounded by the sizes that its entries claim.

    Two generations stand in for an LRU list, so that a hit costs one look-up: what is used moves to the young
    one, and when that holds half the limit the old one is let go.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._young: dict[K, tuple[V, int]] = {}
        self._old: dict[K, tuple[V, int]] = {}

    def get(self, key: K) -> V | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self.put(key, *found)
        return found[0]

    def put(self, key: K, value: V, size: int = 1) -> V:
        self._size += size
        if self._size > self._limit // 2:
            self._old, self._young, self._size = self._young, {}, size
        self._young[key] = (value, size)
        return value

    def clear(self) -> None:
        self._young, self._old, self._size = {}, {}, 0

    def __len__(self) -> int:
        return len(self._young) + sum(key not in self._young for key in self._old)
