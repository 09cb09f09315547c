"""Tool definitions as the TypeScript that OpenAI's models read.

    namespace functions {

    // Get the weather
    type get_weather = (_: {
    // A city
    city: string,
    }) => any;

    } // namespace functions

There are two renderings. In the first (`functions`, 2023) nested objects are indented and their descriptions are
lost below the second level; in the second (`tools`) nothing is indented, descriptions are kept at every depth, an
object without any description stands on one line, and defaults are comments. Both were derived from the
prompt_tokens that the API reported for small requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

_DEEPEST: Final = 64
# Keywords that the renderings show, or are known to leave out.
_SHOWN: Final = frozenset(
    {"type", "properties", "required", "description", "enum", "items", "anyOf", "default", "const", "$schema", "strict"}
)


def render_functions(functions: list[dict[str, Any]], era: str) -> str:
    """The namespace of `functions` in the rendering of `era` ("functions" or "tools").

    Example: [{"name": "foo"}] -> "namespace functions {\\n\\ntype foo = () => any;\\n\\n} // namespace functions"
    """
    lines = ["namespace functions {", ""]
    for function in functions:
        description = function.get("description")
        if isinstance(description, str) and description:
            lines.append(_comment(description, era))
        parameters = function.get("parameters")
        name = function.get("name", "")
        if isinstance(parameters, dict) and isinstance(parameters.get("properties"), dict) and parameters["properties"]:
            lines.append(f"type {name} = (_: {_object(parameters, era, 0)}) => any;")
        else:
            lines.append(f"type {name} = () => any;")
        lines.append("")
    lines.append("} // namespace functions")
    return "\n".join(lines)


def unshown(schema: Any, depth: int = 0, root: Any = None) -> Iterator[Any]:
    """The keywords of a schema that a model may or may not see, as {keyword: value}.

    A reference counts as the definition that may replace it.

    Example: {"type": "string", "pattern": "^a"} -> {"pattern": "^a"}
    """
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    root = schema if root is None else root
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            for inner in value.values():
                yield from unshown(inner, depth + 1, root)
        elif key == "items":
            yield from unshown(value, depth + 1, root)
        elif key == "anyOf" and isinstance(value, list):
            for inner in value:
                yield from unshown(inner, depth + 1, root)
        elif key == "$ref":
            yield {key: _definition(value, root) or value}
        elif key not in _SHOWN and not (key == "additionalProperties" and isinstance(value, bool)):
            yield {key: value}


def _definition(reference: Any, root: Any) -> Any:
    """What "#/$defs/Name" points to inside `root`, if it exists."""
    found = root
    for step in reference.removeprefix("#/").split("/") if isinstance(reference, str) else ():
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _comment(text: str, era: str) -> str:
    return "// " + (text if era == "functions" else text.replace("\n", "\n// "))


def _object(schema: dict[str, Any], era: str, depth: int) -> str:
    if era == "functions":
        return _indented_object(schema, 2 * depth)
    properties = _properties(schema)
    if not any(_described(inner) for inner in properties.values()):
        fields = ", ".join(f"{key}: {_type(inner, era, depth + 1)}" for key, inner in _fields(schema))
        return f"{{ {fields} }}"
    lines = ["{"]
    for key, inner in _fields(schema):
        if _description(inner):
            lines.append(_comment(_description(inner), era))
        lines.append(f"{key}: {_type(inner, era, depth + 1)},{_default(inner)}")
    return "\n".join([*lines, "}"])


def _indented_object(schema: dict[str, Any], indent: int) -> str:
    lines = []
    for key, inner in _fields(schema):
        if _description(inner) and indent < 2:
            lines.append(f"// {_description(inner)}")
        lines.append(f"{key}: {_type(inner, 'functions', indent // 2 + 1)},")
    return "{\n" + "\n".join(" " * indent + line for line in lines) + "\n}"


def _type(schema: Any, era: str, depth: int) -> str:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "any" if not schema else json.dumps(schema, ensure_ascii=False, default=str)
    options = schema.get("anyOf")
    if isinstance(options, list) and options:
        return " | ".join(_type(option, era, depth) for option in options)
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return " | ".join(json.dumps(value, ensure_ascii=False, default=str) for value in values)
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": one}, era, depth) for one in kind if isinstance(one, str))
    if kind == "object":
        return _object(schema, era, depth)
    if kind == "array":
        items = schema.get("items")
        return f"{_type(items, era, depth)}[]" if items else "any[]"
    return {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}.get(
        kind if isinstance(kind, str) else "", "any"
    )


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _fields(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    for key, inner in _properties(schema).items():
        yield (key if key in needed else f"{key}?"), inner


def _description(schema: Any) -> str:
    text = schema.get("description") if isinstance(schema, dict) else None
    return text if isinstance(text, str) else ""


def _described(schema: Any, depth: int = 0) -> bool:
    """Whether any part has a description, because then the object can't be written on one line."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return False
    if _description(schema) or "default" in schema:
        return True
    inside = [*_properties(schema).values(), schema.get("items")]
    options = schema.get("anyOf")
    inside += options if isinstance(options, list) else []
    return any(_described(inner, depth + 1) for inner in inside)


def _default(schema: Any) -> str:
    if not isinstance(schema, dict) or "default" not in schema:
        return ""
    return f" // default: {json.dumps(schema['default'], ensure_ascii=False, default=str)}"
