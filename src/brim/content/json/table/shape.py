"""Finds the classes in a JSON value: objects that look alike, wherever they are.

Example: [{"id": 1, "owner": {"login": "a"}}, {"id": 2, "owner": {"login": "b"}}]
         -> class item (id, owner) with two rows, class owner (login) with two rows, at one place: flat
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from brim.content.json.wrapping import Wrapped, unwrap_json

TableForm = Literal["inline", "flat", "rows", "keyed", "plain"]
# The place of an object: the number of its parent's group, the key, and whether it is in a list there.
ShapePlace = tuple[int, str, bool]
ROOT = -1
# Writing one level takes up to seven calls, so this leaves a caller half of Python's 1,000; reading a level reads
# everything inside it twice more: 64 levels took 40 times as long as counting. Schemas have 25 levels.
_MAX_DEPTH = 32
_MAX_GROUPS = 400
# A table may have this many times the keys of its most common objects, plus this many. Without a limit, 26 KB of a map
# with a different key in every entry made 60,000 cells. Tables of real API answers stay below 2 times.
_MOST_KEYS = (4, 8)


class EntryKey(str):
    """The key of a column with the keys of a map's entries; it never occurs in data."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(EntryKey)


ENTRY = EntryKey("*")


class NestedTooDeep(ValueError):
    """The value is too deeply nested or too varied for a table form."""


@dataclass(slots=True, eq=False)
class RowGroup:
    """The objects with the same keys in the same order."""

    number: int
    keys: tuple[str, ...]
    listed: ShapePlace | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    places: dict[ShapePlace, int] = field(default_factory=dict)
    key_set: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.key_set = frozenset(self.keys)


@dataclass(slots=True, eq=False)
class Class:
    """Groups similar enough to share a table; `form` says how its objects are written."""

    name: str
    keys: list[str]
    rows: list[dict[str, Any]]
    optional: set[str]
    places: dict[tuple[Class | None, str, bool], int]
    total: int
    form: TableForm = "inline"
    key: str = ""
    recursive: bool = False


