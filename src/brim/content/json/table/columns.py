"""The columns of a class: one list of values per key, with nested objects of one shape flattened into their parent.

Example: rows {"id": 1, "owner": {"login": "a"}} -> Field id [1], Field owner with Field owner.login ["a"]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from brim.content.json.exact import Digits
from brim.content.json.table.shape import Class, RowShape


class Absent:
    """The value of a key that an object doesn't have."""

    __slots__ = ()


ABSENT: Final = Absent()
NONE = type(None)
SCALARS = frozenset({str, int, float, Digits, bool, NONE, Absent})


@dataclass(slots=True, eq=False)
class Hole:
    """The part of a field's text that is in the cells, because the rest is common to all rows."""

    of: Field
    texts: list[str | None]


class Field:
    """A column. `mark` says where its values come from:

    "" its cells · ":" the header, the same for all · "=" a template · "~" a template where its cell is blank
    """

    fields: list[Field] | None = None  # the fields of an object that is flattened into its parent
    in_list = False  # the object is the only item of a list
    child: Class | None = None  # the class of the objects in its cells
    tagged = False  # the objects are of several classes
    wrap = ""
    as_text = False
    mark = ""
    template: list[str | Field | Hole] | None = None
    default: Any = ABSENT
    hole: Hole | None = None
    blank: list[bool] | None = None
    constant = False
    _texts: list[str | None] | None = None

    def __init__(self, key: str, path: tuple[str, ...], values: list[Any], optional: bool) -> None:
        self.key = key
        self.path = path
        self.optional = optional
        self.set_values(values)

    def set_values(self, values: list[Any]) -> None:
        self.values = values
        self.kinds: set[type] = set(map(type, values))
        self.scalar = self.kinds <= SCALARS

    @property
    def texts(self) -> list[str | None]:
        """The values as texts that a template can contain; None for those it can't."""
        if self._texts is None:
            if self.kinds == {str}:
                self._texts = self.values
            elif self.kinds == {int}:
                self._texts = list(map(str, self.values))
            else:
                self._texts = [
                    value if type(value) is str else str(value) if type(value) is int else None for value in self.values
                ]
        return self._texts


def columns(cls: Class, shape: RowShape) -> list[Field]:
    """Return the columns of a class in the order of its keys."""
    return _columns(cls, cls.rows, shape, ())


def leaves(fields: list[Field]) -> list[Field]:
    """Return the columns with their own values, in header order."""
    found: list[Field] = []
    for one in fields:
        if one.fields is None:
            found.append(one)
        else:
            found.extend(leaves(one.fields))
    return found


def _columns(cls: Class, rows: list[dict[str, Any]], shape: RowShape, path: tuple[str, ...]) -> list[Field]:
    found = []
    for key in cls.keys:
        optional = key in cls.optional
        values = [row.get(key, ABSENT) for row in rows] if optional else [row[key] for row in rows]
        one = Field(key, (*path, key), values, optional)
        if shape.unwrapped and str in one.kinds:
            _unwrap(one, rows, shape)
        if not one.scalar:
            _nest(one, shape)
        found.append(one)
    return found


def _unwrap(one: Field, rows: list[dict[str, Any]], shape: RowShape) -> None:
    """Replace strings by the JSON values inside them, if the whole column is written in one style."""
    wrapped = [shape.unwrapped.get((id(row), one.key)) for row in rows]
    styles = {item.style for item in wrapped if item is not None}
    if len(styles) != 1 or dict in one.kinds or list in one.kinds:
        return
    one.wrap = styles.pop()
    one.set_values([value if item is None else item.value for value, item in zip(one.values, wrapped, strict=True)])


def _nest(one: Field, shape: RowShape) -> None:
    objects = _one_each(one.values) if one.kinds == {list} else one.values
    if objects and one.kinds in ({dict}, {list}) and not any(id(value) in shape.maps for value in objects):
        homes = {shape.of(value) if value else None for value in objects}
        cls = homes.pop() if len(homes) == 1 else None
        if cls is not None and (cls.form == "flat" or (cls.form == "rows" and len(objects) == 1)):
            one.in_list = objects is not one.values
            one.fields = _columns(cls, objects, shape, one.path)
            return
    one.child = sole_class(one.values, shape)
    one.tagged = one.child is None and holds_classes(one.values, shape)


def sole_class(values: list[Any], shape: RowShape) -> Class | None:
    """Return the class shared by all objects in nested lists, if that class is written as cells."""
    found: dict[Class, None] = {}
    loose = _classes_in(values, shape, found)
    if len(found) != 1:
        return None
    cls = next(iter(found))
    return None if cls.form in ("plain", "flat") or (loose and cls.form == "keyed") else cls


def holds_classes(values: list[Any], shape: RowShape) -> bool:
    found: dict[Class, None] = {}
    _classes_in(values, shape, found)
    return any(cls.form not in ("plain", "flat") for cls in found)


def _one_each(lists: list[list[Any]]) -> list[dict[str, Any]] | None:
    """Return the objects of lists that contain one object each."""
    if all(len(items) == 1 and type(items[0]) is dict for items in lists):
        return [items[0] for items in lists]
    return None


def _classes_in(values: list[Any], shape: RowShape, found: dict[Class, None]) -> bool:
    """Collect the classes of the objects in nested lists; returns whether there are other values among them."""
    loose = False
    for value in values:
        kind = type(value)
        if kind is dict:
            entries = shape.maps.get(id(value))
            if entries is not None:
                loose = _classes_in(entries, shape, found) or loose
            elif value:
                found[shape.of(value)] = None
        elif kind is list:
            loose = _classes_in(value, shape, found) or loose
        elif value is not None and value is not ABSENT:
            loose = True
    return loose
