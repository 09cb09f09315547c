"""The OpenAPI document of the JSON API."""

from __future__ import annotations

from typing import Any

import brim

_TOKENS = {"type": "integer", "minimum": 1, "maximum": 100_000_000}
_NUMBER = {"type": "number"}
_TEXT = {"type": "string"}
_MESSAGES = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"role": {"enum": ["user", "assistant", "system"]}, "content": {"type": "string"}},
        "required": ["role", "content"],
        "additionalProperties": False,
    },
}
_REQUEST = {
    "description": "Messages, or a request body of any API: whatever else it holds passes through",
    "anyOf": [
        _MESSAGES,
        {"type": "object", "properties": {"messages": _MESSAGES}, "required": ["messages"]},
        {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
    ],
}
_API = {
    "enum": ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama", None],
    "description": "The wire format; told from the request if it is left out",
}
_MODEL = {"type": ["string", "null"], "description": "A model's name as any API spells it", "examples": ["gpt-4o"]}
_POLICY = {
    "anyOf": [
        {"enum": ["agent", "rolling", "concise", "layered", None]},
        {"type": "object", "description": "A name and any settings of [policy]"},
    ]
}
_UPSTREAM = {"type": "string", "description": "The upstream whose learnt sizes count; else the model's"}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: dict[str, Any], required: tuple[str, ...] = (), closed: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        made["required"] = list(required)
    if closed:
        made["additionalProperties"] = False
    return made


_REPORT = _object(
    {
        "model": _TEXT,
        "policy": _TEXT,
        "limit": {"type": "integer"},
        "before": {"type": "integer"},
        "after": {"type": "integer"},
        "upper": {"type": "integer"},
        "source": _TEXT,
        "layers": {"type": "array", "items": {"type": "object"}},
        "decisions": {"type": "array", "items": {"type": "object"}},
        "kept": {"type": "integer"},
        "compacted": {"type": "integer"},
        "archived": {"type": "integer"},
        "warnings": {"type": "array", "items": _TEXT},
        "used": _NUMBER,
        "level": {"enum": ["ok", "high", "full", "critical"]},
    },
    ("limit", "before", "after", "decisions"),
)
_ERROR = _object({"error": _object({"code": _TEXT, "message": _TEXT}, ("code", "message"))}, ("error",))
_ERRORS = {
    "400": "The request cannot be read",
    "404": "There is no such thing",
    "405": "The method is not allowed",
    "413": "The body is too large",
    "415": "The body's content-encoding is not known",
    "409": "What must stay does not fit the budget",
    "422": "The values cannot be used",
}


def _answer(schema: dict[str, Any], *errors: str) -> dict[str, Any]:
    found = {"200": {"description": "Done", "content": {"application/json": {"schema": schema}}}}
    for status in errors:
        found[status] = {
            "description": _ERRORS[status],
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    return found


def _post(summary: str, body: dict[str, Any], answer: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": _answer(answer, "400", "404", "409", "413", "415", "422"),
    }
    if parameters:
        found["parameters"] = list(parameters)
    return {"post": found}


def _get(summary: str, answer: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    return {"get": {"summary": summary, "parameters": list(parameters), "responses": _answer(answer, "404", "422")}}


def _query(name: str, most: int, default: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _path(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


_ID = _path("id", {"type": "string", "pattern": r"^[A-Za-z0-9][\w.:-]{0,160}$"})
_TURN = _path("number", {"type": "integer", "minimum": 1})
_HANDLE = _path("handle", {"type": "string", "pattern": r"^brim:[0-9a-f]{8,64}$"})
_SEARCH = {"name": "query", "in": "query", "required": False, "schema": {"type": "string", "maxLength": 200}}


def _actions() -> dict[str, Any]:
    counted = _object(
        {
            "tokens": {"type": "integer"},
            "upper": {"type": "integer"},
            "source": _TEXT,
            "messages": {"type": "array", "items": {"type": "integer"}},
            "head": {"type": "integer"},
            "warning": _TEXT,
        },
        ("tokens", "upper", "source"),
    )
    fitted = _object({"request": _REQUEST, "tokens": {"type": "integer"}, "report": _REPORT}, ("tokens", "report"))
    compacted = _object(
        {
            "text": _TEXT,
            "tokens": {"type": "integer"},
            "kind": _TEXT,
            "fidelity": _TEXT,
            "handle": _TEXT,
            "kept": _NUMBER,
        },
        ("text", "tokens", "fidelity"),
    )
    to_count = {
        "oneOf": [
            _object({"model": _MODEL, "text": _TEXT, "api": _API, "upstream": _UPSTREAM}, ("text",), closed=True),
            _object(
                {"model": _MODEL, "request": _REQUEST, "api": _API, "upstream": _UPSTREAM}, ("request",), closed=True
            ),
        ]
    }
    to_fit = {
        "request": _REQUEST,
        "model": _MODEL,
        "budget": _nullable(_TOKENS),
        "reserve": _nullable(_TOKENS),
        "policy": _POLICY,
        "api": _API,
        "upstream": _UPSTREAM,
        "session": {"type": "string", "description": "A conversation to go on with: what it sent stays as it was"},
    }
    to_compact = {"text": _TEXT, "budget": _nullable(_TOKENS), "model": _MODEL, "query": _TEXT}
    return {
        "/brim/v1/count": _post("Count the tokens of a text or a request", to_count, counted),
        "/brim/v1/fit": _post("Fit a request into a budget", _object(to_fit, ("request",), closed=True), fitted),
        "/brim/v1/compact": _post("Make a text smaller", _object(to_compact, ("text",), closed=True), compacted),
    }


def _views() -> dict[str, Any]:
    planned = _object({"budget": {"type": "integer"}, "tokens": {"type": "integer"}, "report": _REPORT}, ("tokens",))
    some = {"type": "object"}
    limit = _query("limit", 500, 50)
    turn = "/brim/v1/sessions/{id}/turns/{number}"
    return {
        "/brim/v1/live": _get("Totals since the start, and the last turns", some, limit),
        "/brim/v1/status": _get("The last turn, for a status line", some),
        "/brim/v1/sessions": _get("The last used sessions", some, limit, _SEARCH),
        "/brim/v1/sessions/{id}": _get("One session with its turns", some, _ID),
        turn: _get("One turn: every item with its form and reason, before and after", some, _ID, _TURN),
        f"{turn}/plan": _post(
            "The same turn at another budget",
            _object({"budget": _TOKENS}, ("budget",), closed=True),
            planned,
            _ID,
            _TURN,
        ),
        "/brim/v1/sessions/{id}/archive/{handle}": _get("What a handle stands for", some, _ID, _HANDLE),
        "/brim/v1/models": _get("Models in use: windows, errors, usage and cost", some),
        "/brim/v1/usage": _get("Usage by day and model", some, _query("days", 3_650, 30)),
        "/brim/v1/settings": _get("Settings in force and where they come from", some),
    }


def document() -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Brim",
            "version": brim.__version__,
            "description": "Counts, fits and compacts; shows what the gateway did.",
        },
        "paths": {**_actions(), **_views()},
        "components": {"schemas": {"Error": _ERROR}},
    }