class RowShape:
    """The objects of a value with their classes.

    `unwrapped` has the strings that were JSON themselves, by the id of their object and their key; `maps`
    has the objects whose keys are data, as entries with their key in the column ENTRY.
    """

    def __init__(self, value: Any, unwrap: bool = True) -> None:
        self.unwrap = unwrap
        self.groups: dict[Any, RowGroup] = {}
        self.listed: dict[int, Any] = {}
        self.unwrapped: dict[tuple[int, str], Wrapped] = {}
        self.maps: dict[int, list[dict[str, Any]]] = {}
        self.root = value
        self._visit(value, (ROOT, "", False), 0)
        self.classes = _classes(list(self.groups.values()))
        by_group = {group.number: cls for group, cls in self.classes}
        self.class_of: dict[Any, Class] = {home: by_group[group.number] for home, group in self.groups.items()}

    def of(self, row: dict[str, Any]) -> Class:
        return self.class_of[self.listed.get(id(row)) or tuple(row)]

    def find(self, row: dict[str, Any]) -> Class | None:
        """The class of an object; empty objects and maps have none."""
        return self.class_of.get(self.listed.get(id(row)) or tuple(row)) if id(row) not in self.maps else None

    def child(self, row: dict[str, Any], key: str) -> Any:
        wrapped = self.unwrapped.get((id(row), key))
        return row[key] if wrapped is None else wrapped.value

    def distinct(self) -> list[Class]:
        return list(dict.fromkeys(cls for _, cls in self.classes))

    def _visit(self, value: Any, place: ShapePlace, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise NestedTooDeep("nested too deep for tables")
        if type(value) is dict and value:
            if _is_map(value):
                entries = self.maps[id(value)] = [{ENTRY: key, **entry} for key, entry in value.items()]
                self._visit_list(entries, (place[0], place[1], True), depth + 1)
            else:
                self._visit_object(value, place, depth + 1)
        elif type(value) is list:
            self._visit_list(value, place if place[2] else (place[0], place[1], True), depth + 1)

    def _visit_list(self, items: list[Any], place: ShapePlace, depth: int) -> None:
        for item in items:
            kind = type(item)
            if not item:
                continue
            if kind is dict and not (next(iter(item)) is not ENTRY and _is_map(item)):
                self._visit_object(item, place, depth)
            elif kind is dict or kind is list:
                self._visit(item, place, depth)

    def _visit_object(self, row: dict[str, Any], place: ShapePlace, depth: int) -> None:
        keys = tuple(row)
        home: Any = keys
        if depth == 1 and place[2]:
            # A list that is the whole document gets its own table, whatever its rows contain.
            home = self.listed[id(row)] = (place, keys)
        group = self.groups.get(home)
        if group is None:
            if len(self.groups) >= _MAX_GROUPS:
                raise NestedTooDeep("too many kinds of object for tables")
            group = self.groups[home] = RowGroup(len(self.groups), keys, listed=place if home is not keys else None)
        group.rows.append(row)
        group.places[place] = group.places.get(place, 0) + 1
        for key, value in row.items():
            kind = type(value)
            if kind is dict or kind is list:
                if value:
                    self._visit(value, (group.number, key, False), depth)
            elif kind is str and self.unwrap and len(value) > 16 and _may_hold_json(value):
                wrapped = unwrap_json(value)
                if wrapped is not None:
                    self.unwrapped[id(row), key] = wrapped
                    self._visit(wrapped.value, (group.number, key, False), depth)


def _may_hold_json(text: str) -> bool:
    return (text[0] in "{[" and text[-1] in "]}") or (len(text) > 99 and ("\n{" in text or "\n[" in text))


def _is_map(value: dict[str, Any]) -> bool:
    """Whether an object's keys are data: its values are similar objects, and its keys look like ids."""
    if len(value) < 2:
        return False
    first: set[str] | None = None
    named = False
    for key, entry in value.items():
        if type(entry) is not dict or not entry:
            return False
        if first is None:
            first = set(entry)
        elif 2 * len(first & entry.keys()) < min(len(first), len(entry)):
            return False
        named = named or any(char.isdigit() for char in key) or not key.isidentifier()
    return named


def _classes(groups: list[RowGroup]) -> list[tuple[RowGroup, Class]]:
    """Merge similar groups, largest first, and name each class after the key of its objects."""
    merged: list[list[RowGroup]] = []
    for group in sorted(groups, key=lambda g: (-len(g.rows), g.number)):
        home = next((others for others in merged if _alike(others[0], group)), None)
        if home is None:
            merged.append([group])
        else:
            home.append(group)
    names: set[str] = set()
    classes = []
    by_number: dict[int, Class] = {}
    for members in sorted(merged, key=lambda ms: min(g.number for g in ms)):
        keys, outsiders = _merge_keys(members)
        for part in [[g for g in members if g not in outsiders], *([g] for g in outsiders)]:
            cls = _class(part, keys if part[0] is members[0] else list(part[0].keys), names)
            for group in part:
                by_number[group.number] = cls
                classes.append((group, cls))
    for group, cls in classes:
        for (parent, key, in_list), count in group.places.items():
            place = (by_number.get(parent), key, in_list)
            cls.places[place] = cls.places.get(place, 0) + count
    return classes


def _class(members: list[RowGroup], keys: list[str], names: set[str]) -> Class:
    rows = members[0].rows if len(members) == 1 else [row for group in members for row in group.rows]
    optional = {key for key in keys if any(key not in group.key_set for group in members)}
    at = max(members[0].places, key=lambda place: members[0].places[place])
    name = _name(at[1], names)
    return Class(name, keys, rows, optional, {}, len(rows))


def _alike(one: RowGroup, other: RowGroup) -> bool:
    """Whether key sets are similar, or share half of the smaller one's keys at the same place."""
    if (one.keys[0] is ENTRY) != (other.keys[0] is ENTRY) or one.listed != other.listed:
        return False
    mine, theirs = one.key_set, other.key_set
    if 4 * min(len(mine), len(theirs)) < max(len(mine), len(theirs)):
        return False
    common = len(mine & theirs)
    if 5 * common >= 3 * len(mine | theirs):
        return True
    together = any(place in one.places for place in other.places)
    return together and 5 * common >= 3 * min(len(mine), len(theirs)) and common > 1


def _merge_keys(members: list[RowGroup]) -> tuple[list[str], list[RowGroup]]:
    """Return a key order that is valid for all members, and the members that it can't be valid for.

    Members that keep adding new keys are excluded too: their table would be mostly blank, with many more cells than
    there are values.
    """
    order = list(members[0].keys)
    outsiders = []
    most = _MOST_KEYS[0] * len(order) + _MOST_KEYS[1]
    for group in members[1:]:
        places = {key: at for at, key in enumerate(order)}
        known = [places[key] for key in group.keys if key in places]
        if known != sorted(known) or len(order) + len(group.keys) - len(known) > most:
            outsiders.append(group)
            continue
        at = 0
        for key in group.keys:
            if key in places:
                at = order.index(key) + 1
            else:
                order.insert(at, key)
                at += 1
    return order, outsiders


def _name(key: str, taken: set[str]) -> str:
    name = "".join(char for char in key if char.isascii() and (char.isalnum() or char in "_-")) or "item"
    if name.endswith("ies") and len(name) > 4:
        name = name[:-3] + "y"
    elif name.endswith("s") and not name.endswith("ss") and len(name) > 3:
        name = name[:-1]
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name}{number}"
        number += 1
    taken.add(unique)
    return unique
