"""The file in which workers keep sessions and archives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from brim.stores.protocol import Limits, Store
from brim.stores.resilient import is_address, open_store


@dataclass(frozen=True)
class StoreFile:
    """The file in which workers keep sessions and archives, next to the gateway's own, and its limits.

    With one file for both, small requests would wait while large ones are written.
    """

    path: str
    limits: Limits

    @property
    def words(self) -> list[str]:
        """Command-line arguments for it. Anyone on the machine can read those, so they hold no database address."""
        return ["-" if is_address(self.path) else self.path, str(self.limits.max_bytes), str(self.limits.max_age_days)]

    @classmethod
    def beside(cls, path: str, limits: Limits) -> StoreFile:
        """Example: beside("brim.db", …).path -> "brim.large.db"; a database is one for both."""
        if is_address(path):
            return cls(path, limits)
        place = Path(path).expanduser()
        return cls(str(place.with_suffix(f".large{place.suffix}")), limits)

    @cached_property
    def opened(self) -> Store:
        """The opened store, in which the gateway finds what a worker archived."""
        return open_store(self.path, self.limits)
