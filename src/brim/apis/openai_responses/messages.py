"""OpenAI Responses: `input` is a list of items, of which messages are only one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.apis.api import Api, Reader, Usage, check_pairs, name_of, tokens_at
from brim.apis.openai_responses.context_options import options
from brim.apis.openai_responses.streaming import whole
from brim.conversation import Conversation, Interned, Message, Part, Path, Role

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
TEXTS = ("input_text", "output_text", "text")
MEDIA = {"input_image": "image", "input_audio": "audio", "input_file": "file"}
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
OUTPUTS = ("function_call_output", "custom_tool_call_output")
# An approval answers its request as an output answers its call: the field that links the two.
APPROVALS = {"mcp_approval_request": "id", "mcp_approval_response": "approval_request_id"}
# Items that the client sends; all others came from the model.
FROM_USER = ("mcp_approval_response", "compaction", "compaction_trigger")


def read_item(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    if isinstance(reader.value, str):  # `input` given as one text
        reader.add(Part("text", (), (), reader.value))
        return reader.message("user")
    value = reader.want(reader.value, dict, (), "an object")
    kind = value.get("type") or "message"
    if not isinstance(kind, str):
        raise reader.bad(("type",), f"must be text, not {name_of(kind)}")
    if kind == "message":
        return _read_message(reader, value)
    if kind in CALLS:
        return _read_call(reader, value, CALLS[kind])
    call = value.get("call_id")
    if kind in OUTPUTS or (kind.endswith("_output") and isinstance(call, str)):
        return _read_output(reader, value)
    if kind == "reasoning":
        reader.opaque(value, (), kind="thinking")
        return reader.message("assistant")
    if kind in APPROVALS and isinstance(value.get(APPROVALS[kind]), str):
        asks = kind == "mcp_approval_request"
        reader.opaque(value, (), kind="call" if asks else "result", name=kind, call=value[APPROVALS[kind]])
        return reader.message("assistant" if asks else "user")
    if isinstance(call, str):
        reader.opaque(value, (), kind="call", name=kind, call=call)
        return reader.message("assistant")
    reader.opaque(value, ())
    return reader.message("user" if kind in FROM_USER or kind.endswith("_output") else "assistant")


def _read_message(reader: Reader, value: dict[str, Any]) -> Message:
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
            at: Path = ("content", number)
            reader.want(block, dict, at, "an object with a type")
            kind = block.get("type")
            if kind in TEXTS:
                reader.text(block, "text", at, at, fixed=bool(block.get("annotations")))
                reader.also(block.get("annotations"))
            elif kind == "refusal" and isinstance(block.get("refusal"), str):
                reader.text(block, "refusal", at, at)
            elif isinstance(kind, str):
                reader.opaque(block, at, kind=MEDIA.get(kind, "opaque"))
            else:
                raise reader.bad((*at, "type"), "is missing: a content block needs a type")
    else:
        raise reader.bad(("content",), f"must be text or a list of blocks, not {name_of(content)}")
    return reader.message(ROLES[role])


def _read_call(reader: Reader, value: dict[str, Any], leaf: str) -> Message:
    if not isinstance(value.get("call_id"), str):
        raise reader.bad(("call_id",), "is missing: a call needs a call_id")
    name = reader.want(value.get("name"), str, ("name",), "text")
    reader.text(value, leaf, (), (), kind="call", name=name, call=value["call_id"])
    return reader.message("assistant")


def _read_output(reader: Reader, value: dict[str, Any]) -> Message:
    call = value.get("call_id")
    if not isinstance(call, str):
        raise reader.bad(("call_id",), "is missing: an output names the call that it answers")
    output = value.get("output")
    if isinstance(output, str):
        reader.text(value, "output", (), (), kind="result", call=call)
    elif isinstance(output, list) and output and value["type"] in OUTPUTS:
        for number, block in enumerate(output):
            at: Path = ("output", number)
            reader.want(block, dict, at, "an object with a type")
            if block.get("type") in TEXTS:
                reader.text(block, "text", at, (), kind="result", call=call)
            else:
                reader.add(Part("result", at, (), call=call, fixed=True), block)
    else:
        reader.opaque(value, (), kind="result", call=call)
    return reader.message("tool")


def read_instructions(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    if isinstance(reader.value, str):
        reader.add(Part("text", (), (), reader.value))
    else:
        reader.want(reader.value, list, (), "text or a list of items")
        reader.opaque(reader.value, ())
    return reader.message("system")


def text_message(role: Role, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def usage(response: Mapping[str, Any]) -> Usage | None:
    found = response.get("usage")
    if not isinstance(found, dict) and isinstance(response.get("response"), dict):
        found = response["response"].get("usage")  # the terminal stream event
    if not isinstance(found, dict) or not isinstance(found.get("input_tokens"), int):
        return None
    cached = tokens_at(found, "input_tokens_details", "cached_tokens")
    return Usage(found["input_tokens"], tokens_at(found, "output_tokens"), cached)


def replies(response: Mapping[str, Any]) -> list[Any]:
    """The messages that a response adds to the conversation."""
    output = response.get("output")
    return list(output) if isinstance(output, list) else []


def max_output(body: Mapping[str, Any]) -> int | None:
    asked = body.get("max_output_tokens")
    return asked if type(asked) is int and asked > 0 else None


def shorter(body: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"max_output_tokens": most}


def check(conversation: Conversation) -> None:
    """Check calls against results, unless a stored conversation may hold calls that the request answers."""
    if not {"previous_response_id", "conversation"} & set(conversation.fields):
        check_pairs(conversation)


API = Api(
    name="openai_responses",
    list_field="input",
    system_fields=("instructions",),
    messages=Interned(read_item),
    systems=Interned(read_instructions),
    text_message=text_message,
    text_block=text_block,
    usage=usage,
    replies=replies,
    whole=whole,
    max_output=max_output,
    shorter=shorter,
    check=check,
    compacts=True,
    context_options=options,
    streams_overflow=True,
)
