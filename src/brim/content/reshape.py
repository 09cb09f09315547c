"""Compact forms for known JSON shapes, defined as data: rename, flatten, drop, omit, spans, trees, tallies.

A shape is a list of records. A record is recognized by its fields (`match`) or by the key that holds it (`at`), and
defines for each level what happens to its fields. To add a shape, write a table in brim.toml:

    [shapes.tickets]
    tools = ["find_tickets"]
    match = ["ticket_id", "requester"]
    [shapes.tickets.compact]
    fields = { id = "ticket_id", who = "requester.email", lines = ["span.start", "span.end"] }
    rest = false
    omit_null = true
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from brim.content.reshape_steps import MISSING, counted, drawn, healthy, laid_out, look_up, tallied
from brim.errors import BadSetting

LEVELS = ("full", "standard", "minimal", "compact")
# No tool result is nested deeper than this; anything below is left unchanged.
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Fields:
    """What happens to a record's fields.

    `fields` maps each new name to its path ("symbol.name"), to alternatives ("symbol.name|symbol_id"), or to a
    pair of paths for a span ([42, 78], or 42 if both are equal and `one_line` is set).
    """

    fields: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    drop: Sequence[str] = ()
    rest: bool = True  # whether to keep fields not named here
    omit_null: bool = False
    omit_empty: bool = False
    omit_equal: Mapping[str, Any] = field(default_factory=dict)
    omit_healthy: Mapping[str, float] = field(default_factory=dict)  # drop while more than this share remains
    trim: Mapping[str, str] = field(default_factory=dict)  # a suffix to remove from a value
    one_line: bool = False
    tally: Mapping[str, str] = field(default_factory=dict)  # a list becomes {name: count}
    layout: Sequence[str] = ()  # test layouts become counts and top-level paths
    count: Mapping[str, str] = field(default_factory=dict)  # a list becomes its length under this name
    tree: Mapping[str, str] = field(default_factory=dict)  # {dir, count, children} -> names of the new fields


@dataclass(frozen=True, slots=True)
class Record:
    """A kind of object, recognized by its fields or by the key that holds it."""

    match: Sequence[str] = ()
    at: Sequence[str] = ()
    levels: Mapping[str, Fields] = field(default_factory=dict)

    def is_this(self, value: Mapping[str, Any], key: str) -> bool:
        if self.at and key not in self.at:
            return False
        return all(look_up(value, path) is not MISSING for path in self.match) and bool(self.match or self.at)


@dataclass(frozen=True, slots=True)
class Shape:
    """The result of a tool: its records, and the names of tools that return it."""

    name: str
    records: Sequence[Record]
    tools: Sequence[str] = ()
    always: bool = False  # whether the compact form fits every level, because it omits nothing of interest

    @classmethod
    def from_dict(cls, name: str, table: Mapping[str, Any]) -> Shape:
        """A shape from its table in brim.toml. Raises BadSetting with the place for an invalid table."""
        where = f"shapes.{name}"
        if not isinstance(table, Mapping):
            raise BadSetting(where, "must be a table")
        given = dict(table)
        tools = _texts(given.pop("tools", ()), f"{where}.tools")
        listed = given.pop("records", None)
        if listed is None:
            return cls(name, (_record(given, where),), tools)
        if given:
            raise BadSetting(f"{where}.{next(iter(given))}", "belongs into one of its records")
        if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
            raise BadSetting(f"{where}.records", "must be a list of tables")
        return cls(name, tuple(_record(one, f"{where}.records[{i}]") for i, one in enumerate(listed)), tools)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise BadSetting(where, "must be a list of strings")
    return tuple(value)


def _record(table: Any, where: str) -> Record:
    if not isinstance(table, Mapping):
        raise BadSetting(where, "must be a table")
    levels: dict[str, Fields] = {}
    for key, value in table.items():
        if key in ("match", "at"):
            continue
        if key not in LEVELS:
            raise BadSetting(f"{where}.{key}", f"is not match, at or a level ({', '.join(LEVELS)})")
        levels[key] = _fields(value, f"{where}.{key}")
    match, at = _texts(table.get("match", ()), f"{where}.match"), _texts(table.get("at", ()), f"{where}.at")
    if not match and not at:
        raise BadSetting(f"{where}.match", "must name the fields that tell this record")
    return Record(match, at, levels)


def _fields(table: Any, where: str) -> Fields:
    if not isinstance(table, Mapping):
        raise BadSetting(where, "must be a table")
    known = {one.name: one for one in fields(Fields)}
    for key, value in table.items():
        if key not in known:
            raise BadSetting(f"{where}.{key}", f"is not one of {', '.join(known)}")
        if key in ("rest", "omit_null", "omit_empty", "one_line"):
            if not isinstance(value, bool):
                raise BadSetting(f"{where}.{key}", "must be true or false")
        elif key in ("drop", "layout"):
            _texts(value, f"{where}.{key}")
        elif not isinstance(value, Mapping):
            raise BadSetting(f"{where}.{key}", "must be a table")
        elif key in ("tally", "count", "tree", "trim") and not all(isinstance(one, str) for one in value.values()):
            raise BadSetting(f"{where}.{key}", "must have strings as values")
    for name, source in table.get("fields", {}).items():
        if not isinstance(source, str) and len(_texts(source, f"{where}.fields.{name}")) != 2:
            raise BadSetting(f"{where}.fields.{name}", "must be a path, or two paths for a span")
    return Fields(**table)


def apply(value: Any, shape: Shape, level: str = "compact") -> Any:
    """A copy of the value with every record of the shape in the form of this level.

    Example: apply({"hit_id": "lexical:a.py:4:0", …}, SEARCH_HITS) -> {"id": "lexical:a.py:4", …}
    """
    if level not in LEVELS:
        raise BadSetting("level", f"{level!r} is not one of {', '.join(LEVELS)}")
    if level == "full":
        return _walk(value, shape, "standard", "", 0) if shape.always else value
    return _walk(value, shape, level, "", 0)


def _walk(value: Any, shape: Shape, level: str, key: str, depth: int) -> Any:
    if depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        for record in shape.records:
            if record.is_this(value, key):
                return _form(value, record.levels.get(level, Fields()), shape, level, depth)
        return {name: _walk(one, shape, level, name, depth + 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_walk(one, shape, level, key, depth + 1) for one in value]
    return value


def _form(value: Mapping[str, Any], rules: Fields, shape: Shape, level: str, depth: int) -> Any:
    if rules.tree:
        return drawn(value, rules.tree)
    if rules.layout:
        return laid_out(value, rules.layout)
    made: dict[str, Any] = {}
    used = set(rules.drop)
    for name, source in rules.fields.items():
        paths = (source,) if isinstance(source, str) else tuple(source)
        roots = {one.split(".", 1)[0] for path in paths for one in path.split("|")}
        found = _taken(value, source, rules)
        # A new name must not hide a field that is kept.
        taken_name = name if name not in value or name in roots or not rules.rest else paths[0]
        used |= roots
        if found is not MISSING and not _left_out(value, paths[0], found, rules):
            made[taken_name] = found
    for name, path in rules.count.items():
        found = counted(look_up(value, path))
        used.add(path.split(".", 1)[0])
        if found is not None:
            made[name] = found
    if rules.rest:
        for name, one in value.items():
            if name in used or name in made or _left_out(value, name, one, rules):
                continue
            if name in rules.tally:
                made[name] = tallied(one, rules.tally[name])
            else:
                made[name] = _walk(_trimmed(one, rules.trim.get(name)), shape, level, name, depth + 1)
    return made


def _taken(value: Mapping[str, Any], source: str | Sequence[str], rules: Fields) -> Any:
    if isinstance(source, str):
        return _trimmed(look_up(value, source), rules.trim.get(source))
    first, last = (look_up(value, path) for path in source)
    if first is MISSING or first is None:
        return MISSING
    if last is MISSING or last is None or (rules.one_line and first == last):
        return first
    return [first, last]


def _trimmed(value: Any, suffix: str | None) -> Any:
    return value[: -len(suffix)] if suffix and isinstance(value, str) and value.endswith(suffix) else value


def _left_out(value: Mapping[str, Any], name: str, found: Any, rules: Fields) -> bool:
    if found is None and rules.omit_null:
        return True
    if rules.omit_empty and found in ([], {}, ""):
        return True
    if name in rules.omit_equal and found == rules.omit_equal[name] and type(found) is type(rules.omit_equal[name]):
        return True
    return name in rules.omit_healthy and healthy(found, rules.omit_healthy[name])


_STANDARD_ENVELOPE = Fields(omit_null=True, omit_equal={"query_time_ms": 0}, omit_healthy={"scope_usage": 0.5})
_ENVELOPE_RECORD = Record(
    match=("resource_kind",),
    levels={
        "standard": _STANDARD_ENVELOPE,
        "minimal": Fields(
            drop=("query_time_ms", "inline_budget_bytes_used", "inline_budget_bytes_limit"),
            omit_null=True,
            omit_equal={"delivery": "inline"},
            omit_healthy={"scope_usage": 0.5},
        ),
        "compact": Fields(
            fields={
                "kind": "resource_kind",
                "delivery": "delivery",
                "budget_used": "inline_budget_bytes_used",
                "budget_limit": "inline_budget_bytes_limit",
            },
            drop=("query_time_ms",),
            omit_null=True,
            omit_equal={"delivery": "inline"},
            omit_healthy={"scope_usage": 0.5},
        ),
    },
)
_ANSWER = Record(  # an answer without an envelope still has the useless and the healthy fields
    match=("query_time_ms",),
    levels={
        "standard": _STANDARD_ENVELOPE,
        "minimal": Fields(drop=("query_time_ms",), omit_null=True, omit_healthy={"scope_usage": 0.5}),
        "compact": Fields(drop=("query_time_ms",), omit_null=True, omit_healthy={"scope_usage": 0.5}),
    },
)
_USAGE = Record(
    match=("scope_usage",),
    levels={level: Fields(omit_healthy={"scope_usage": 0.5}) for level in LEVELS[1:]},
)
_AROUND = (_ENVELOPE_RECORD, _ANSWER, _USAGE)

ENVELOPE = Shape("envelope", _AROUND)

_HIT = {
    "id": "hit_id",
    "path": "path",
    "line": ("span.start_line", "span.end_line"),
    "kind": "kind",
    "name": "symbol.name|symbol_id",
    "preview": "preview_line",
    "qualified_name": "symbol.qualified_name",
}
_HIT_COMPACT = Fields(fields=_HIT, omit_null=True, trim={"hit_id": ":0"}, one_line=True)
SEARCH_HITS = Shape(
    "search_hits",
    (
        Record(
            match=("hit_id",),
            levels={
                "standard": _HIT_COMPACT,  # a hit has no source text, so the compact form is better at every level
                "minimal": Fields(
                    fields={key: _HIT[key] for key in ("path", "line", "kind", "name")},
                    rest=False,
                    omit_null=True,
                    one_line=True,
                ),
                "compact": _HIT_COMPACT,
            },
        ),
        *_AROUND,
    ),
    tools=("search", "find_references", "find_symbol", "grep"),
    always=True,
)

_CHANGE = {
    "path": "path",
    "kind": "kind",
    "name": "name",
    "change": "change",
    "risk": "behavior_change_risk",
    "lines": "lines_changed",
    "span": ("start_line", "end_line"),
    "refs": "impact.reference_count",
    "tests": "impact.affected_test_files",
}
_FILE_CHANGE = {
    "path": "path",
    "kind": "category|kind",
    "change": "status|change",
    "risk": "behavior_change_risk",
    "lines": "lines_changed",
}
SEMANTIC_DIFF = Shape(
    "semantic_diff",
    (
        Record(
            match=("path", "change", "name"),
            levels={
                # Columns, and an id composed of the kind and the name, add nothing for a reader.
                "standard": Fields(drop=("entity_id", "start_col", "end_col"), omit_null=True),
                "minimal": Fields(
                    fields={key: key for key in ("path", "kind", "name", "change")}, rest=False, omit_null=True
                ),
                "compact": Fields(fields=_CHANGE, rest=False, omit_null=True),
            },
        ),
        Record(
            match=("path",),
            at=("non_structural_changes", "nonstructural_changes", "file_changes"),
            levels={
                "standard": Fields(omit_null=True),
                "minimal": Fields(fields={"path": "path", "change": "change|status"}, rest=False, omit_null=True),
                "compact": Fields(fields=_FILE_CHANGE, rest=False, omit_null=True),
            },
        ),
        Record(
            match=("base_sha",),
            levels={
                "standard": Fields(omit_null=True),
                "minimal": Fields(fields={"base": "base_sha", "target": "target_sha"}, rest=False, omit_null=True),
                "compact": Fields(
                    fields={
                        "base": "base_sha",
                        "target": "target_sha",
                        "dirty": "worktree_dirty",
                        "files": "files_parsed",
                        "parse_failed": "files_parse_failed",  # only failures are worth their tokens
                        "no_grammar": "files_no_grammar",
                    },
                    rest=False,
                    omit_null=True,
                    omit_empty=True,
                ),
            },
        ),
        *_AROUND,
    ),
    tools=("semantic_diff",),
)

_NAMES = "module|name|package|import|source|target"
_TREE = Fields(tree={"dir": "d", "count": "n", "children": "c"})
_LAYOUT = Fields(layout=("files", "tests", "paths"))
_LANGUAGES = {"languages": "language|name"}
REPO_MAP = Shape(
    "repo_map",
    (
        Record(
            match=("path", "is_dir"),
            levels={"compact": _TREE, "minimal": _TREE},
        ),
        Record(at=("test_layout",), levels={"compact": _LAYOUT, "minimal": _LAYOUT}),
        Record(at=("dependencies",), levels={"compact": Fields(tally={"imports": _NAMES, "external": _NAMES})}),
        Record(
            match=("dependencies",),
            levels={
                "compact": Fields(
                    tally={"dependencies": _NAMES, **_LANGUAGES}, omit_null=True, omit_healthy={"scope_usage": 0.5}
                ),
                "minimal": Fields(drop=("dependencies",), tally=_LANGUAGES, omit_null=True),
            },
        ),
        Record(
            match=("languages", "tree"),
            levels={level: Fields(tally=_LANGUAGES, omit_null=True) for level in ("compact", "minimal")},
        ),
        *_AROUND,
    ),
    tools=("map_repo", "repo_map"),
)

SHAPES = (SEARCH_HITS, SEMANTIC_DIFF, REPO_MAP, ENVELOPE)


def shape_for(value: Any, tool_name: str = "", shapes: Sequence[Shape] = SHAPES) -> Shape | None:
    """The shape of this value: preferably one that lists this tool, else the first that matches.

    Put your own shapes first: shape_for(value, name, (*mine, *SHAPES)).
    """
    by_tool = [shape for shape in shapes if _names(shape, tool_name)]
    for shape in (*by_tool, *(shape for shape in shapes if shape not in by_tool)):
        own = shape.records if shape is ENVELOPE else [one for one in shape.records if one not in _AROUND]
        if _holds(value, own, "", 0):
            return shape
    return None


def _names(shape: Shape, tool_name: str) -> bool:
    # MCP hosts prefix the tool's name with the server's: "mcp__codeplane__search".
    return any(tool_name == tool or tool_name.endswith(("_" + tool, "." + tool, "/" + tool)) for tool in shape.tools)


def _holds(value: Any, records: Sequence[Record], key: str, depth: int) -> bool:
    if depth > 4:
        return False
    if isinstance(value, list):
        return any(_holds(one, records, key, depth + 1) for one in value[:3])
    if not isinstance(value, Mapping):
        return False
    if any(record.is_this(value, key) for record in records):
        return True
    return any(_holds(one, records, name, depth + 1) for name, one in value.items() if isinstance(one, (Mapping, list)))


def reshape(value: Any, level: str = "compact", *, tool: str = "", shapes: Sequence[Shape] = ()) -> Any:
    """A tool's result in its shape's form for a level; unchanged if no shape matches.

    Your own shapes are tried before Brim's.

    Example: brim.reshape({"results": [{"hit_id": "lexical:a.py:4:0", "path": "a.py", …}]}) -> {"results": [{"id": …}]}
    """
    shape = shape_for(value, tool, (*shapes, *SHAPES))
    return value if shape is None else apply(value, shape, level)
