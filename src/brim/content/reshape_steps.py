"""The steps of a shape: looking up paths, drawing trees, tallying lists, recognizing healthy budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
# Lists of a test layout that contain tests rather than files.
_NAMES_OF_TESTS = frozenset({"tests", "functions", "test_functions", "cases", "test_cases"})
_DEEPEST = 200


def look_up(value: Any, path: str) -> Any:
    """The value at a dotted path, or at the first of its alternatives that exists.

    Example: look_up({"a": {"b": 1}}, "x|a.b") -> 1
    """
    found: Any = MISSING
    for way in path.split("|"):
        at = value
        for key in way.split("."):
            at = at.get(key, MISSING) if isinstance(at, Mapping) else MISSING
        if at is not MISSING and at is not None:
            return at
        found = at if found is MISSING else found
    return found


def counted(value: Any) -> int | None:
    """The number of items. Example: ["a", "b"] -> 2; 7 -> 7"""
    if isinstance(value, (list, Mapping)):
        return len(value)
    return value if isinstance(value, int) else None


def drawn(node: Mapping[str, Any], names: Mapping[str, str], parent: str = "", depth: int = 0) -> Any:
    """A directory tree with files as plain names and only directories as objects.

    Example: {"path": "src", "is_dir": true, "file_count": 1, "children": [{"path": "src/a.py", "is_dir": false}]}
             -> {"d": "src", "n": 1, "c": ["a.py"]}
    """
    path = str(node.get("path", ""))
    inside = parent.rstrip("/") + "/" if parent else ""
    name = path[len(inside) :] if inside and path.startswith(inside) and len(path) > len(inside) else path
    if not node.get("is_dir"):
        return name
    made: dict[str, Any] = {names.get("dir", "d"): name}
    if node.get("file_count") is not None:
        made[names.get("count", "n")] = node["file_count"]
    children = node.get("children")
    if isinstance(children, list):
        made[names.get("children", "c")] = [
            drawn(child, names, path, depth + 1) if isinstance(child, Mapping) and depth < _DEEPEST else child
            for child in children
        ]
    return made


def tallied(value: Any, names: str) -> Any:
    """A list of imports as names with counts, most used first; if no name repeats, a list of names.

    Counts given in the items are added up.

    Example: [{"module": "os", "file": "a.py"}, {"module": "os", "file": "b.py"}] -> {"os": 2}
             [{"language": "python", "files": 3}] -> {"python": 3}
    """
    if isinstance(value, Mapping):
        if all(isinstance(one, list) for one in value.values()):
            return tallied([item for one in value.values() for item in one], names)
        return {key: tallied(one, names) if isinstance(one, list) else one for key, one in value.items()}
    if not isinstance(value, list):
        return value
    told = [_number_of(one) for one in value]
    found: Counter[str | None] = Counter()
    for one, number in zip(value, told, strict=True):
        found[_name_of(one, names)] += 1 if number is None else number
    if not found or None in found:
        return value
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], str(pair[0])))
    if len(found) == len(value) and None in told:
        return [_name_of(one, names) for one in value]
    return {str(name): number for name, number in ordered}


def _name_of(value: Any, names: str) -> str | None:
    if isinstance(value, Mapping):
        value = look_up(value, names)
    return value if isinstance(value, str) else None


def _number_of(value: Any) -> int | None:
    """The number of occurrences given in an item; None if there is none."""
    found = look_up(value, "count|files|file_count|import_count") if isinstance(value, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def laid_out(value: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A test layout as counts and top-level paths.

    Example: {"test_files": [{"path": "tests/test_a.py", "tests": ["test_x", "test_y"]}]}
             -> {"files": 1, "tests": 2, "paths": {"tests": 1}}
    """
    paths: list[str] = []
    tests = 0
    made: dict[str, Any] = {}
    for key, one in value.items():
        if isinstance(one, list) and key in _NAMES_OF_TESTS:
            tests += len(one)
        elif isinstance(one, list):
            for item in one:
                path, number = _test_file(item)
                tests += number
                if path:
                    paths.append(path)
        elif isinstance(one, (int, float, str)):
            made[key] = one
    files_name, tests_name, paths_name = names
    tops = Counter(path.split("/", 1)[0] if "/" in path else "." for path in dict.fromkeys(paths))
    made.setdefault(files_name, len(dict.fromkeys(paths)))
    if tests:
        made.setdefault(tests_name, tests)
    made[paths_name] = dict(sorted(tops.items(), key=lambda pair: (-pair[1], pair[0])))
    return made


def _test_file(item: Any) -> tuple[str, int]:
    if isinstance(item, str):
        return item, 0
    if not isinstance(item, Mapping):
        return "", 0
    path = look_up(item, "path|file|name")
    number = counted(look_up(item, "test_count|tests|functions|test_functions|cases"))
    return path if isinstance(path, str) else "", number or 0


def healthy(value: Any, share: float) -> bool:
    """Whether every budget in it has more than this share left; False if no budget can be read.

    Example: healthy({"reads": {"used": 2, "limit": 20}}, 0.5) -> True
    """
    left = list(_remaining(value, 0))
    return bool(left) and all(one > share for one in left)


def _remaining(value: Any, depth: int) -> Iterator[float]:
    if not isinstance(value, Mapping) or depth > 8:
        return
    for key, one in value.items():
        yield from _remaining(one, depth + 1)
        for word in ("limit", "max", "total", "budget"):
            if word in key.split("_") and _is_number(one) and one > 0:
                used, left = (value.get(key.replace(word, other)) for other in ("used", "remaining"))
                if _is_number(left):
                    yield left / one
                elif _is_number(used):
                    yield 1 - used / one


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
