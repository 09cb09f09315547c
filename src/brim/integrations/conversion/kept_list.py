"""A list of JSON values in a Brim store, for frameworks that persist their messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brim.stores.protocol import Store, Turn
from brim.stores.resilient import open_store


class KeptList:
    """A list with append and pop. A store only appends, so a pop is a record too.

    Example: KeptList("thread-1", "brim.db").add([{"role": "user", "content": "hello"}])
    """

    def __init__(self, name: str, store: Store | str | Path) -> None:
        self.name = name
        self.store = open_store(store) if isinstance(store, (str, Path)) else store

    def values(self) -> list[Any]:
        found: list[Any] = []
        for record in self.store.records(self.name):
            kept = json.loads(record)
            if "value" in kept:
                found.append(kept["value"])
            elif found:
                found.pop()
        return found

    def add(self, values: Sequence[Any]) -> None:
        records = [
            json.dumps({"value": value}, ensure_ascii=False).encode("utf-8", "surrogatepass") for value in values
        ]
        self.store.commit(Turn(self.name, records=records))

    def pop(self) -> Any:
        """Remove and return the last value; None if there is none."""
        values = self.values()
        if not values:
            return None
        self.store.commit(Turn(self.name, records=[b"{}"]))
        return values[-1]

    def clear(self) -> None:
        self.store.delete_session(self.name)
