"""Gemini generateContent. Fields may be written in camelCase or snake_case; both are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.apis.api import Api, Reader, Usage, name_of, place, tokens_at
from brim.apis.gemini.streaming import whole
from brim.conversation import Conversation, Interned, Message, Part, Path, Role, encode
from brim.errors import BadBody

ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "function": "user", "system": "system"}


def read_content(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    value = reader.want(reader.value, dict, (), "an object with parts")
    role = value.get("role", "user")
    if not isinstance(role, str) or role not in ROLES:
        raise reader.bad(("role",), f"{role!r} is not one of user, model")
    _read_parts(reader, value)
    return reader.message(ROLES[role])


def read_system(raw: bytes, root: str) -> Message:
    reader = Reader(raw, root)
    if isinstance(reader.value, str):
        reader.add(Part("text", (), (), reader.value))
    else:
        _read_parts(reader, reader.want(reader.value, dict, (), "an object with parts"))
    return reader.message("system")


def _read_parts(reader: Reader, value: dict[str, Any]) -> None:
    parts = value.get("parts")
    if isinstance(parts, dict):  # the API accepts a single part without a list
        _read_part(reader, parts, ("parts",))
        return
    if not isinstance(parts, list):
        raise reader.bad(("parts",), f"must be a list of parts, not {name_of(parts)}")
    for number, part in enumerate(parts):
        _read_part(reader, part, ("parts", number))


def _read_part(reader: Reader, part: Any, at: Path) -> None:
    reader.want(part, dict, at, "an object")
    # A signature covers the part that carries it: such a part is sent back as it came.
    signed = "thoughtSignature" in part or "thought_signature" in part
    call = part.get("functionCall", part.get("function_call"))
    result = part.get("functionResponse", part.get("function_response"))
    if part.get("thought") is True:
        text = part.get("text")
        reader.add(Part("thinking", at, at, text if isinstance(text, str) else "", fixed=True), part)
    elif isinstance(part.get("text"), str):
        reader.text(part, "text", at, at, fixed=signed)
    elif isinstance(call, dict):
        _read_exchange(reader, part, call, at, ("functionCall", "function_call"), "args", signed)
    elif isinstance(result, dict):
        _read_exchange(reader, part, result, at, ("functionResponse", "function_response"), "response", signed)
    elif "inlineData" in part or "inline_data" in part:
        data = part.get("inlineData") or part.get("inline_data") or {}
        mime = data.get("mimeType") or data.get("mime_type") if isinstance(data, dict) else ""
        reader.opaque(part, at, kind={"image": "image", "audio": "audio"}.get(str(mime).split("/")[0], "file"))
    elif "fileData" in part or "file_data" in part:
        reader.opaque(part, at, kind="file")
    else:
        reader.opaque(part, at)


def _read_exchange(
    reader: Reader,
    part: dict[str, Any],
    inner: dict[str, Any],
    at: Path,
    keys: tuple[str, str],
    leaf: str,
    signed: bool,
) -> None:
    """Read a call or a response. Without ids the API matches them by name and order, so the name serves as the id."""
    name = inner.get("name")
    key = keys[0] if keys[0] in part else keys[1]
    if not isinstance(name, str):
        raise reader.bad((*at, key, "name"), "is missing: it names the function")
    bond = inner.get("id") if isinstance(inner.get("id"), str) else f"name:{name}"
    where = (*at, key, leaf)
    text = encode(inner.get(leaf)).decode("utf-8", "surrogatepass")
    kind: Any = "call" if leaf == "args" else "result"
    fixed = signed or not isinstance(inner.get(leaf), dict)
    reader.add(Part(kind, where, at, text, name, str(bond), fixed=fixed, json=True))
    reader.also(inner.get("parts"))  # media that a response carries besides its object


def text_message(role: Role, text: str) -> dict[str, Any]:
    return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text}]}


def text_block(text: str) -> dict[str, Any]:
    return {"text": text}


def usage(response: Mapping[str, Any]) -> Usage | None:
    found = response.get("usageMetadata")
    if not isinstance(found, dict) or not isinstance(found.get("promptTokenCount"), int):
        return None
    output = tokens_at(found, "candidatesTokenCount") + tokens_at(found, "thoughtsTokenCount")
    prompt = found["promptTokenCount"] + tokens_at(found, "toolUsePromptTokenCount")
    return Usage(prompt, output, tokens_at(found, "cachedContentTokenCount"))


def replies(response: Mapping[str, Any]) -> list[Any]:
    """The messages that a response adds to the conversation."""
    candidates = response.get("candidates")
    if not isinstance(candidates, list) or not candidates or not isinstance(candidates[0], dict):
        return []
    content = candidates[0].get("content")
    return [content] if isinstance(content, dict) else []


def max_output(body: Mapping[str, Any]) -> int | None:
    config = body.get("generationConfig") or body.get("generation_config")
    if not isinstance(config, dict):
        return None
    asked = config.get("maxOutputTokens") or config.get("max_output_tokens")
    return asked if type(asked) is int and asked > 0 else None


def shorter(body: Mapping[str, Any], most: int) -> dict[str, Any]:
    key = "generationConfig" if body.get("generationConfig") else "generation_config"
    config = body[key]
    return {key: {**config, "maxOutputTokens" if "maxOutputTokens" in config else "max_output_tokens": most}}


def check(conversation: Conversation) -> None:
    """Check that every response answers a call of the message before it."""
    before: list[str] = []
    for number, message in enumerate(conversation.messages):
        waiting = list(before)
        for part in message.parts:
            if part.kind == "result":
                if part.call not in waiting:
                    raise BadBody(
                        place(conversation, number, part),
                        f"answers {part.name!r}, which was not called before it",
                    )
                waiting.remove(part.call)
        if message.role == "assistant" and number and conversation.messages[number - 1].role == "assistant":
            before += message.calls  # one turn, sent back in pieces
        elif message.role == "assistant" or not message.answers:
            before = list(message.calls)
        else:
            before = waiting


API = Api(
    name="gemini",
    list_field="contents",
    system_fields=("systemInstruction", "system_instruction"),
    messages=Interned(read_content),
    systems=Interned(read_system),
    text_message=text_message,
    text_block=text_block,
    usage=usage,
    replies=replies,
    whole=whole,
    max_output=max_output,
    shorter=shorter,
    check=check,
    system_value=lambda text: {"parts": [{"text": text}]},
    system_messages=False,
    provider="gcp.gemini",
    names_model=False,
    calls_after_user=True,
    references=(b'"inlineData"', b'"inline_data"', b'"fileData"', b'"file_data"'),
)
