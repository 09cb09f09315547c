"""A bounded cache for results that can always be recomputed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SizedLru(Generic[K, V]):
    """A mapping that evicts the least recently used entries, limited by the sizes that entries declare.

    Two queues approximate an LRU list, so that a hit costs one lookup and no lock: new entries, and those found in the
    old queue, go to the end of the young queue, whose first entries move to the old one when both are nearly full and
    the young one has more than half. When the old queue is out of room, its entries are evicted one by one, so a full
    cache keeps its size. In a cache with room, nothing moves. Thread-safe.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._nearly = limit - limit // 8  # the last eighth gives entries in use time to be found in the old queue
        self._young: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._old: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._young_size = self._old_size = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """The total size that entries declare."""
        return self._young_size + self._old_size

    def get(self, key: K) -> V | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self.put(key, *found)
        return found[0]

    def get_all(self, keys: Sequence[K]) -> list[V | None]:
        """The result of `get` for each key, in half the time for thousands of keys."""
        found = [entry and entry[0] for entry in map(self._young.get, keys)]
        if self._old:
            for number, value in enumerate(found):
                if value is None:
                    found[number] = self.get(keys[number])
        return found

    def put(self, key: K, value: V, size: int = 1) -> V:
        with self._lock:
            self._add(key, value, size)
        return value

    def put_all(self, entries: Iterable[tuple[K, V, int]]) -> None:
        """`put` for many keys with values and sizes; makes room once for all of them."""
        with self._lock:
            young, old, added = self._young, self._old, 0
            for key, value, size in entries:
                if key in young or key in old:
                    self._add(key, value, size)
                else:
                    young[key] = (value, size)
                    added += size
            self._young_size += added
            if self.size > self._nearly:
                self._make_room()

    def _add(self, key: K, value: V, size: int) -> None:
        young, old = self._young, self._old
        if key in young:
            self._young_size -= young.pop(key)[1]
        elif key in old:
            self._old_size -= old.pop(key)[1]
        young[key] = (value, size)
        self._young_size += size
        if self._young_size + self._old_size > self._nearly:
            self._make_room()

    def _make_room(self) -> None:
        young, old, moved, excess = self._young, self._old, 0, self._young_size - self._limit // 2
        while moved < excess and len(young) > 1:
            first, entry = young.popitem(last=False)
            old[first] = entry
            moved += entry[1]
        self._young_size -= moved
        self._old_size += moved
        gone, excess = 0, self.size - self._limit
        while old and gone < excess:
            gone += old.popitem(last=False)[1][1]
        self._old_size -= gone

    def clear(self) -> None:
        with self._lock:
            self._young.clear()
            self._old.clear()
            self._young_size = self._old_size = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
