"""Compaction requests of Responses clients, and the item that answers them.

A client ends its input with a `compaction_trigger`, or posts the input to `/responses/compact`. It gets back a
`compaction` item, and from then on sends that in place of what it replaced. Brim's item holds the lines of the
compacted conversation; before forwarding a request, Brim turns the item into a message that any model can read.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from brim.apis.recall_dialect import event_bytes
from brim.conversation import Message, decode, encode

TRIGGER: Final = "compaction_trigger"
MARK: Final = "brim-compaction:1:"
HEADER: Final = "[Summary of this conversation so far; the messages that it stands for are archived]"
# Characters of a message that the summary repeats when the request also has all of it.
SHOWN: Final = 160
Spoken = tuple[str, str]
_KINDS: Final = ("compaction", "compaction_summary")
# Matches compact and spaced JSON; inside a text the quotes would be escaped.
_TRIGGER: Final = re.compile(rb'"type"\s*:\s*"%b"' % TRIGGER.encode())
_ITEM: Final = re.compile(rb'"type"\s*:\s*"(?:compaction|compaction_summary)"')
_lines: Final = msgspec.json.Decoder(list[Spoken])


def asks(content: bytes) -> bool:
    """A quick check whether a body may end in a trigger; `without_trigger` decides."""
    return _TRIGGER.search(content) is not None


def holds_item(content: bytes) -> bool:
    """Whether an answer has the item that was asked for."""
    return _ITEM.search(content) is not None


def holds_ours(content: bytes) -> bool:
    """Whether a body has an item that Brim made."""
    return MARK.encode() in content


def without_trigger(items: Any) -> list[Any] | None:
    """The input that a trigger asks to compact; None if the input doesn't end in one."""
    if not isinstance(items, list) or not items or not isinstance(items[-1], dict):
        return None
    return items[:-1] if items[-1].get("type") == TRIGGER else None


def lines_of(messages: Iterable[Message]) -> list[Spoken]:
    """A conversation as lines of who said what, without the instructions, which the client keeps."""
    found: list[Spoken] = []
    for message in messages:
        for part in message.parts:
            text = f"{part.name}({part.text})" if part.kind == "call" else part.text
            if part.kind in ("text", "call", "result") and text and message.role != "system":
                found.append((message.role if part.kind == "text" else part.kind, text))
    return found


def item(lines: Sequence[Spoken]) -> dict[str, str]:
    """The item that stands for the lines. Example: [("user", "hello")] -> {"type": "compaction", …}"""
    content = MARK + b64encode(encode(list(lines))).decode()
    id = f"cmp_{sha256(content.encode()).hexdigest()[:32]}"
    return {"type": "compaction", "id": id, "encrypted_content": content}


def opened(value: Any, role: str = "user") -> Any:
    """A body, or its input, with Brim's items turned into messages; items of the provider stay.

    Clients are free to change an item before they send it back; it is their own content.
    """
    if isinstance(value, dict):
        return {**value, "input": opened(value.get("input"), role)} if "input" in value else value
    if not isinstance(value, list):
        return value
    whole = {text for one in value if isinstance(one, dict) for text in _texts(one)}
    return [_message(lines, whole, role) if (lines := _ours(one)) is not None else one for one in value]


def _ours(item: Any) -> list[Spoken] | None:
    if not isinstance(item, dict) or item.get("type") not in _KINDS:
        return None
    content = item.get("encrypted_content")
    if not isinstance(content, str) or not content.startswith(MARK):
        return None
    try:
        return _lines.decode(b64decode(content[len(MARK) :], validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return None


def _message(lines: list[Spoken], whole: set[str], role: str) -> dict[str, Any]:
    """A message that holds the lines. User messages that the client still sends are only mentioned."""
    told = [
        f"{who}: {text[:SHOWN]}…" if who == "user" and text in whole and len(text) > SHOWN else f"{who}: {text}"
        for who, text in lines
        if not text.startswith(HEADER)
    ]
    earlier = [text for _, text in lines if text.startswith(HEADER)]
    kind = "output_text" if role == "assistant" else "input_text"
    text = "\n\n".join([*(earlier or [HEADER]), *told])
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _texts(item: dict[str, Any]) -> list[str]:
    content = item.get("content")
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]


def from_user(items: Iterable[Any]) -> list[Any]:
    """The messages that a user wrote: `/responses/compact` gives them back beside the item."""
    return [one for one in items if isinstance(one, dict) and one.get("role") == "user"]


def answer(id: str, model: str, at: int, output: list[Any], usage: tuple[int, int], kind: str) -> dict[str, Any]:
    """The whole answer. `kind` is its `object`: "response", or "response.compaction" at `/responses/compact`."""
    taken, said = usage
    told = {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": taken + said,
    }
    known = {"id": f"resp_{id}", "object": kind, "created_at": at, "output": output, "usage": told}
    return known if kind != "response" else {**known, "model": model, "status": "completed"}


def events(whole: dict[str, Any]) -> bytes:
    """The answer as server-sent events."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    (made,) = whole["output"]
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": made},
        {"type": "response.output_item.done", "output_index": 0, "item": made},
        {"type": "response.completed", "response": whole},
    ]
    return b"".join(event_bytes({**one, "sequence_number": n}, named=True) for n, one in enumerate(told))


def read(content: bytes) -> dict[str, Any]:
    """A body as a value; one that cannot be read is empty."""
    try:
        value = decode(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
