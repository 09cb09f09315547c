"""Ollama's own chat, `/api/chat`: much like OpenAI's, but arguments are objects, images stand beside the text, and the
request itself sets the window (`options.num_ctx`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.apis.api import UNASKED, Api, Reader, Usage, check_pairs, name_of, tokens_at
from brim.apis.plain_messages import plain_message
from brim.conversation import Interned, Message, Part, Path, Role, encode

ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
PLAIN: dict[str, Role] = {name: role for name, role in ROLES.items() if role != "tool"}


def read_message(raw: bytes, root: str) -> Message:
    return plain_message(raw, PLAIN) or _read_message(raw, root)


def _read_message(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    value = reader.want(reader.value, dict, (), "an object with a role")
    role = value.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise reader.bad(("role",), f"{role!r} is not one of {', '.join(ROLES)}")
    if isinstance(value.get("thinking"), str) and value["thinking"]:
        reader.add(Part("thinking", ("thinking",), ("thinking",), value["thinking"], fixed=True))
    _read_content(reader, value, role)
    for number, call in enumerate(reader.want(value.get("tool_calls") or [], list, ("tool_calls",), "a list")):
        _read_call(reader, call, ("tool_calls", number))
    if value.get("images"):
        reader.opaque(reader.want(value["images"], list, ("images",), "a list"), ("images",), kind="image")
    return reader.message(ROLES[role])


def _read_content(reader: Reader, value: dict[str, Any], role: str) -> None:
    content = value.get("content")
    more: dict[str, Any] = {}
    if role == "tool":
        name = value.get("tool_name") or value.get("name") or ""
        more = {"kind": "result", "call": _bond(value.get("tool_call_id"), name), "name": name}
    if isinstance(content, str):
        reader.text(value, "content", (), (), **more)
    elif content is not None:
        raise reader.bad(("content",), f"must be text, not {name_of(content)}")
    elif role in ("user", "system"):
        raise reader.bad(("content",), f"is missing: a {role} message needs content")
    elif more:
        reader.opaque(None, ("content",), **more)


def _read_call(reader: Reader, call: Any, at: Path) -> None:
    function = reader.want(call, dict, at, "an object with a function").get("function")
    inner = reader.want(function, dict, (*at, "function"), "an object with a name")
    name = reader.want(inner.get("name"), str, (*at, "function", "name"), "text")
    text = encode(inner.get("arguments") or {}).decode("utf-8", "surrogatepass")
    fixed = not isinstance(inner.get("arguments"), dict)
    where = (*at, "function", "arguments")
    reader.add(Part("call", where, at, text, name, _bond(call.get("id"), name), fixed=fixed, json=True))


def _bond(given: Any, name: str) -> str:
    """What ties a result to its call: an id if there is one, otherwise the tool's name."""
    return given if isinstance(given, str) and given else f"{UNASKED}{name}"


def text_message(role: Role, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def text_block(text: str) -> list[Any]:
    """What stands for images that leave: none. A message has no place for a note beside its own text."""
    return []


def usage(response: Mapping[str, Any]) -> Usage | None:
    """Example: {"done": true, "prompt_eval_count": 26, "eval_count": 9} -> Usage(input=26, output=9)"""
    found = tokens_at(response, "prompt_eval_count")
    return Usage(found, tokens_at(response, "eval_count")) if found else None


def replies(response: Mapping[str, Any]) -> list[Any]:
    """The messages that a response adds to the conversation."""
    message = response.get("message")
    return [message] if isinstance(message, dict) else []


def whole(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Puts a streamed answer back together; its last line has the usage."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for line in lines:
        said = line.get("message")
        for key, value in said.items() if isinstance(said, dict) else ():
            if isinstance(value, str) and key != "role":
                message[key] = message.get(key, "") + value
            elif isinstance(value, list):
                message[key] = [*message.get(key, []), *value]
    found = {key: value for key, value in (lines[-1] if lines else {}).items() if key != "message"}
    return {**found, "message": message} if len(message) > 2 or message["content"] else found


def max_output(body: Mapping[str, Any]) -> int | None:
    """The limit from `num_predict`; a negative one means as much as there is room for."""
    return tokens_at(body, "options", "num_predict") or None


def shorter(body: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"options": {**body["options"], "num_predict": most}}


def window(body: Mapping[str, Any]) -> int | None:
    """The window that the request asks the server to open; the server silently cuts what doesn't fit."""
    return tokens_at(body, "options", "num_ctx") or None


API = Api(
    name="ollama",
    list_field="messages",
    system_fields=(),
    messages=Interned(read_message),
    systems=None,
    text_message=text_message,
    text_block=text_block,
    usage=usage,
    replies=replies,
    whole=whole,
    max_output=max_output,
    shorter=shorter,
    check=check_pairs,
    window=window,
    provider="ollama",
    streams_unasked=True,
)
