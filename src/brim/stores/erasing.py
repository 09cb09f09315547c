"""Erases a tenant from a store's small values: its limits, and its rows in the statistics."""

from __future__ import annotations

from typing import Any

from brim.conversation import decode, encode
from brim.stores.moving import Movable


def marks(tenant: str) -> tuple[str, ...]:
    """The forms in which a tenant's name appears: before an id, in a row, and in the name of a value."""
    return f"{tenant}~", f'"{tenant}"', f".{tenant}."


def erase_values(store: Movable, tenant: str) -> int:
    """Delete all values of a tenant, and its rows from shared ones; returns how many values contained it."""
    taken = 0
    for name, value in store.value_rows():
        begin, quoted, inside = marks(tenant)
        if name.startswith(begin) or inside in name:
            store.put_value(name, None)
        elif any(mark.encode() in value for mark in (begin, quoted)):
            store.put_value(name, without_rows(value, tenant))
        else:
            continue
        taken += 1
    return taken


def without_rows(value: bytes, tenant: str) -> bytes | None:
    """A value without the rows that name a tenant; None if it isn't made of rows.

    Example: without_rows(b'[7,[[1,"acme"],[2,"other"]]]', "acme") -> b'[7,[[2,"other"]]]'
    """
    try:
        found = decode(value)
    except ValueError:
        return None
    return encode(_without(found, tenant)) if isinstance(found, list) and not _names(found, tenant) else None


def _without(value: Any, tenant: str) -> Any:
    if isinstance(value, list):
        return [_without(item, tenant) for item in value if not _names(item, tenant)]
    return value


def _names(row: Any, tenant: str) -> bool:
    """Whether a row itself, rather than a row inside it, names a tenant."""
    fields = row.values() if isinstance(row, dict) else row if isinstance(row, list) else ()
    return any(isinstance(one, str) and (one == tenant or one.startswith(f"{tenant}~")) for one in fields)
