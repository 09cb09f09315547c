"""Tool definitions in fewer tokens, accepting exactly the same arguments.

What goes is what no caller needs: titles that repeat names, `$schema`, defaults (the server applies them),
annotations of schemas, blanks of indented docstrings, an `Args:` list that the parameters repeat. What is
written long is written short: `anyOf` of plain types becomes a list of types, a subschema that occurs again
moves to `$defs`. Descriptions above a limit are cut at a sentence; the full text is one call away.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from brim.count_text import CountText
from brim.mcp.transport.json_rpc import RpcObject, dump

_DROPPED = frozenset(("$schema", "title", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"))
# Keywords that map names to schemas; the names are the caller's, not keywords.
_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
# Keywords whose value is data rather than a schema.
_DATA = frozenset(("enum", "const", "required", "dependentRequired", "type", "x-mcp-header"))
_SENTENCE = re.compile(r"(?<=[.!?。！？])(?:\s+|$)|\n\s*\n")
_ARGS = re.compile(r"\n[ \t]*(?:Args|Arguments|Parameters|Params)[ \t]*:[ \t]*\n", re.IGNORECASE)
_NEXT_PART = re.compile(r"\n[ \t]*(?:Returns?|Raises|Yields|Examples?|Notes?|Usage)[ \t]*:", re.IGNORECASE)
_ARGUMENT = re.compile(r"^[ \t]*[-*]?[ \t]*`?\*{0,2}(\w+)`?[ \t]*(?:\([^)\n]*\))?[ \t]*:[ \t]*(.*)$", re.MULTILINE)
MARK = "…"


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A tool in its listed form; `cut` says whether some text is only in the original."""

    tool: RpcObject
    cut: bool


def shrink(tool: RpcObject, *, limit: int, count: CountText, drop_output: bool = True) -> Shrunk:
    """Return the tool with a smaller schema and a description of at most `limit` tokens.

    Example: {"name": "a", "inputSchema": {"title": "A", "type": "object"}} -> {…, {"type": "object"}}
    """
    slim = {key: value for key, value in tool.items() if value is not None}
    if drop_output:
        slim.pop("outputSchema", None)
    cut = False
    schema = tool.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {"type": "object"}
    moved, text = _without_arguments(tidy(str(tool.get("description") or "")), schema)
    small, cut_inside = _Schema(limit, count, moved).slim(schema)
    slim["inputSchema"] = hoist(small, count)
    if text:
        short = first_sentences(text, limit, count)
        cut = short != text
        slim["description"] = short
    else:
        slim.pop("description", None)
    return Shrunk(slim, cut or cut_inside)


