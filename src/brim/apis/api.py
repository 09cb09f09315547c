"""The description of one API: where a body keeps its messages, and how to read and write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.conversation import Conversation, Interned, Message, Part, Path, Role, decode, digest, encode, show
from brim.errors import BadBody, TooDeep
from brim.settings import ContextManagement

MAX_DEPTH = 48
# How many steps of the path an error about deep nesting shows; more would not help.
SHOWN_DEPTH = 6
# Prefix for the ids of old-style function calls; the API never required an answer to each of those.
UNASKED = "function:"


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage a provider reports. `input` is the whole prompt, cached tokens included."""

    input: int
    output: int = 0
    cached: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class Api:
    """One provider API. To add one, write a file that makes one of these."""

    name: str
    list_field: str
    system_fields: tuple[str, ...]
    messages: Interned
    systems: Interned | None
    text_message: Callable[[Role, str], Any]
    text_block: Callable[[str], Any]
    usage: Callable[[Mapping[str, Any]], Usage | None]
    replies: Callable[[Mapping[str, Any]], list[Any]]
    # Puts the events of a stream together into the whole answer.
    whole: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]
    max_output: Callable[[Mapping[str, Any]], int | None]
    check: Callable[[Conversation], None]
    # The fields to change to limit the answer to this many tokens.
    shorter: Callable[[Mapping[str, Any], int], dict[str, Any]]
    # The window that a request sets for itself, if the API allows that.
    window: Callable[[Mapping[str, Any]], int | None] | None = None
    # Writes instructions as the value of their field.
    system_value: Callable[[str], Any] = str
    # Whether instructions may also be messages in the list, rather than only in their own field.
    system_messages: bool = True
    # The provider's name in telemetry.
    provider: str = "openai"
    streams_unasked: bool = False
    # Whether the body names the model; otherwise the path does.
    names_model: bool = True
    # Whether the first message must be the user's, and whether results must directly follow their calls.
    user_first: bool = False
    adjacent_results: bool = False
    # Whether calls are refused right behind another message of the model, and whether the last answer with calls is
    # where it has lost the thoughts that it began with.
    calls_after_user: bool = False
    calls_keep_thoughts: bool = False
    # Whether requests mark what to cache; otherwise the provider caches every prefix by itself.
    marks_cache: bool = False
    # Whether an answer may report that the provider edited the context.
    edits_context: bool = False
    # Builds the request for that: the value of `context_management` and the beta header entries.
    context_options: Callable[[ContextManagement], tuple[Any, tuple[str, ...]]] | None = None
    # Finds the first message that counts: the provider drops everything before its own summary.
    begins: Callable[[Sequence[Message]], int] | None = None
    # Whether a client may ask for its conversation to be compacted.
    compacts: bool = False
    # Whether a stream that began well may still report an overflow.
    streams_overflow: bool = False
    # Fields that refer to content outside the body, whose tokens the size of the body says nothing about.
    references: tuple[bytes, ...] = ()


class Reader:
    """Collects the parts of one message and raises errors that name the place."""

    def __init__(self, raw: bytes, root: str) -> None:
        self.raw = raw
        self.root = root
        self.parts: list[Part] = []
        self.blobs: list[bytes] = []
        self.value = parse_json(raw, root)
        if isinstance(self.value, (dict, list)) and raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
            check_depth(self.value, root)

    def bad(self, at: Path, problem: str) -> BadBody:
        return BadBody(show(at, self.root), problem)

    def want(self, value: Any, kind: type, at: Path, what: str) -> Any:
        if not isinstance(value, kind):
            raise self.bad(at, f"must be {what}, not {name_of(value)}")
        return value

    def add(self, part: Part, blob: Any = None) -> None:
        self.parts.append(part)
        if blob is not None:
            self.blobs.append(blob if isinstance(blob, bytes) else canonical(blob))

    def also(self, more: Any) -> None:
        """Add something other than the parts to the message's digest."""
        if more:
            self.blobs.append(canonical(more))

    def text(self, holder: Any, key: str | int, at: Path, block: Path, **more: Any) -> None:
        """Add the string at holder[key] as a part; raise if it isn't a string."""
        value = holder.get(key) if isinstance(holder, dict) else holder[key]
        text = self.want(value, str, (*at, key), "text")
        self.add(Part(more.pop("kind", "text"), (*at, key), block, text, **more))

    def opaque(self, block: Any, at: Path, **more: Any) -> None:
        """Add a block that passes through as it is."""
        self.add(Part(more.pop("kind", "opaque"), at, at, fixed=True, **more), block)

    def message(self, role: Role) -> Message:
        calls = tuple(part.call for part in self.parts if part.kind == "call")
        answers = tuple(part.call for part in self.parts if part.kind == "result")
        return Message(role, tuple(self.parts), self.raw, digest(role, self.parts, self.blobs), calls, answers)


