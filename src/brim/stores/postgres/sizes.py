"""Known sizes at hand: what was loaded or put here is answered from memory, and what was put waits for a commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping

from brim.sized_lru import SizedLru
from brim.stores.postgres.rows import short

# What is held in memory; each takes so much beside its key.
MOST_BYTES, HELD = 16 << 20, 200
# For so long a key that was not there is not asked for again; another gateway may have put it since.
MISS_SECONDS = 30.0
# So many wait for a commit; then they are written by themselves.
MOST_WAITING = 2_000


class KnownSizes:
    """May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: SizedLru[bytes, tuple[int | None, float]] = SizedLru(MOST_BYTES)
        self._waiting: dict[bytes, int] = {}

    def get(self, key: bytes) -> int | None:
        with self._lock:
            found = self._known.get(key)
            return found[0] if found is not None else None

    def put(self, key: bytes, tokens: int) -> bool:
        """Keep a size; whether so many wait now that they should be written."""
        with self._lock:
            self._keep(key, tokens, 0.0)
            self._waiting[key] = tokens
            return len(self._waiting) >= MOST_WAITING

    def missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those keys that have to be asked for."""
        now = time.monotonic()
        with self._lock:
            held = {key: self._known.get(key) for key in keys}
        return [key for key, found in held.items() if found is None or (found[0] is None and now > found[1])]

    def learn(self, asked: Iterable[bytes], found: Mapping[int, int]) -> None:
        """Take what the database answered. What was put here meanwhile is newer."""
        until = time.monotonic() + MISS_SECONDS
        with self._lock:
            for key in asked:
                if key not in self._waiting:
                    self._keep(key, found.get(short(key)), until)

    def take(self) -> dict[bytes, int]:
        """What waits; it is given back by `again` if it could not be written."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
            return taken

    def again(self, taken: Mapping[bytes, int]) -> None:
        with self._lock:
            self._waiting = {**taken, **self._waiting}

    def _keep(self, key: bytes, tokens: int | None, until: float) -> None:
        self._known.put(key, (tokens, until), len(key) + HELD)
