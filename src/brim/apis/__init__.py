"""Request bodies in, conversations out, and back: one file a wire format.

`parse` takes a body as bytes or as a dict, or a bare list of messages; `render` gives back the same type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from brim.apis import ollama
from brim.apis.anthropic import messages as anthropic
from brim.apis.api import Api, Usage, check_depth, name_of, parse_json
from brim.apis.detect import sniff
from brim.apis.gemini import messages as gemini
from brim.apis.message_lists import Lists
from brim.apis.openai_chat import messages as openai_chat
from brim.apis.openai_responses import messages as openai_responses
from brim.conversation import Conversation, Message, decode, encode
from brim.errors import BadBody
from brim.models import Model
from brim.sized_lru import SizedLru

__all__ = [
    "APIS",
    "Api",
    "Body",
    "Usage",
    "api_of",
    "is_bare",
    "parse",
    "render",
    "sniff",
    "text_message",
    "usage",
    "value_of",
    "with_output",
]

Body = bytes | Mapping[str, Any] | Sequence[Any]
APIS: dict[str, Api] = {
    module.API.name: module.API for module in (openai_chat, openai_responses, anthropic, gemini, ollama)
}
# The field name under which a bare list of messages (no body around it) is kept.
_BARE = ""
# Values of `tools` and `system` that mean "none".
_EMPTY = (b"null", b"[]")
_good_tools: SizedLru[bytes, bool] = SizedLru(8 << 20)
_lists = Lists()
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])


def api_of(name: str) -> Api:
    if name not in APIS:
        raise BadBody("api", f"{name!r} is not one of {', '.join(APIS)}")
    return APIS[name]


def parse(
    body: Body,
    api: str | None = None,
    *,
    model: str | Model = "",
    tools: Any = None,
    system: Any = None,
    tool_choice: Any = None,
) -> Conversation:
    """Read a request. Raises BadBody, naming the place, if it isn't a valid request of its API.

    `tools`, `system` and `tool_choice` replace those fields of the body. Where the API has no field for
    instructions, `system` is a first message.
    """
    fields = _split(body)
    if not fields:
        raise BadBody("body", "is an empty object: a request needs messages")
    bare = is_bare(body)
    name = api or sniff(fields if bare else {key: raw for key, raw in fields.items() if key}, model, system)
    spec = api_of(name)
    if bare:
        fields = {spec.list_field: fields[_BARE]}
    if spec.list_field not in fields:
        raise BadBody(spec.list_field, "is missing: a request needs it")
    for key, value in (("tools", tools), ("tool_choice", tool_choice)):
        if value is not None:
            fields[key] = _encoded(value, key)
    system_field = next((key for key in spec.system_fields if key in fields), None)
    if system is not None and spec.system_fields:
        system_field = system_field or spec.system_fields[0]
        fields[system_field] = _encoded(_instructions(spec, system), "system")
    # The messages already hold these bytes; keeping the list too would double the memory of every conversation.
    listed = fields.pop(spec.list_field)
    messages = _messages(spec, listed)
    if spec.begins is not None and (cut := spec.begins(messages)):
        messages = messages[cut:]
    lead = () if system is None or spec.system_fields else (_first_message(spec, system),)
    settings = _small(fields, spec.list_field)
    conversation = Conversation(
        api=name,
        messages=(*lead, *messages) if lead else messages,
        system=_system(spec, fields, system_field),
        tools=_tools(fields.get("tools")),
        fields=fields,
        model=_text(fields, "model") or (model.name if isinstance(model, Model) else model),
        max_output=spec.max_output(settings),
        window=spec.window(settings) if spec.window is not None else None,
        beside=not (tools is None and system is None and tool_choice is None),
        lead=len(lead),
    )
    spec.check(conversation)
    return conversation


def is_bare(body: Body) -> bool:
    """Whether the caller gave a list of messages (objects or JSON) rather than a whole body."""
    if isinstance(body, str):
        return body.lstrip()[:1] == "["
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body).lstrip()[:1] == b"["
    return not isinstance(body, Mapping)


def _split(body: Body) -> dict[str, bytes]:
    """The top-level fields of a body as JSON bytes; a bare list becomes the field ''."""
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if isinstance(body, Mapping):
        return {str(key): _encoded(value, str(key)) for key, value in body.items()}
    if not isinstance(body, (bytes, bytearray, memoryview)):
        if not isinstance(body, Iterable):
            raise BadBody("body", f"must be a request, not {name_of(body)}")
        return {_BARE: _encoded(list(body), "messages")}
    body = bytes(body)
    if is_bare(body):
        return {_BARE: body}
    try:
        return {key: bytes(raw) for key, raw in _fields.decode(body).items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = parse_json(body, "body")
    if not isinstance(value, dict):
        raise BadBody("body", f"must be a JSON object, not {name_of(value)}")
    return {key: encode(inner) for key, inner in value.items()}


def _encoded(value: Any, at: str) -> bytes:
    """Encode whatever object the caller gave as JSON."""
    try:
        return encode(value)
    except RecursionError:
        raise BadBody(at, "is nested too deep, or holds itself") from None
    except (TypeError, ValueError, OverflowError) as problem:
        raise BadBody(at, str(problem)) from None


def _items(raw: bytes, root: str) -> list[bytes]:
    """The elements of a JSON list, each as its bytes."""
    try:
        return list(map(bytes, _list.decode(raw)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = parse_json(raw, root)
    if not isinstance(value, list):
        raise BadBody(root, f"must be a list of messages, not {name_of(value)}")
    return [encode(item) for item in value]


def _tools(raw: bytes | None) -> bytes | None:
    """The tools of a request, checked to be a list of objects that isn't nested too deep."""
    if raw is None or raw in (b"null", b"[]"):
        return None
    if _good_tools.get(raw) is None:
        value = parse_json(raw, "tools")
        if not isinstance(value, list):
            raise BadBody("tools", f"must be a list, not {name_of(value)}")
        for number, tool in enumerate(value):
            if not isinstance(tool, dict):
                raise BadBody(f"tools[{number}]", f"must be an object, not {name_of(tool)}")
        check_depth(value, "tools")
        _good_tools.put(raw, True, len(raw))
    return raw


