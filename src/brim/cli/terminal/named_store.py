"""The store that a command works on: named by --store, else by the settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from brim import settings
from brim.cli.terminal.reading import apply_settings
from brim.errors import NotFound
from brim.settings.secrets import without_password
from brim.stores.protocol import Store
from brim.stores.resilient import is_address, open_store


def place_of(given: str | None) -> str:
    """The location of the store. Example: place_of(None) -> "/home/me/.local/share/brim/brim.db" """
    place = given or settings.load().store_place
    return place if is_address(place) else str(Path(place).expanduser())


@contextmanager
def named_store(given: str | None = None, *, new: bool = False) -> Iterator[Store]:
    """Open the store. Raises NotFound if there is none that can be used."""
    apply_settings()
    place = place_of(given)
    if not new and not is_address(place) and not Path(place).is_file():
        raise NotFound(f"there is no store at {place}: name one with --store, or set store.path")
    store = open_store(place)
    try:
        if store.degraded:
            raise NotFound(f"the store {without_password(place)} cannot be used: {store.degraded}")
        yield store
    finally:
        store.close()
