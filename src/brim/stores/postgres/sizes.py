"""Known sizes in memory: loaded or new ones are answered from here, and new ones wait for a commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping

from brim.sized_lru import SizedLru
from brim.stores.postgres.rows import short

# Bytes to hold in memory, and the overhead of each entry beside its key.
MOST_BYTES, HELD = 16 << 20, 200
# Seconds before a missing key is requested again; another gateway may have stored it since.
MISS_SECONDS = 30.0
# Entries that may wait for a commit before they are written separately.
MOST_WAITING = 2_000


class KnownSizes:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: SizedLru[bytes, tuple[int | None, float]] = SizedLru(MOST_BYTES)
        self._waiting: dict[bytes, int] = {}

    def get(self, key: bytes) -> int | None:
        with self._lock:
            found = self._known.get(key)
            return found[0] if found is not None else None

    def put(self, key: bytes, tokens: int) -> bool:
        """Add a size; returns whether enough are waiting to be written."""
        with self._lock:
            self._keep(key, tokens, 0.0)
            self._waiting[key] = tokens
            return len(self._waiting) >= MOST_WAITING

    def missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """The keys that have to be requested."""
        now = time.monotonic()
        with self._lock:
            held = {key: self._known.get(key) for key in keys}
        return [key for key, found in held.items() if found is None or (found[0] is None and now > found[1])]

    def learn(self, asked: Iterable[bytes], found: Mapping[int, int]) -> None:
        """Add the database's answers; sizes added here meanwhile are newer."""
        until = time.monotonic() + MISS_SECONDS
        with self._lock:
            for key in asked:
                if key not in self._waiting:
                    self._keep(key, found.get(short(key)), until)

    def take(self) -> dict[bytes, int]:
        """Take the waiting entries; `again` returns them if they couldn't be written."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
            return taken

    def again(self, taken: Mapping[bytes, int]) -> None:
        with self._lock:
            self._waiting = {**taken, **self._waiting}

    def _keep(self, key: bytes, tokens: int | None, until: float) -> None:
        self._known.put(key, (tokens, until), len(key) + HELD)
