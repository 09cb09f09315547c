"""OpenAI Chat Completions, and the many servers that offer the same API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.apis.api import Api, Reader, Usage, check_pairs, name_of, tokens_at
from brim.apis.openai_chat.streaming import whole
from brim.apis.plain_messages import plain_message
from brim.conversation import Interned, Message, Part, Path, Role

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
MEDIA = {"image_url": "image", "input_audio": "audio", "file": "file"}
# Fields in which compatible servers return a model's reasoning.
REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")


# Roles whose messages may be only a text.
PLAIN: dict[str, Role] = {name: role for name, role in ROLES.items() if role != "tool"}


def read_message(raw: bytes, root: str) -> Message:
    return plain_message(raw, PLAIN) or _read_message(raw, root)


def _read_message(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    value = reader.want(reader.value, dict, (), "an object with a role")
    role = value.get("role")
    if role is None:
        raise reader.bad(("role",), "is missing: a message needs a role")
    if not isinstance(role, str) or role not in ROLES:
        raise reader.bad(("role",), f"{role!r} is not one of {', '.join(ROLES)}")
    for key in REASONING:
        if value.get(key):
            text = value[key] if isinstance(value[key], str) else ""
            reader.add(Part("thinking", (key,), (key,), text, fixed=True), value[key])
    call = _answered(reader, value, role)
    _read_content(reader, value, role, call)
    _read_calls(reader, value)
    if isinstance(value.get("refusal"), str):
        reader.text(value, "refusal", (), ("refusal",))
    if isinstance(value.get("audio"), dict):
        reader.opaque(value["audio"], ("audio",), kind="audio")
    if isinstance(value.get("name"), str):
        reader.blobs.append(value["name"].encode("utf-8", "surrogatepass"))
    return reader.message(ROLES[role])


def _answered(reader: Reader, value: dict[str, Any], role: str) -> str:
    if role == "function":
        return f"function:{value.get('name', '')}"
    if role != "tool":
        return ""
    if not isinstance(value.get("tool_call_id"), str):
        raise reader.bad(("tool_call_id",), "is missing: a tool message names the call that it answers")
    return str(value["tool_call_id"])


def _read_content(reader: Reader, value: dict[str, Any], role: str, call: str) -> None:
    content = value.get("content")
    more: dict[str, Any] = {"kind": "result", "call": call, "name": value.get("name") or ""} if call else {}
    if isinstance(content, str):
        reader.text(value, "content", (), (), **more)
    elif isinstance(content, list):
        for number, block in enumerate(content):
            _read_block(reader, block, ("content", number), more)
        if call and not content:
            reader.opaque([], ("content",), **more)
    elif content is not None:
        raise reader.bad(("content",), f"must be text, a list of blocks or null, not {name_of(content)}")
    elif role in ("user", "system", "developer"):
        raise reader.bad(("content",), f"is missing: a {role} message needs content")
    elif call:
        reader.opaque(None, ("content",), **more)


def _read_block(reader: Reader, block: Any, at: Path, more: dict[str, Any]) -> None:
    if isinstance(block, str):  # some servers accept bare strings
        reader.add(Part(more.get("kind", "text"), at, at, block, more.get("name", ""), more.get("call", "")))
        return
    reader.want(block, dict, at, "an object with a type")
    kind = block.get("type")
    if not isinstance(kind, str):
        raise reader.bad((*at, "type"), "is missing: a content block needs a type")
    if kind == "text" or (kind == "refusal" and "refusal" in block):
        reader.text(block, kind, at, at, **more)
    else:
        kept = {key: inner for key, inner in more.items() if key != "kind"}
        reader.opaque(block, at, kind="result" if more else MEDIA.get(kind, "opaque"), **kept)


def _read_calls(reader: Reader, value: dict[str, Any]) -> None:
    calls = value.get("tool_calls")
    if calls is not None:
        for number, call in enumerate(reader.want(calls, list, ("tool_calls",), "a list")):
            _read_call(reader, call, ("tool_calls", number))
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        name = str(legacy.get("name", ""))
        at: Path = ("function_call",)
        reader.text(legacy, "arguments", at, at, kind="call", name=name, call=f"function:{name}")


def _read_call(reader: Reader, call: Any, at: Path) -> None:
    reader.want(call, dict, at, "an object with an id and a function")
    if not isinstance(call.get("id"), str):
        raise reader.bad((*at, "id"), "is missing: a tool call needs an id")
    for key, leaf in (("function", "arguments"), ("custom", "input")):
        inner = call.get(key)
        if isinstance(inner, dict):
            name = reader.want(inner.get("name"), str, (*at, key, "name"), "text")
            reader.text(inner, leaf, (*at, key), at, kind="call", name=name, call=call["id"])
            return
    reader.opaque(call, at, kind="call", call=call["id"])


def text_message(role: Role, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def usage(response: Mapping[str, Any]) -> Usage | None:
    """Example: {"usage": {"prompt_tokens": 9, "completion_tokens": 2}} -> Usage(input=9, output=2)"""
    found = response.get("usage")
    if not isinstance(found, dict) or not isinstance(found.get("prompt_tokens"), int):
        return None
    cached = tokens_at(found, "prompt_tokens_details", "cached_tokens") or tokens_at(found, "prompt_cache_hit_tokens")
    return Usage(found["prompt_tokens"], tokens_at(found, "completion_tokens"), cached)


def replies(response: Mapping[str, Any]) -> list[Any]:
    """The messages that a response adds to the conversation."""
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return []
    message = choices[0].get("message")
    return [message] if isinstance(message, dict) else []


def max_output(body: Mapping[str, Any]) -> int | None:
    asked = body.get("max_completion_tokens") or body.get("max_tokens")
    return asked if type(asked) is int and asked > 0 else None


def shorter(body: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {key: most for key in ("max_completion_tokens", "max_tokens") if tokens_at(body, key) > most}


API = Api(
    name="openai_chat",
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
    adjacent_results=True,
)
