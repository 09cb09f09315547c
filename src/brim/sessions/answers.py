"""Reads what came back from a model, in any form a caller may have: the reported input tokens, and the messages."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any

from brim import apis
from brim.apis import Api
from brim.apis.api import name_of
from brim.apis.event_fields import inner, text_of
from brim.conversation import Message, decode
from brim.errors import BadBody, BadInput
from brim.sessions.validation import encoded

TAKEN = (
    "a response or the chunks of a stream (dicts or SDK objects), an assistant message, text, "
    "usage, or a number of input tokens"
)
# Fields that hold usage, for callers who give nothing else.
_USAGES = ("usage", "usageMetadata")
_FAILED = ("error", "response.failed")


def came_back(response: Any, api: str) -> tuple[int | None, list[Message]]:
    """The reported input tokens of a response, and its messages. Raises BadInput for anything else.

    Example: came_back("All right.", "openai_chat") -> (None, [the assistant's message])
    """
    if isinstance(response, apis.Usage):
        return response.input, []
    if isinstance(response, int) and not isinstance(response, bool) and response >= 0:
        return response, []
    if isinstance(response, str) and response:
        return None, [apis.text_message(api, "assistant", response)]
    spec = apis.APIS[api]
    if isinstance(response, Mapping) or hasattr(response, "model_dump"):
        return _of_object(_plain(response), spec)
    if isinstance(response, Iterable) and not isinstance(response, (str, bytes, bytearray, memoryview)):
        return _of_list([piece if isinstance(piece, str) else _plain(piece) for piece in response], spec)
    raise BadInput("response", f"must be {TAKEN}, not {_shown(response)}")


async def collected(response: Any) -> Any:
    """The chunks of an async stream; anything else unchanged."""
    if isinstance(response, AsyncIterable):
        return [piece async for piece in response]
    return response


def _of_list(pieces: list[Any], spec: Api) -> tuple[int | None, list[Message]]:
    """Read pieces of text, chunks of a stream, or messages."""
    if not pieces:
        raise BadInput("response", "is empty: give the chunks that you read from the stream, not the stream afterwards")
    if all(isinstance(piece, str) for piece in pieces):
        return came_back("".join(pieces) or None, spec.name)
    for number, piece in enumerate(pieces):
        if not isinstance(piece, dict):
            raise BadInput(f"response[{number}]", f"must be a chunk of a stream or a message, not {_shown(piece)}")
        _check_failure(piece)
    whole = _read(spec.whole(pieces), spec)
    if whole is not None:
        return whole
    messages = [_message(piece, spec) for piece in pieces]
    if all(messages):
        return None, [message for message in messages if message is not None]
    raise BadInput("response", _unusable(pieces, spec))


def _of_object(body: dict[str, Any], spec: Api) -> tuple[int | None, list[Message]]:
    """Read a response, one chunk, a message, or only the usage of a response."""
    _check_failure(body)
    for answer in (body, spec.whole([body]), *({name: body} for name in _USAGES)):
        found = _read(answer, spec)
        if found is not None:
            return found
    foreign = any(other.replies(body) and other.usage(body) for other in apis.APIS.values() if other is not spec)
    message = None if foreign else _message(body, spec)
    if message is None:
        raise BadInput("response", _unusable([body], spec))
    return None, [message]


def _read(body: Mapping[str, Any], spec: Api) -> tuple[int | None, list[Message]] | None:
    """The content of a whole response; None if it is empty."""
    usage, replies = spec.usage(body), spec.replies(body)
    if usage is None and not replies:
        return None
    return usage.input if usage else None, [
        spec.messages.get(encoded("response", reply), "response") for reply in replies
    ]


def _message(value: dict[str, Any], spec: Api) -> Message | None:
    """The assistant's message, or one of its items; None for anything else."""
    if text_of(value, "type").startswith("response."):
        return None  # an event, which one API would mistake for an unknown item
    try:
        found = spec.messages.get(encoded("response", value), "response")
    except BadBody:
        return None
    return found if found.role == "assistant" and found.parts else None


def _check_failure(event: Mapping[str, Any]) -> None:
    kind = text_of(event, "type")
    error = inner(event, "error") or inner(inner(event, "response"), "error")
    if kind not in _FAILED and not error:
        return
    said = text_of(error, "message") or text_of(event, "message") or text_of(error, "code") or "no reason is given"
    raise BadInput("response", f"is an error of the provider ({said}): nothing of it is recorded")


def _unusable(pieces: list[dict[str, Any]], spec: Api) -> str:
    """Why these objects aren't an answer in this API, and what to do."""
    for other in apis.APIS.values():
        if other is not spec and (other.replies(pieces[0]) or other.replies(other.whole(pieces))):
            return f"speaks {other.name}, and this session {spec.name}: make the session with api={other.name!r}"
    role = text_of(pieces[0], "role")
    if role:
        return f"is a message in the role of {role!r}: give what is not the model's to `say`"
    keys = ", ".join(list(pieces[0])[:6]) or "nothing"
    return f"holds no answer and no usage (it has {keys}): give {TAKEN}"


def _plain(given: Any) -> Any:
    """Convert a mapping or SDK object to JSON values."""
    if isinstance(given, Mapping) or hasattr(given, "model_dump"):
        return decode(encoded("response", given))
    return given


def _shown(given: Any) -> str:
    return repr(given) if isinstance(given, (int, float, str)) and not isinstance(given, bool) else name_of(given)
