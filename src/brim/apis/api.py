"""What a wire format is: where a body keeps its messages, and how one of them is read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.conversation import Conversation, Interned, Message, Part, Path, Role, decode, digest, encode, show
from brim.errors import BadBody, TooDeep
from brim.settings import ContextManagement

MAX_DEPTH = 48
# The steps of a path that tell where JSON is nested too deep; further ones say nothing more.
SHOWN_DEPTH = 6
# How the calls of the older function messages are named: the API never asked that each has its answer.
UNASKED = "function:"


@dataclass(frozen=True, slots=True)
class Usage:
    """What the provider says a request took. `input` holds all of the prompt, cached and written included."""

    input: int
    output: int = 0
    cached: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class Api:
    """One wire format. A new one is one file that makes one of these."""

    name: str
    list_field: str
    system_fields: tuple[str, ...]
    messages: Interned
    systems: Interned | None
    text_message: Callable[[Role, str], Any]
    text_block: Callable[[str], Any]
    usage: Callable[[Mapping[str, Any]], Usage | None]
    replies: Callable[[Mapping[str, Any]], list[Any]]
    # The answer that the events of a stream make up.
    whole: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]
    max_output: Callable[[Mapping[str, Any]], int | None]
    check: Callable[[Conversation], None]
    # The fields that change where the answer may have no more than so many tokens.
    shorter: Callable[[Mapping[str, Any], int], dict[str, Any]]
    # The window that a request sets for itself, where it can.
    window: Callable[[Mapping[str, Any]], int | None] | None = None
    # How instructions stand in their field.
    system_value: Callable[[str], Any] = str
    # Whether instructions may be messages of the list; else they stand in their field only.
    system_messages: bool = True
    # What the provider is called in telemetry.
    provider: str = "openai"
    streams_unasked: bool = False
    # Whether a body names its model; else the path does.
    names_model: bool = True
    # Whether the first message must be the user's, and whether results must stand right behind their calls.
    user_first: bool = False
    adjacent_results: bool = False
    # Whether calls are refused right behind another message of the model, and whether the last answer with calls is
    # where it has lost the thoughts that it began with.
    calls_after_user: bool = False
    calls_keep_thoughts: bool = False
    # Whether a request marks what is cached, else the provider caches every prefix by itself.
    marks_cache: bool = False
    # Whether an answer may say that the provider edited the context by itself.
    edits_context: bool = False
    # What asks the provider to do so: the value of `context_management` and the entries of its beta header.
    context_options: Callable[[ContextManagement], tuple[Any, tuple[str, ...]]] | None = None
    # The first message that counts: the provider drops what stands before its own summary.
    begins: Callable[[Sequence[Message]], int] | None = None
    # Whether a client may ask for a compaction of its conversation.
    compacts: bool = False
    # Whether an overflow may be told in a stream that begins well.
    streams_overflow: bool = False
    # What in a body stands for content whose tokens the size of the body does not bound.
    references: tuple[bytes, ...] = ()


class Reader:
    """Collects the parts of one message, and says where something is wrong."""

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
        """Let something beside the parts count in the digest, if there is something."""
        if more:
            self.blobs.append(canonical(more))

    def text(self, holder: Any, key: str | int, at: Path, block: Path, **more: Any) -> None:
        """Add the string at holder[key] as a part; anything else there is an error."""
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
    """Bytes that stand for a block whatever its key order and wherever a cache breakpoint was put."""
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
    """Refuse JSON that is nested deeper than any API takes, and say where."""
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
    """Every tool result follows the call that it answers, and no id is asked or answered twice at once."""
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
                # A result may have several parts, in one block; a tool message is one result, whatever its blocks.
                if first.block != part.block and message.role != "tool":
                    raise BadBody(place(conversation, number, part), f"a second result answers {part.call!r}")
        for call, part in results.items():
            if call not in open_calls and not call.startswith(UNASKED):
                raise BadBody(place(conversation, number, part), f"answers the call {call!r}, which is not before it")
        open_calls.difference_update(results)


def place(conversation: Conversation, number: int, part: Part) -> str:
    root = {"gemini": "contents", "openai_responses": "input"}.get(conversation.api, "messages")
    return show(part.block, f"{root}[{number - conversation.lead}]")
