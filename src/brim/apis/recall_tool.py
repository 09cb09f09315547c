"""Bringing archived content back by a tool that the model calls: its definition and its answers in every API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from brim.conversation import Message
from brim.errors import NotFound
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
# How many characters of a recalled content are read at once.
PAGE = 16_000


def definition(api: str) -> dict[str, Any]:
    """The recall tool as an API wants its tools."""
    if api == "anthropic":
        return {"name": TOOL, "description": DESCRIPTION, "input_schema": SCHEMA}
    if api == "openai_responses":
        return {"type": "function", "name": TOOL, "description": DESCRIPTION, "parameters": SCHEMA}
    function = {"name": TOOL, "description": DESCRIPTION, "parameters": SCHEMA}
    if api == "gemini":
        return {"functionDeclarations": [function]}
    return {"type": "function", "function": function}


def continuable(api: str, fields: Mapping[str, msgspec.Raw], streamed: bool, query: bytes) -> bool:
    """Whether an answer can be gone on with: several choices at once cannot, nor streams that are one JSON list."""
    if api == "gemini":
        return not streamed or b"alt=sse" in query
    return api != "openai_chat" or bytes(fields.get("n", msgspec.Raw(b"1"))) in (b"1", b"null")


class Recalls(Protocol):
    """What answers a recall: a session."""

    def recall(self, handle: str) -> str: ...

    def search(self, query: str, limit: int = 5) -> list[tuple[int, str]]: ...


def answer(session: Recalls, arguments: Mapping[str, Any]) -> str:
    """What the recall tool says: a page of the content of a handle, or the messages that a query is about."""
    what = asked(arguments)
    if what.handle:
        try:
            text = session.recall(what.handle)
        except NotFound as problem:
            return str(problem)
        return read(text, what, PAGE, len)
    if not what.query:
        return "give a handle (brim:…) or a query"
    found = [f"messages[{number}] {said}" for number, said in session.search(what.query)]
    return page("\n\n".join(found), what.offset, PAGE, len) if found else "nothing found"


def answers(session: Recalls, api: str, message: Message) -> list[dict[str, Any]]:
    """The result messages for the recalls that a model's message calls, in the form of its API; none if it calls none.

    Example: an assistant message that calls brim_recall -> [{"role": "tool", "tool_call_id": …, "content": …}]
    """
    found: list[tuple[str, str]] = []
    for part in message.parts:
        if part.kind == "call" and part.name == TOOL:
            found.append((part.call, answer(session, _arguments(part.text))))
    if not found:
        return []
    if api == "anthropic":
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in found]
        return [{"role": "user", "content": blocks}]
    if api == "gemini":
        parts = [{"functionResponse": {"name": TOOL, "response": {"result": text}}} for _, text in found]
        return [{"role": "user", "parts": parts}]
    if api == "openai_responses":
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in found]
    return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in found]


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}