def _messages(spec: Api, raw: bytes) -> tuple[Message, ...]:
    if raw[:1] == b'"' and spec is openai_responses.API:
        return (spec.messages.get(raw, spec.list_field),)
    found = _lists.read(spec, raw)
    if found is not None:
        return found
    return tuple(spec.messages.get_all(_items(raw, spec.list_field), spec.list_field))


def _loose(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw


def _system(spec: Api, fields: Mapping[str, bytes], key: str | None) -> Message | None:
    if key is None or spec.systems is None or fields[key] == b"null":
        return None
    return spec.systems.get(fields[key], key)


def _instructions(spec: Api, system: Any) -> Any:
    """Instructions in the form that the API's system field takes; Gemini wants an object with parts."""
    return {"parts": [{"text": system}]} if spec is gemini.API and isinstance(system, str) else system


def _first_message(spec: Api, system: Any) -> Message:
    """Instructions as a message, for APIs that have no field for them."""
    said = isinstance(system, Mapping) and "role" in system
    message = spec.messages.get(_encoded(system if said else {"role": "system", "content": system}, "system"), "system")
    if message.role != "system":
        raise BadBody("system.role", f"must be that of instructions, not {message.role!r}")
    return message


def _text(fields: Mapping[str, bytes], key: str) -> str:
    value = _loose(fields[key]) if key in fields else ""
    return value if isinstance(value, str) else ""


def _small(fields: Mapping[str, bytes], content: str) -> dict[str, Any]:
    """The fields that hold settings rather than content."""
    return {key: _loose(raw) for key, raw in fields.items() if len(raw) < 4096 and key != content}


def value_of(conversation: Conversation) -> dict[str, Any]:
    """A whole request as a JSON value, its messages last. Example: the conversation of a body -> the body"""
    spec = APIS[conversation.api]
    listed = [decode(message.raw) for message in conversation.messages]
    alone = len(listed) == 1 and isinstance(listed[0], str)
    return {
        **{key: decode(raw) for key, raw in conversation.fields.items()},
        spec.list_field: listed[0] if alone else listed,
    }


def with_output(body: Body, conversation: Conversation, most: int) -> tuple[Any, Conversation]:
    """The same request with a new limit on the length of its answer."""
    spec = APIS[conversation.api]
    changes = spec.shorter(_small(conversation.fields, spec.list_field), most)
    raws = {key: encode(value) for key, value in changes.items()}
    asked = conversation.asked_output or conversation.max_output
    read = replace(conversation, max_output=most, asked_output=asked, fields={**conversation.fields, **raws})
    if isinstance(body, Mapping):
        return {**body, **changes}, read
    text = isinstance(body, str)
    whole = {**_split(body), **raws}
    made = b"{" + b",".join(encode(key) + b":" + raw for key, raw in whole.items()) + b"}"
    return made.decode("utf-8", "surrogatepass") if text else made, read


def render(conversation: Conversation, body: Body, parsed: Conversation | None = None) -> Any:
    """Write a conversation as the same type as `body`, every untouched message byte for byte.

    `parsed` is the conversation that `body` was read into, if the caller still has it.
    """
    spec = APIS[conversation.api]
    if isinstance(body, str):
        return render(conversation, body.encode("utf-8", "surrogatepass"), parsed).decode("utf-8", "surrogatepass")
    if isinstance(body, (bytes, bytearray, memoryview)):
        return _render_bytes(conversation, spec, bytes(body), parsed)
    if isinstance(body, Mapping):
        return _render_fields(conversation, spec, body, parsed)
    return _objects(conversation.messages, body, parsed)


def _render_bytes(conversation: Conversation, spec: Api, body: bytes, parsed: Conversation | None) -> bytes:
    fields = _split(body)
    if is_bare(body):
        raws = [message.raw for message in conversation.messages]
        return body if _listed(fields[_BARE], spec, parsed) == raws else _join(raws)
    new = _new_fields(conversation, spec, fields, parsed)
    if not new:
        return body
    merged = {**fields, **new}
    return b"{" + b",".join(encode(key) + b":" + raw for key, raw in merged.items() if raw is not None) + b"}"


def _listed(old: bytes, spec: Api, parsed: Conversation | None) -> list[bytes]:
    """The bytes of each message in a body; the list is split only if nobody has read it yet."""
    if parsed is not None:
        return [message.raw for message in parsed.messages[parsed.lead :]]
    return [old] if old[:1] == b'"' else _items(old, spec.list_field)


def _new_fields(
    conversation: Conversation, spec: Api, fields: Mapping[str, bytes], parsed: Conversation | None
) -> dict[str, bytes | None]:
    """The top-level fields that changed since the body was read; None for those that were removed."""
    new: dict[str, bytes | None] = {}
    raws = [message.raw for message in conversation.messages]
    listed = _listed(fields.get(spec.list_field, b""), spec, parsed)
    if raws != listed:
        alone = listed[:1] and listed[0][:1] == b'"'
        same = alone and len(raws) == 1 and raws[0][:1] == b'"'
        new[spec.list_field] = raws[0] if same else _join([_as_item(spec, raw) for raw in raws] if alone else raws)
    key = next((key for key in spec.system_fields if key in fields), (spec.system_fields or ("",))[0])
    system = conversation.system.raw if conversation.system is not None else None
    for name, raw in ((key, system), ("tools", conversation.tools)):
        if not name:
            continue  # an API without a system field
        old = fields.get(name, _EMPTY[0])
        if raw != old and not (raw is None and old in _EMPTY):
            new[name] = raw
    choice = conversation.fields.get("tool_choice")
    if conversation.beside and choice is not None and choice != fields.get("tool_choice"):
        new["tool_choice"] = choice
    return new


def _as_item(spec: Api, raw: bytes) -> bytes:
    """Turn an input that was one string into a message item, so that other items can stand beside it."""
    return encode(spec.text_message("user", decode(raw))) if raw[:1] == b'"' else raw


def _join(raws: list[bytes]) -> bytes:
    return b"[" + b",".join(raws) + b"]"


def _render_fields(conversation: Conversation, spec: Api, body: Mapping[str, Any], parsed: Conversation | None) -> Any:
    # Reuse the body's own bytes unless it had to be read as something else.
    fields = _split(body) if parsed is None or parsed.beside else parsed.fields
    new = _new_fields(conversation, spec, fields, parsed)
    if not new:
        return body
    out = dict(body)
    for key, raw in new.items():
        if raw is None:
            del out[key]
        elif key == spec.list_field and isinstance(body[key], Sequence) and not isinstance(body[key], str):
            out[key] = _objects(conversation.messages, body[key], parsed)
        else:
            out[key] = decode(raw)
    return out


def _objects(messages: Sequence[Message], given: Iterable[Any], parsed: Conversation | None) -> list[Any]:
    """Messages as objects: untouched ones are the caller's own objects, the rest are new."""
    given = list(given)
    if parsed is not None and len(parsed.messages) - parsed.lead == len(given):
        own = dict(zip(map(id, parsed.messages[parsed.lead :]), given, strict=True))
        return [own[key] if (key := id(message)) in own else message.value for message in messages]
    mine = {encode(item): item for item in given}
    return [mine[raw] if (raw := message.raw) in mine else message.value for message in messages]


def text_message(api: str, role: Any, text: str) -> Message:
    """A new message that says `text`, in the form of an API."""
    spec = APIS[api]
    return spec.messages.get(encode(spec.text_message(role, text)), "new message")


def usage(response: Mapping[str, Any], api: str | None = None) -> Usage | None:
    """The usage that a response reports; None if it reports none."""
    if api is not None:
        return api_of(api).usage(response)
    for spec in APIS.values():
        found = spec.usage(response)
        if found is not None and not (spec is openai_responses.API and _is_anthropic(response)):
            return found
    return None


def _is_anthropic(response: Mapping[str, Any]) -> bool:
    found = response.get("usage")
    return isinstance(found, Mapping) and ("cache_read_input_tokens" in found or response.get("type") == "message")
