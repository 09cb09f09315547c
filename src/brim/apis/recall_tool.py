"""The tool by which a model recalls archived content: its definition and its answers in every API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from brim.conversation import Message
from brim.errors import BadInput, MissingExtra, NotFound
from brim.query import query
from brim.recall import asked, page, read

TOOL = "brim_recall"
DESCRIPTION = "Fetch earlier content that was archived to save space: by its handle (brim:…), or by what it is about."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "a handle such as brim:3f2a9c01"},
        "query": {"type": "string", "description": "what to look for in all earlier messages, or inside the handle"},
        "offset": {"type": "integer", "description": "where to go on reading, in characters"},
    },
}
QUERY = "brim_query"
QUERY_DESCRIPTION = "Ask an archived result a question instead of reading it: only the answer comes back."
QUERY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "a handle such as brim:3f2a9c01"},
        "expression": {
            "type": "string",
            "description": "jq (.items[] | select(.n > 3) | .name), JSONPath, /regex/, lines 40-60, head 20, tail 5, "
            "count, count by FIELD",
        },
        "offset": {"type": "integer", "description": "where to go on reading the answer, in characters"},
    },
    "required": ["handle", "expression"],
}
# The tools that Brim answers for the model, with their descriptions and parameters.
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    TOOL: (DESCRIPTION, SCHEMA),
    QUERY: (QUERY_DESCRIPTION, QUERY_SCHEMA),
}
# Characters of recalled content per page.
PAGE = 16_000


def definition(api: str, name: str = TOOL) -> dict[str, Any]:
    """The definition of one of Brim's tools in the form of an API."""
    description, schema = TOOLS[name]
    if api == "anthropic":
        return {"name": name, "description": description, "input_schema": schema}
    if api == "openai_responses":
        return {"type": "function", "name": name, "description": description, "parameters": schema}
    function = {"name": name, "description": description, "parameters": schema}
    if api == "gemini":
        return {"functionDeclarations": [function]}
    return {"type": "function", "function": function}


def continuable(api: str, fields: Mapping[str, msgspec.Raw], streamed: bool, query: bytes) -> bool:
    """Whether Brim can continue an answer: not with several choices at once, nor a stream that is one JSON list."""
    if api == "gemini":
        return not streamed or b"alt=sse" in query
    return api != "openai_chat" or bytes(fields.get("n", msgspec.Raw(b"1"))) in (b"1", b"null")


class Recalls(Protocol):
    """Whatever answers recalls, such as a session."""

    def recall(self, handle: str) -> str: ...

    def search(self, query: str, limit: int = 5) -> list[tuple[int, str]]: ...


def answer(session: Recalls, arguments: Mapping[str, Any]) -> str:
    """The recall tool's answer: a page of the content behind a handle, or the messages that match a query."""
    what = asked(arguments)
    if what.handle:
        try:
            text = session.recall(what.handle)
        except NotFound as problem:
            return str(problem)
        if what.expression:
            return page(queried(text, what.expression), what.offset, PAGE, len)
        return read(text, what, PAGE, len)
    if not what.query:
        return "give a handle (brim:…) or a query"
    found = [f"messages[{number}] {said}" for number, said in session.search(what.query)]
    return page("\n\n".join(found), what.offset, PAGE, len) if found else "nothing found"


def queried(text: str, expression: str) -> str:
    """The result of an expression on a text, or what is wrong with it so that the model can correct it."""
    try:
        return query(text, expression)
    except (BadInput, MissingExtra) as problem:
        return f"[{problem}]"


def answers(session: Recalls, api: str, message: Message) -> list[dict[str, Any]]:
    """The result messages for the recalls in a model's message, in the form of its API; empty if there are none.

    Example: an assistant message that calls brim_recall -> [{"role": "tool", "tool_call_id": …, "content": …}]
    """
    found: list[tuple[str, str, str]] = []
    for part in message.parts:
        if part.kind == "call" and part.name in TOOLS:
            found.append((part.name, part.call, answer(session, _arguments(part.text))))
    if not found:
        return []
    if api == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for _, call, text in found]
        return [{"role": "user", "content": blocks}]
    if api == "gemini":
        parts = [{"functionResponse": {"name": name, "response": {"result": text}}} for name, _, text in found]
        return [{"role": "user", "parts": parts}]
    if api == "openai_responses":
        return [{"type": "function_call_output", "call_id": call, "output": text} for _, call, text in found]
    return [{"role": "tool", "tool_call_id": call, "content": text} for _, call, text in found]


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}