def canonical(value: Any) -> bytes:
    """Bytes that identify a block regardless of its key order and of cache breakpoints."""
    return encode(_ordered(value))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value) if key != "cache_control"}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def tokens_at(holder: Any, *path: str) -> int:
    """The number at a path of a usage record; 0 if there is none. Example: ({"a": {"b": 3}}, "a", "b") -> 3"""
    for key in path:
        holder = holder.get(key) if isinstance(holder, dict) else None
    return holder if type(holder) is int and holder > 0 else 0


def name_of(value: Any) -> str:
    """The JSON name of a value's type, for messages to people."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def parse_json(raw: bytes, root: str) -> Any:
    try:
        return decode(raw)
    except RecursionError:
        raise TooDeep(root, MAX_DEPTH) from None
    except UnicodeDecodeError as problem:
        raise BadBody(root, f"is not UTF-8 (byte {problem.start})") from None
    except ValueError as problem:
        raise BadBody(root, f"is not JSON ({problem})") from None


def check_depth(value: Any, root: str) -> None:
    """Reject JSON nested deeper than any API accepts, and say where."""
    level: list[tuple[Path, Any]] = [((), value)]
    for _ in range(MAX_DEPTH):
        level = [((*at, key), inner) for at, holder in level for key, inner in _children(holder)]
        if not level:
            return
    raise TooDeep(show(level[0][0][:SHOWN_DEPTH], root), MAX_DEPTH)


def _children(holder: Any) -> list[tuple[str | int, Any]]:
    pairs: Any = holder.items() if isinstance(holder, dict) else enumerate(holder)
    return [(key, inner) for key, inner in pairs if isinstance(inner, (dict, list))]


def check_pairs(conversation: Conversation) -> None:
    """Check that every tool result follows its call, and that no id is used twice at once."""
    open_calls: set[str] = set()
    for number, message in enumerate(conversation.messages):
        if not message.calls and not message.answers:
            continue
        results: dict[str, Part] = {}
        for part in message.parts:
            if part.kind == "call" and part.call:
                if part.call in open_calls and not part.call.startswith(UNASKED):
                    raise BadBody(place(conversation, number, part), f"a second call has the id {part.call!r}")
                open_calls.add(part.call)
            elif part.kind == "result" and part.call:
                first = results.setdefault(part.call, part)
                # One block may hold several parts of a result; a tool message is one result, whatever its blocks.
                if first.block != part.block and message.role != "tool":
                    raise BadBody(place(conversation, number, part), f"a second result answers {part.call!r}")
        for call, part in results.items():
            if call not in open_calls and not call.startswith(UNASKED):
                raise BadBody(place(conversation, number, part), f"answers the call {call!r}, which is not before it")
        open_calls.difference_update(results)


def place(conversation: Conversation, number: int, part: Part) -> str:
    root = {"gemini": "contents", "openai_responses": "input"}.get(conversation.api, "messages")
    return show(part.block, f"{root}[{number - conversation.lead}]")
