"""Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.apis.anthropic.context_options import options
from brim.apis.anthropic.streaming import whole
from brim.apis.api import Api, Reader, Usage, check_pairs, name_of, tokens_at
from brim.apis.plain_messages import plain_message
from brim.conversation import Interned, Message, Part, Path, Role, decode, encode

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
MEDIA = {"image": "image", "container_upload": "file"}
# Blocks that may hold readable text, and what to call each one once it is gone.
DOCUMENTS = {"document": "document", "search_result": "search result"}

# The smallest thinking budget that the API accepts.
LEAST_THINKING = 1_024


def read_message(raw: bytes, root: str) -> Message:
    return plain_message(raw, ROLES) or _read_message(raw, root)


def _read_message(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    value = reader.want(reader.value, dict, (), "an object with a role")
    role = value.get("role")
    if role is None:
        raise reader.bad(("role",), "is missing: a message needs a role")
    if not isinstance(role, str) or role not in ROLES:
        raise reader.bad(("role",), f"{role!r} is not one of {', '.join(ROLES)}")
    content = value.get("content")
    if isinstance(content, str):
        reader.text(value, "content", (), ())
    elif isinstance(content, list):
        for number, block in enumerate(content):
            _read_block(reader, block, ("content", number))
    else:
        raise reader.bad(("content",), f"must be text or a list of blocks, not {name_of(content)}")
    return reader.message(ROLES[role])


def begins(messages: Sequence[Message]) -> int:
    """Where Anthropic's own newest summary stands: the provider drops what comes before it, so that costs nothing.

    A `compaction` block without content marks a failed compaction and drops nothing.
    """
    for number in range(len(messages) - 1, 0, -1):
        message = messages[number]
        if message.role == "assistant" and b'"compaction"' in message.raw:
            content = decode(message.raw).get("content")
            blocks = content if isinstance(content, list) else []
            if any(block.get("type") == "compaction" and block.get("content") for block in blocks):
                return number
    return 0


def read_system(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    if isinstance(reader.value, str):
        reader.add(Part("text", (), (), reader.value))
    else:
        for number, block in enumerate(reader.want(reader.value, list, (), "text or a list of blocks")):
            _read_block(reader, block, (number,))
    return reader.message("system")


def _read_block(reader: Reader, block: Any, at: Path) -> None:
    reader.want(block, dict, at, "an object with a type")
    kind = block.get("type")
    if not isinstance(kind, str):
        raise reader.bad((*at, "type"), "is missing: a content block needs a type")
    if kind == "text":
        # Citations quote places inside the text, so a cited text is never altered.
        reader.text(block, "text", at, at, fixed=bool(block.get("citations")))
        reader.also(block.get("citations"))
    elif kind == "tool_use":
        _read_call(reader, block, at)
    elif kind == "tool_result":
        _read_result(reader, block, at)
    elif kind in DOCUMENTS:
        if not _read_texts(reader, block, at, at, {"name": DOCUMENTS[kind]}):
            reader.opaque(block, at, kind="file", name=DOCUMENTS[kind] if _cited(block) else "")
    elif kind == "thinking":
        text = block.get("thinking")
        reader.add(Part("thinking", at, at, text if isinstance(text, str) else "", fixed=True), block)
    elif kind == "redacted_thinking":
        reader.opaque(block, at, kind="thinking")
    elif kind in ("server_tool_use", "mcp_tool_use"):
        reader.opaque(block, at, kind="call", name=str(block.get("name", "")), call=str(block.get("id", "")))
    elif kind.endswith("_tool_result") and isinstance(block.get("tool_use_id"), str):
        reader.opaque(block, at, kind="result", call=block["tool_use_id"])
    else:
        reader.opaque(block, at, kind=MEDIA.get(kind, "opaque"))


def _read_call(reader: Reader, block: dict[str, Any], at: Path) -> None:
    for key in ("id", "name"):
        if not isinstance(block.get(key), str):
            raise reader.bad((*at, key), f"is missing: a tool_use block needs its {key}")
    text = encode(block.get("input")).decode("utf-8", "surrogatepass")
    leaf = (*at, "input")
    reader.add(Part("call", leaf, at, text, block["name"], block["id"], fixed="input" not in block, json=True))


def _read_result(reader: Reader, block: dict[str, Any], at: Path) -> None:
    if not isinstance(block.get("tool_use_id"), str):
        raise reader.bad((*at, "tool_use_id"), "is missing: a tool_result names the call that it answers")
    more: dict[str, Any] = {"kind": "result", "call": block["tool_use_id"]}
    reader.also(block.get("is_error") and "error")
    content = block.get("content")
    if isinstance(content, str):
        reader.text(block, "content", at, at, **more)
    elif isinstance(content, list) and content:
        for number, inner in enumerate(content):
            where = (*at, "content", number)
            if isinstance(inner, dict) and inner.get("type") == "text":
                reader.text(inner, "text", where, at, **more)
            elif not (isinstance(inner, dict) and _read_texts(reader, inner, where, at, more)):
                reader.want(inner, dict, where, "an object with a type")
                reader.add(Part("result", where, at, call=more["call"], fixed=True), inner)
    else:
        reader.add(Part("result", at, at, call=more["call"], fixed=True), content)


def _read_texts(reader: Reader, block: dict[str, Any], at: Path, whole: Path, more: Mapping[str, Any]) -> bool:
    """Add the texts of a document or search result as parts; False if none of them may be shortened.

    `whole` is the block that goes when they go. Citations count the characters and blocks of what they quote, so a
    document with citations is kept whole or goes.
    """
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in DOCUMENTS or _cited(block):
        return False
    holder: Any = block.get("source") if kind == "document" else block
    if not isinstance(holder, dict):
        return False
    inside = (*at, "source") if kind == "document" else at
    if holder.get("type") == "text" and isinstance(holder.get("data"), str) and holder["data"]:
        reader.text(holder, "data", inside, whole, **more)
    elif isinstance(content := holder.get("content"), str) and content:
        reader.text(holder, "content", inside, whole, **more)
    elif isinstance(content, list) and content and all(map(_is_text, content)):
        for number, inner in enumerate(content):
            reader.text(inner, "text", (*inside, "content", number), whole, **more)
    else:
        return False
    reader.also({key: value for key, value in block.items() if key not in ("source", "content")})
    return True


def _is_text(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return isinstance(text, str) and bool(text)


def _cited(block: Mapping[str, Any]) -> bool:
    cited = block.get("citations")
    return isinstance(cited, dict) and cited.get("enabled") is True


def text_message(role: Role, text: str) -> dict[str, Any]:
    return {"role": "assistant" if role == "assistant" else "user", "content": text}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def usage(response: Mapping[str, Any]) -> Usage | None:
    """Anthropic's input_tokens leaves out what was read from or written to the cache; `Usage.input` has it all."""
    found = response.get("usage")
    if not isinstance(found, dict) or not isinstance(found.get("input_tokens"), int):
        return None
    cached = tokens_at(found, "cache_read_input_tokens")
    written = tokens_at(found, "cache_creation_input_tokens")
    return Usage(found["input_tokens"] + cached + written, tokens_at(found, "output_tokens"), cached, written)