def tidy(text: str) -> str:
    """Remove the indentation and blank lines of a docstring."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line]
    margin = min(margins, default=0)
    lines = lines[:1] + [line[margin:] for line in lines[1:]]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def first_sentences(text: str, limit: int, count: CountText) -> str:
    """As many whole sentences as fit the limit, at least the start of the first."""
    if len(text) <= limit or count(text) <= limit:
        return text
    end = 0
    for found in _SENTENCE.finditer(text):
        if count(text[: found.start()]) > limit - 1:
            break
        end = found.start()
    if end:
        return f"{text[:end].rstrip()} {MARK}"
    words = text.split(" ")
    kept = words[:limit]
    while kept and count(" ".join(kept)) > limit - 1:
        kept = kept[: max(len(kept) * 3 // 4, len(kept) - 8)]
    return f"{' '.join(kept).rstrip()}{MARK}"


def _without_arguments(text: str, schema: RpcObject) -> tuple[dict[str, str], str]:
    """Move an `Args:` list to the parameters, where it is needed once."""
    found = _ARGS.search("\n" + text)
    properties = schema.get("properties")
    if not found or not isinstance(properties, dict):
        return {}, text
    body = "\n" + text
    after = _NEXT_PART.search(body, found.end())
    end = after.start() if after else len(body)
    block = body[found.end() : end]
    entries = {name: said.strip() for name, said in _ARGUMENT.findall(block)}
    lines = [line for line in block.splitlines() if line.strip()]
    if not entries or any(name not in properties for name in entries) or len(lines) > len(entries):
        return {}, text  # prose or multi-line text stays where it is
    return entries, (body[: found.start()] + body[end:]).strip()


class _Schema:
    """Shrinks a schema in one pass."""

    def __init__(self, limit: int, count: CountText, moved: dict[str, str]) -> None:
        self._limit = limit
        self._count = count
        self._moved = moved
        self._cut = False

    def slim(self, schema: RpcObject) -> tuple[RpcObject, bool]:
        small = self._schema(schema, top=True)
        return (small if isinstance(small, dict) else {"type": "object"}), self._cut

    def _schema(self, schema: Any, *, name: str = "", top: bool = False) -> Any:
        if isinstance(schema, list):
            return [self._schema(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        small: RpcObject = {}
        for key, value in schema.items():
            if key in _DROPPED and not (key == "$schema" and _needs_dialect(schema)):
                continue
            if key in _MAPS and isinstance(value, dict):
                inner = {item: self._schema(below, name=item if top else "") for item, below in value.items()}
                if inner or key == "properties":
                    small[key] = inner
            elif key == "description" and isinstance(value, str):
                self._describe(small, value)
            elif key in _DATA:
                small[key] = value
            else:
                small[key] = self._schema(value)
        if name and "description" not in small and self._moved.get(name):
            self._describe(small, self._moved[name])
        return _types(small)

    def _describe(self, small: RpcObject, text: str) -> None:
        whole = tidy(text)
        if not whole:
            return
        short = first_sentences(whole, self._limit, self._count)
        self._cut = self._cut or short != whole
        small["description"] = short


def _needs_dialect(schema: RpcObject) -> bool:
    # Only keywords that changed their meaning between dialects make the dialect worth its tokens.
    return isinstance(schema.get("items"), list) or "dependencies" in schema


def _types(schema: RpcObject) -> RpcObject:
    """Write `anyOf` of plain types as a list of types, and leave out what the type already says.

    Example: {"anyOf": [{"type": "string"}, {"type": "null"}]} -> {"type": ["string", "null"]}
    """
    options = schema.get("anyOf")
    if isinstance(options, list) and "type" not in schema and all(isinstance(item, dict) for item in options):
        typed = [item for item in options if isinstance(item.get("type"), str)]
        bare = [item for item in typed if len(item) == 1]
        rich = [item for item in typed if len(item) > 1]
        if len(typed) == len(options) >= 2 and len(rich) <= 1 and not _clash(schema, rich):
            names = list(dict.fromkeys(item["type"] for item in options))
            # The keywords of the one rich branch bind only values of its own type, so they may be shared.
            if not rich or (_own(rich[0]) and all(item["type"] != rich[0]["type"] for item in bare)):
                rest = {key: value for key, value in schema.items() if key != "anyOf"}
                extra = {key: value for key, value in rich[0].items() if key != "type"} if rich else {}
                return {"type": names[0] if len(names) == 1 else names, **extra, **rest}
    if schema.get("additionalProperties") is True:
        schema = {key: value for key, value in schema.items() if key != "additionalProperties"}
    if schema.get("required") == []:
        schema = {key: value for key, value in schema.items() if key != "required"}
    return schema


_TYPED_KEYWORDS = {
    "string": frozenset(("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType")),
    "array": frozenset(("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")),
    "object": frozenset(("properties", "required", "additionalProperties", "patternProperties", "minProperties")),
    "number": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    "integer": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
}


def _own(branch: RpcObject) -> bool:
    """Whether every keyword of a branch says something of values of its own type only."""
    allowed = _TYPED_KEYWORDS.get(branch["type"], frozenset())
    return all(key == "type" or key in allowed for key in branch)


def _clash(schema: RpcObject, rich: list[RpcObject]) -> bool:
    return any(key in schema for branch in rich for key in branch if key != "type")


def hoist(schema: RpcObject, count: CountText = len) -> RpcObject:
    """Move subschemas that occur more than once to `$defs`, when that makes the schema smaller.

    Example: two properties with the same 300-character schema -> {"$ref": "#/$defs/a"} twice
    """
    if "$defs" in schema or "definitions" in schema or b'"$ref"' in (whole := dump(schema)):
        return schema  # it already names its repeated parts
    seen: Counter[bytes] = Counter()
    _count_schemas(schema, seen, top=True)
    worth = [key for key, times in seen.items() if times > 1 and len(key) * (times - 1) > 40 + 24 * times]
    names: dict[bytes, str] = {}
    for key in sorted(worth, key=lambda key: (-len(key), key)):
        names[key] = f"s{len(names) + 1}"
    if not names:
        return schema
    defs: dict[str, Any] = {}
    small = _replace(schema, names, defs, top=True)
    used = dump(small)
    kept = {name: body for name, body in defs.items() if f'"#/$defs/{name}"'.encode() in used + dump(defs)}
    candidate = {**small, "$defs": kept}
    return candidate if count(dump(candidate).decode()) < count(whole.decode()) else schema


def _subschemas(schema: RpcObject) -> list[tuple[str, str | int | None, Any]]:
    found: list[tuple[str, str | int | None, Any]] = []
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            found += [(key, name, below) for name, below in value.items()]
        elif key in _DATA or key == "description":
            continue
        elif isinstance(value, dict):
            found.append((key, None, value))
        elif isinstance(value, list):
            found += [(key, place, below) for place, below in enumerate(value)]
    return found


def _count_schemas(schema: Any, seen: Counter[bytes], *, top: bool = False) -> None:
    if not isinstance(schema, dict):
        return
    if not top:
        seen[dump(schema)] += 1
    for _, _, below in _subschemas(schema):
        _count_schemas(below, seen)


def _replace(schema: Any, names: dict[bytes, str], defs: dict[str, Any], *, top: bool = False) -> Any:
    if not isinstance(schema, dict):
        return schema
    name = None if top else names.get(dump(schema))
    if name is not None:
        if name not in defs:
            defs[name] = True  # a placeholder, so that names are in the order of first use
            defs[name] = _replace(schema, names, defs, top=True)
        return {"$ref": f"#/$defs/{name}"}
    small = dict(schema)
    for key, place, below in _subschemas(schema):
        if place is None:
            small[key] = _replace(below, names, defs)
        elif isinstance(place, str):
            small[key] = {**small[key], place: _replace(below, names, defs)}
        else:
            small[key] = [*small[key][:place], _replace(below, names, defs), *small[key][place + 1 :]]
    return small
