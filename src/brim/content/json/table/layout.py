"""Decides how the objects of each class are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from brim.content.json.identifiers import key_rank, names_something
from brim.content.json.table.shape import ENTRY, Class, RowShape

_SMALL = 5


def choose_forms(shape: RowShape, keyed: bool) -> None:
    """Decide for each class how its objects are written.

    `flat`: as columns of the surrounding table; `rows`: a list that occurs once, one line per row; `keyed`: each
    object once in a table, and its key everywhere else; `inline`: a bracket of cells; `plain`: {key:value}.
    """
    classes = shape.distinct()
    parents = {parent for cls in classes for parent, _, _ in cls.places}
    for cls in classes:
        if _stands_flat(shape, cls, cls not in parents) and not (keyed and cls.total > 3 and _becomes_keyed(cls, 2)):
            cls.form = "flat"
        elif cls.key or (keyed and cls.total > 1 and cls.keys[0] is not ENTRY and _becomes_keyed(cls, 1)):
            cls.form = "keyed"
        elif cls.total == 1 and len(cls.keys) < 4 and cls not in parents:
            cls.form = "plain"
    for cls in classes:
        parent, key, in_list = next(iter(cls.places))
        if cls.form != "keyed" and len(cls.places) == 1 and (cls.form != "flat" or parent is None):
            rows = _list_at(shape, parent, key) if (in_list or parent is None) and _stands_once(parent) else []
            if len(rows) == cls.total and all(type(row) is dict and shape.find(row) is cls for row in rows):
                cls.form, cls.rows = "rows", rows  # in list order, regardless of group
    _mark_recursive(classes)


def _stands_once(cls: Class | None) -> bool:
    while cls is not None:
        if cls.total != 1 or len(cls.places) != 1 or cls.form not in ("flat", "rows"):
            return False
        cls = next(iter(cls.places))[0]
    return True


def _list_at(shape: RowShape, parent: Class | None, key: str) -> list[Any]:
    value = shape.root if parent is None else shape.child(parent.rows[0], key)
    if type(value) is dict:
        return shape.maps.get(id(value), [value])
    return value if type(value) is list else []


def _stands_flat(shape: RowShape, cls: Class, is_leaf: bool) -> bool:
    """Whether every surrounding row has just one such object in one place, or a small one in several."""
    if any(parent is not None and parent.total != count for (parent, _, _), count in cls.places.items()):
        return False
    if len(cls.places) > 1:
        return is_leaf and len(cls.keys) <= _SMALL and not any(in_list for _, _, in_list in cls.places)
    parent, key, in_list = next(iter(cls.places))
    if cls.keys[0] is ENTRY or parent is cls:
        return False
    if not in_list:
        return True
    # In lists it must be the only item; an empty object beside it counts as an item too.
    return parent is not None and all(
        isinstance(items := shape.child(row, key), list) and len(items) == 1 for row in parent.rows if key in row
    )


def _becomes_keyed(cls: Class, worth: int) -> bool:
    """Whether a class has enough repeated objects to write each once, and a key to refer to them."""
    if len(cls.keys) < 3:
        return False
    try:
        seen = {msgspec.json.encode(row): row for row in reversed(cls.rows)}
    except (TypeError, UnicodeEncodeError):
        return False
    total, different = len(cls.rows), len(seen)
    if different * (3 + worth) > total * 3 or (worth > 1 and different == 1):
        return False
    rows = list(reversed(seen.values()))
    best = min(
        (key for key in cls.keys if key not in cls.optional and names_something(key) and _is_key(rows, key)),
        key=lambda key: (key_rank(key), cls.keys.index(key)),
        default=None,
    )
    if best is None:
        return False
    cls.key, cls.rows = best, rows
    return True


def _is_key(rows: list[dict[str, Any]], key: str) -> bool:
    values = [row[key] for row in rows]
    kinds = set(map(type, values))
    if kinds != {str} and kinds != {int}:
        return False
    if len(set(values)) != len(values):
        return False
    return kinds == {int} or all(len(text) <= 64 and text.isprintable() and text[:1] not in "{[" for text in values)


def _mark_recursive(classes: Iterable[Class]) -> None:
    """Mark the classes whose objects can contain others of the same class, at any depth.

    Their rows are written from the inside out, each on demand. Writing one class along the way as plain objects
    would not help: they are part of a row, and still need the texts of the rows inside them. An object of a keyed
    class is written as its key, so its content isn't needed there.
    """
    children: dict[Class, list[Class]] = {}
    for cls in classes:
        if cls.form != "keyed":
            for parent, _, _ in cls.places:
                if parent is not None:
                    children.setdefault(parent, []).append(cls)
    for circle in _circles(children):
        for cls in circle:
            cls.recursive = True


def _circles(children: dict[Class, list[Class]]) -> list[list[Class]]:
    """Return the classes that can be reached from themselves, cycle by cycle (Tarjan's algorithm)."""
    circles: list[list[Class]] = []
    number: dict[Class, int] = {}
    lowest: dict[Class, int] = {}
    path: list[Class] = []
    open_now: set[Class] = set()

    def descend(cls: Class) -> None:
        number[cls] = lowest[cls] = len(number)
        path.append(cls)
        open_now.add(cls)
        for child in children.get(cls, ()):
            if child not in number:
                descend(child)
                lowest[cls] = min(lowest[cls], lowest[child])
            elif child in open_now:
                lowest[cls] = min(lowest[cls], number[child])
        if lowest[cls] == number[cls]:
            circle = path[path.index(cls) :]
            del path[-len(circle) :]
            open_now.difference_update(circle)
            if len(circle) > 1 or cls in children.get(cls, ()):
                circles.append(circle)

    for cls in children:
        if cls not in number:
            descend(cls)
    return circles