def replies(response: Mapping[str, Any]) -> list[Any]:
    """The messages that a response adds to the conversation."""
    content = response.get("content")
    return [{"role": "assistant", "content": content}] if isinstance(content, list) and content else []


def max_output(body: Mapping[str, Any]) -> int | None:
    asked = body.get("max_tokens")
    return asked if type(asked) is int and asked > 0 else None


def shorter(body: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Thinking counts towards the answer and its budget must stay below it, so both shrink in proportion."""
    found: dict[str, Any] = {"max_tokens": most}
    asked, budget = tokens_at(body, "max_tokens"), tokens_at(body, "thinking", "budget_tokens")
    # With interleaved thinking the budget may exceed `max_tokens`; then neither limits the other.
    if most <= budget < asked:
        kept = max(LEAST_THINKING, budget * most // asked)
        found["thinking"] = {**body["thinking"], "budget_tokens": kept} if kept < most else {"type": "disabled"}
    return found


API = Api(
    name="anthropic",
    list_field="messages",
    system_fields=("system",),
    messages=Interned(read_message),
    systems=Interned(read_system),
    text_message=text_message,
    text_block=text_block,
    usage=usage,
    replies=replies,
    whole=whole,
    max_output=max_output,
    shorter=shorter,
    check=check_pairs,
    system_messages=False,
    provider="anthropic",
    user_first=True,
    adjacent_results=True,
    calls_keep_thoughts=True,
    marks_cache=True,
    edits_context=True,
    context_options=options,
    begins=begins,
)
