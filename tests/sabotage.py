"""Faults on purpose: the functions that may fail, found in the package itself, and a way to break one of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from types import FunctionType, ModuleType
from typing import Any

from hypothesis import settings

from brim import content
from brim.stores.inmemory import InMemoryStore
from brim.stores.protocol import Store

FAULTS = ("raises", "hangs")
GROUPS = ("compactors", "detectors", "rankers", "planners", "stores")
# What tells kinds apart, what ranks, and what shortens beside the modules of the kinds.
DETECTORS = (
    "brim.content.detect",
    "brim.content.detect.hints",
    "brim.content.detect.by_content",
    "brim.content.code.language",
)
RANKERS = ("brim.relevance", "brim.planning.ranking", "brim.relevance.query_match", "brim.sessions.auto_recall")
# What applies the rules; not what the plain planner stands on.
PLANNERS = (
    "brim.planning.rules",
    "brim.planning.prefilter",
    "brim.planning.rereads",
    "brim.planning.project_context",
    "brim.planning.render",
    "brim.planning.sharing",
    "brim.planning.state",
    "brim.planning.used_keys",
    "brim.planning.user_words",
)
COMPACTORS = ("brim.content.arguments", "brim.content.keyed", "brim.planning.forms", "brim.planning.summary")


# More examples than this are asked for only at night. In between, breaking all of them would take minutes.
NIGHTLY, SHARE = 200, 6


class Broken(Exception):
    """A fault on purpose."""


@dataclass(frozen=True, slots=True)
class Target:
    """A function of a module, or a method of a class."""

    holder: Any
    name: str

    def __str__(self) -> str:
        return f"{getattr(self.holder, '__qualname__', self.holder.__name__)}.{self.name}"


@dataclass(slots=True)
class Sabotage:
    """How often the broken function was called."""

    calls: int = field(default=0)


def targets(group: str) -> list[Target]:
    """The functions of a group, as they are in the package now."""
    if group == "stores":
        wanted = [name for name, _ in inspect.getmembers(Store, inspect.isfunction) if name[0] != "_"]
        return [Target(InMemoryStore, name) for name in wanted if name not in ("close",)]
    names = {"detectors": DETECTORS, "rankers": RANKERS, "planners": PLANNERS, "compactors": COMPACTORS}[group]
    found = [target for name in names for module in _modules(name) for target in _public(module)]
    if group == "compactors":
        kinds = dict.fromkeys(map(content.module_of, content.KINDS))
        found += [Target(module, name) for module in kinds for name in ("dense", "extract") if hasattr(module, name)]
    return list({str(target): target for target in found}.values())


def _modules(name: str) -> Iterator[ModuleType]:
    module = importlib.import_module(name)
    yield module
    for inner in pkgutil.iter_modules(getattr(module, "__path__", [])):
        yield importlib.import_module(f"{name}.{inner.name}")


def _public(module: ModuleType) -> Iterator[Target]:
    """Public functions defined here, and public methods of classes defined here."""
    for name, value in vars(module).items():
        if getattr(value, "__module__", "") != module.__name__ or name.startswith("_"):
            continue
        if isinstance(value, FunctionType):
            yield Target(module, name)
        elif inspect.isclass(value):
            for inner, method in vars(value).items():
                if isinstance(method, (FunctionType, classmethod)) and not inner.startswith("_"):
                    yield Target(value, inner)


def chosen(group: str, work: Callable[[], object], turn: int) -> list[Target]:
    """Of the functions that some work calls, those to break in this test.

    All of them nightly. Otherwise every sixth, from another one on for each `turn`: the tests together break each.
    """
    found = reached(group, work)
    assert found
    return found if settings().max_examples > NIGHTLY else found[turn % SHARE :: SHARE] or found[:1]


def reached(group: str, work: Callable[[], object]) -> list[Target]:
    """The functions of a group that some work really calls: those are worth breaking one by one.

    It is done once before: a module that is first imported while functions are watched would hold the watched ones for
    good, and what is called the first time alone (a language by its path, which is then known) is not worth breaking.
    """
    work()
    called: set[str] = set()
    with ExitStack() as stack:
        for target in targets(group):
            stack.enter_context(_replaced(target, partial(_watching, called, str(target))))
        work()
    return [target for target in targets(group) if str(target) in called]


def _watching(called: set[str], name: str, original: Any) -> Any:
    inner = original.__func__ if isinstance(original, classmethod) else original

    @wraps(inner)
    def watched(*given: Any, **named: Any) -> Any:
        called.add(name)
        return inner(*given, **named)

    return classmethod(watched) if isinstance(original, classmethod) else watched


@contextmanager
def broken(target: Target, fault: str) -> Iterator[Sabotage]:
    """Break a function wherever the package holds it."""
    told = Sabotage()
    with _replaced(target, lambda _: _failing(fault, told)):
        yield told


@contextmanager
def _replaced(target: Target, made: Callable[[Any], Any]) -> Iterator[None]:
    original = inspect.getattr_static(target.holder, target.name)
    other = made(original)
    places: list[Any] = [target.holder]
    if isinstance(target.holder, ModuleType):
        brims = [module for name, module in list(sys.modules.items()) if name.startswith("brim")]
        places += [module for module in brims if vars(module).get(target.name) is original]
    tables = _tables_of(target.holder, original) if isinstance(target.holder, ModuleType) else {}
    for place in places:
        setattr(place, target.name, other)
    for name, table in tables.items():
        setattr(target.holder, name, _exchanged(table, original, other))
    try:
        yield
    finally:
        for place in places:
            setattr(place, target.name, original)
        for name, table in tables.items():
            setattr(target.holder, name, table)


def _tables_of(module: ModuleType, function: Any) -> dict[str, Any]:
    """The tables of a module that hold a function: what goes through the rows of one never asks for its name."""
    rows = {name: value for name, value in vars(module).items() if type(value) is tuple}
    return {name: value for name, value in rows.items() if _exchanged(value, function, None) != value}


def _exchanged(value: Any, function: Any, other: Any) -> Any:
    if type(value) is tuple:
        return tuple(_exchanged(one, function, other) for one in value)
    return other if value is function else value


def _failing(fault: str, told: Sabotage) -> Callable[..., Any]:
    def fails(*_: Any, **__: Any) -> Any:
        told.calls += 1
        while fault == "hangs":
            time.sleep(0.002)
        raise Broken

    return fails


ROWS = 16
PROSE = "The harbour office answered on Tuesday that berth {0} is free until the {1}th, and asked for the papers. "
CODE = "def total_{0}(rows: list[int]) -> int:\n    found = sum(rows) + {1}\n    return found\n\n\n"


def contents(seed: int) -> dict[str, str]:
    """A text of each kind that differs for each seed: what was seen before is not made again."""
    rows = range(seed * 100, seed * 100 + ROWS)
    return {
        "json": "[" + ", ".join(f'{{"id": {n}, "name": "item {n}", "tags": ["a{n}", "b"]}}' for n in rows) + "]",
        "jsonl": "\n".join(f'{{"id": {n}, "state": "open", "owner": "u{n}@example.com"}}' for n in rows),
        "csv": "id,name,amount\n" + "\n".join(f"{n},item {n},{n * 7 % 97}.50" for n in rows),
        "log": "\n".join(f"2024-05-01 12:{n % 60:02d}:00 INFO worker-{n}: took {n} ms" for n in rows),
        "trace": "Traceback (most recent call last):\n"
        + "".join(f'  File "app/m{n}.py", line {n}, in f{n}\n    g{n}()\n' for n in rows)
        + f"ValueError: bad {seed}",
        "test": "\n".join(f"tests/test_{n}.py::test_{n} PASSED" for n in rows) + f"\n== 16 passed in {seed}s ==",
        "html": "<html><body>" + "".join(f"<p>Paragraph {n} of <b>page</b></p>" for n in rows) + "</body></html>",
        "code": "".join(CODE.format(n, n * 3) for n in rows),
        "diff": "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,16 +1,16 @@\n"
        + "".join(f"-old {n}\n+new {n}\n" for n in rows),
        "tree": ".\n" + "".join(f"├── dir{n}\n│   └── file{n}.py\n" for n in rows),
        "markdown": "".join(f"## Section {n}\n\n- point {n}\n- another\n\n" for n in rows),
        "xml": "<items>" + "".join(f'<item id="{n}"><name>item {n}</name></item>' for n in rows) + "</items>",
        "prose": "".join(PROSE.format(n, n % 28) for n in rows),
        "text": "\n".join(f"{n} = {n * 13} / x{n}" for n in rows),
    }


def agent_run(seed: int) -> list[dict[str, Any]]:
    """A run of an agent that read one thing of each kind, with a long argument and a question."""
    found: list[dict[str, Any]] = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": f"Look at everything of order {seed} and tell me what item {seed * 100 + 7} is."},
    ]
    for number, (kind, text) in enumerate(contents(seed).items()):
        call = {"name": f"read_{kind}", "arguments": f'{{"path": "{kind}", "note": "{"why " * 60}{seed}"}}'}
        found.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            }
        )
        found.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return found


def chat(seed: int) -> list[dict[str, Any]]:
    """A long chat without tools, which ends in a question about its beginning."""
    found: list[dict[str, Any]] = []
    for number in range(16):
        found.append(
            {"role": "user", "content": f"Note {number} of {seed}: " + PROSE.format(seed + number, number) * 3}
        )
        found.append({"role": "assistant", "content": f"Noted, {seed}-{number}. " + "All right. " * 20})
    return [*found, {"role": "user", "content": f"Which berth did note 3 of {seed} name?"}]
