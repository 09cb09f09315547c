"""The model of a request in any API: messages made of parts, with digests of their content.

A message keeps its original JSON (`raw`); its parts only point into it (`at`). So an unchanged message is sent with its
original bytes, and a changed one differs only where it was changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from brim.sized_lru import SizedLru

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["text", "image", "audio", "file", "call", "result", "thinking", "opaque"]
Path = tuple[str | int, ...]


class Part(msgspec.Struct, frozen=True, gc=False):
    """The smallest unit of a message.

    `at` is the path of its readable leaf inside the message, `block` the path of the whole block to remove with it.
    `call` links a tool call to its results. A `fixed` part is kept byte for byte or dropped, never altered.
    """

    kind: Kind
    at: Path
    block: Path
    text: str = ""
    name: str = ""
    call: str = ""
    fixed: bool = False
    json: bool = False  # the leaf is a JSON value (tool-call arguments), and `text` is its JSON


class Message(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A message of a conversation, or the system field. Equal bytes share one object: see `Interned`."""

    role: Role
    parts: tuple[Part, ...]
    raw: bytes  # its original JSON
    told_digest: bytes = b""
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    plain: bool = False  # only a role and a single text

    @property
    def digest(self) -> bytes:
        """The result of `digest`, set by the parser or computed on first use."""
        if not self.told_digest:
            msgspec.structs.force_setattr(self, "told_digest", digest(self.role, self.parts))
        return self.told_digest

    @property
    def value(self) -> Any:
        """The message as a new JSON value, which the caller may change."""
        return decode(self.raw)

    @property
    def text(self) -> str:
        """All readable text in it, for ranking and for people."""
        if len(self.parts) == 1:
            return self.parts[0].text
        return "\n".join(part.text for part in self.parts if part.text)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A parsed request: the content to plan (`system`, `messages`) and the other fields of its body (`fields`)."""

    api: str
    messages: tuple[Message, ...]
    system: Message | None = None
    tools: bytes | None = None
    fields: Mapping[str, bytes] = field(default_factory=dict)
    model: str = ""
    max_output: int | None = None
    beside: bool = False  # whether some fields were given separately from the body
    asked_output: int | None = None  # the original value of the request if `max_output` was changed
    window: int | None = None  # the context window set in the request, if its API supports that
    lead: int = 0  # number of leading messages given outside the list: instructions in an API without a field for them

    def prefix_digests(self) -> list[bytes]:
        """Digests of everything before message 1, before message 2, …, and of the whole: n + 1 of them."""
        state = hashlib.sha256(self.api.encode())
        for head in (self.tools or b"", self.system.digest if self.system else b""):
            state.update(hashlib.sha256(head).digest())
        chain = [state.digest()]
        for message in self.messages:
            chain.append(hashlib.sha256(chain[-1] + message.digest).digest())
        return chain


def digest(role: str, parts: Iterable[Part], blobs: Iterable[bytes] = ()) -> bytes:
    """SHA-256 of a message's role and its parts' content, without positions and ids.

    `blobs` are the bytes of media and unknown blocks, in order.
    """
    content = [role, [[part.kind, part.name, part.text] for part in parts]]
    state = hashlib.sha256(encode(content))
    for blob in blobs:
        state.update(hashlib.sha256(blob).digest())
    return state.digest()


class Interned:
    """A cache of parsed messages by their bytes, so that a known message costs one lookup.

    The limit only covers this cache. Sessions and turns also hold messages; these are the same objects while cached.
    """

    def __init__(self, parse: Callable[[bytes, str], Message], limit: int = 18 << 20) -> None:
        self._parse = parse
        self._seen: SizedLru[bytes, Message] = SizedLru(limit)

    def get(self, raw: bytes, at: str) -> Message:
        return self._seen.get(raw) or self._seen.put(raw, self._parse(raw, at), _held(raw))

    def get_all(self, raws: Sequence[bytes], field: str, places: Sequence[int] | None = None) -> list[Message]:
        """Parse the messages of a list. Errors give the name of the list, `field`, and the index of the message."""
        places = range(len(raws)) if places is None else places
        new: dict[bytes, Message] = {}
        found: list[Message] = []
        for number, message in enumerate(self._seen.get_all(raws)):
            if message is None:
                raw = raws[number]
                message = new.get(raw) or new.setdefault(raw, self._parse(raw, f"{field}[{places[number]}]"))
            found.append(message)
        self._seen.put_all((raw, message, _held(raw)) for raw, message in new.items())
        return found


def _held(raw: bytes) -> int:
    """The approximate size of a parsed message in bytes."""
    return 2 * len(raw) + 700


def encode(value: Any) -> bytes:
    """JSON bytes of a value; objects with `model_dump` (SDK types) are dumped."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:  # lone surrogates are valid in Python and in JSON escapes, but not in UTF-8
        if isinstance(value, (list, tuple)):  # other elements must have the same bytes as elsewhere
            return b"[" + b",".join(encode(item) for item in value) + b"]"
        return json.dumps(value, default=_plain, separators=(",", ":")).encode()


def decode(raw: bytes) -> Any:
    """The JSON value of bytes, which may have lone surrogates. Raises ValueError or RecursionError."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(raw, parse_constant=_no_number)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True, by_alias=True)
    if isinstance(value, str):
        return str(value)  # a subclass
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def leaf(value: Any, at: Path) -> Any:
    """The value at a path. Example: leaf({"content": [{"text": "hi"}]}, ("content", 0, "text")) -> "hi"."""
    for step in at:
        value = value[step]
    return value


DROP = object()


def changed(value: Any, edits: Mapping[Path, Any]) -> Any:
    """`value` with the leaves at some paths replaced, or removed if the edit is DROP; modifies `value`.

    Removals inside a list go from back to front, so that other paths stay valid.
    """
    for at, new in sorted(edits.items(), key=lambda edit: _order(edit[0]), reverse=True):
        if not at:
            value = new
            continue
        holder = leaf(value, at[:-1])
        if new is DROP:
            del holder[at[-1]]
        else:
            holder[at[-1]] = new
    return value


def _order(at: Path) -> tuple[tuple[int, str, int], ...]:
    return tuple((0, "", step) if isinstance(step, int) else (1, step, 0) for step in at)


def show(at: Path, root: str = "") -> str:
    """A path as people write it. Example: ("messages", 3, "content") -> "messages[3].content"."""
    text = root
    for step in at:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
