"""Adds the recall tools to a request, always at the same place so that the prefix is stable."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from brim.apis import APIS
from brim.apis.recall_tool import TOOLS, continuable, definition
from brim.conversation import decode, encode

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])
_TOOLS = {api: [encode(definition(api, name)) for name in TOOLS] for api in APIS}
# A tool with one of those names. A text that mentions it would have escaped quotes.
_NAMED = re.compile(rb'"name"\s*:\s*"(?:%b)"' % "|".join(TOOLS).encode())


def offered(content: bytes, api: str, streamed: bool, query: bytes) -> bytes:
    """The request with the tools after the client's own. A body that can't be parsed is for the upstream to judge.

    Left alone are requests whose answers cannot be continued: several choices at once, and Gemini streams that are
    one JSON list.
    """
    try:
        fields = _fields.decode(content)
        tools = [bytes(tool) for tool in _list.decode(fields["tools"])] if _has(fields, "tools") else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return content
    if not continuable(api, fields, streamed, query):
        return content
    if any(_NAMED.search(tool) is not None for tool in tools):
        return content
    fields["tools"] = msgspec.Raw(b"[" + b",".join([*tools, *_TOOLS[api]]) + b"]")
    return msgspec.json.encode(fields)


def _has(fields: dict[str, msgspec.Raw], name: str) -> bool:
    return name in fields and bytes(fields[name]) != b"null"


def extended(body: bytes, list_field: str, added: list[Any]) -> bytes:
    """A request with more items at the end of its list.

    Example: extended(b'{"messages":[1]}', "messages", [2]) -> b'{"messages":[1,2]}'
    """
    fields = _split(body)
    raw = bytes(fields[list_field])
    if raw[:1] == b'"':  # Responses: `input` given as one text
        items = [encode({"role": "user", "content": decode(raw)})]
    else:
        items = _items(raw)
    items += [encode(item) for item in added]
    fields[list_field] = msgspec.Raw(b"[" + b",".join(items) + b"]")
    return msgspec.json.encode(fields)


def _split(body: bytes) -> dict[str, msgspec.Raw]:
    """The fields of a body; JSON allows lone surrogates, but msgspec doesn't accept them."""
    try:
        return _fields.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {key: msgspec.Raw(encode(value)) for key, value in decode(body).items()}


def _items(raw: bytes) -> list[bytes]:
    try:
        return [bytes(item) for item in _list.decode(raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [encode(item) for item in decode(raw)]
