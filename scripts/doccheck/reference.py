"""The reference of the Python API, made from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args

import brim

# What is public beside the names of `brim` itself: by module, for those who go further.
MODULES = {
    "brim.prompt": ("render",),
    "brim.replays": ("chart", "ReplayOutcome", "Change", "KindUse", "Problem", "Progress", "Recorded"),
    "brim.models": ("find", "models", "add", "override", "discover", "Prices"),
    "brim.apis": ("parse", "render", "usage", "Usage"),
    "brim.sessions.router": ("SessionRouter",),
    "brim.stores.resilient": ("open_store",),
    "brim.stores.protocol": ("Store", "SessionRecord", "Limits"),
    "brim.apis.recall_tool": ("definition", "answers"),
    "brim.summaries.llm": ("LlmSummarizer",),
    "brim.summaries.endpoint": ("Endpoint",),
    "brim.docsearch": ("search", "instructions", "openai_tool", "anthropic_tool", "mcp_tool"),
    "brim.testing": ("FakeProvider", "Say", "Call", "Calls", "Overflow", "Fail", "Hang", "Reset"),
}
HEAD = """Everything that `import brim` offers, then the modules behind it for those who go further. What is not listed
here may change without notice.
"""
EXAMPLE = re.compile(r"^Examples?: ?(.*)$", re.S)


class _Bare:
    """An annotation as it is written, without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def page(note: str) -> str:
    names = sorted(brim.__all__, key=lambda name: (_rank(getattr(brim, name)), name.lower()))
    parts = [f"# Python API\n\n{note}{HEAD}\n", "## brim\n"]
    for name in names:
        parts += described(f"brim.{name}", getattr(brim, name))
    for module, listed in MODULES.items():
        found = importlib.import_module(module)
        parts.append(f"\n## {module}\n\n{_first(found)}\n")
        for name in listed:
            parts += described(f"{module}.{name}", getattr(found, name))
    return "".join(parts)


def _rank(value: Any) -> int:
    """Functions first, then classes, then errors."""
    return 2 if inspect.isclass(value) and issubclass(value, Exception) else 1 if inspect.isclass(value) else 0


def _first(module: Any) -> str:
    return (inspect.getdoc(module) or "").partition("\n")[0]


def described(name: str, value: Any) -> Iterator[str]:
    """A section: the signature, what the docstring says, fields and methods."""
    yield f"\n### {name}\n\n```text\n{name.rpartition('.')[2]}{signature(value)}\n```\n"
    if doc := inspect.getdoc(value):
        yield f"\n{text(doc)}\n"
    if not inspect.isclass(value):
        return
    rows = [*_fields(value), *_methods(value)]
    if rows:
        yield "\n| | |\n|---|---|\n" + "".join(f"| `{_cell(what)}` | {_cell(told)} |\n" for what, told in rows)


def signature(value: Any) -> str:
    if inspect.isclass(value) and getattr(value, "_is_protocol", False):
        return ""
    try:
        found = inspect.signature(value)
    except ValueError:
        return ""
    bare = [
        one.replace(annotation=_bare(one.annotation), default=_named(one.default)) for one in found.parameters.values()
    ]
    returned = found.empty if inspect.isclass(value) else _bare(found.return_annotation)
    plain = str(found.replace(parameters=bare, return_annotation=returned)).replace(" -> None", "")
    return plain if len(plain) < 100 else _spread(plain, [str(one) for one in bare])


def _spread(plain: str, parameters: list[str]) -> str:
    """A long signature with one parameter a line."""
    after = plain[plain.rindex(")") + 1 :]
    lines: list[str] = []
    for one in parameters:
        if f"*, {one}" in plain and "*" not in lines:
            lines.append("*")
        lines.append(one)
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")" + after


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _named(default: Any) -> Any:
    """A default as it is written: functions by their names, which are the same in every run."""
    name = getattr(default, "__qualname__", "")
    return _Bare(name) if name and not inspect.isclass(default) else default


def text(doc: str) -> str:
    """A docstring as Markdown: examples as code, trees as they are drawn."""
    if "├──" in doc:
        head, _, tree = doc.partition("\n\n")
        return f"{head}\n\n```text\n{tree}\n```"
    told: list[str] = []
    for paragraph in doc.split("\n\n"):
        found = EXAMPLE.match(paragraph)
        told.append(f"```text\n{inspect.cleandoc(found[1])}\n```" if found else _escaped(paragraph))
    return "\n\n".join(told)


def _escaped(paragraph: str) -> str:
    """Words with underscores or brackets that Markdown would take for its own stay as they are written."""
    return re.sub(r"(?<!`)\b(\w+_\w+)\b(?!`)", r"`\1`", paragraph)


def _fields(value: type) -> Iterator[tuple[str, str]]:
    if not dataclasses.is_dataclass(value):
        return
    described = dict(re.findall(r'^    (\w+):.*\n    """(.*?)"""', inspect.getsource(value), re.M))
    for field in dataclasses.fields(value):
        if field.name not in described:  # the signature shows it
            continue
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(get_args(field.type)))
        yield f"{field.name}: {kind}", described[field.name]


def _members(value: type) -> dict[str, Any]:
    """What a class has of its own, and from bases that have no entry of theirs."""
    hidden = [
        base for base in value.__mro__[1:] if base.__module__.startswith("brim.") and base.__name__ not in brim.__all__
    ]
    return {name: found for base in (value, *hidden) for name, found in base.__dict__.items()}


def _methods(value: type) -> Iterator[tuple[str, str]]:
    for name, found in _members(value).items():
        raw = inspect.unwrap(getattr(found, "__func__", found))
        told = inspect.getdoc(found) or ""
        if name.startswith("_") or not told:
            continue
        if isinstance(found, property) or type(found).__name__ == "cached_property":
            yield name, told.partition("\n\n")[0]
        elif inspect.isfunction(raw):
            yield f"{name}({', '.join(_parameters(raw))})", told.partition("\n\n")[0]


def _parameters(function: Any) -> Iterator[str]:
    for one in inspect.signature(function).parameters.values():
        if one.name not in ("self", "cls"):
            stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
            default = "" if one.default is one.empty else f"={_named(one.default)!r}"
            yield f"{stars}{one.name}{default}"


def _cell(told: str) -> str:
    return told.replace("\n", " ").replace("|", "\\|")
