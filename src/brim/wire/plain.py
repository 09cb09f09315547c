"""Messages that are nothing but a role and a text, as most are: read at once, and those of long lists in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from brim.conversation import Message, Part, Path, Role

try:
    from brim.wire import _plain as _compiled
except ImportError:  # installed without a compiler
    _compiled = None  # type: ignore[assignment]


class _Plain(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: str


_decoder = msgspec.json.Decoder(_Plain)
_CONTENT: Path = ("content",)
# The bytes of a plain message beside its role and its text.
_FRAME = len(b'{"role":"","content":""}')


def plain_message(raw: bytes, roles: Mapping[str, Role]) -> Message | None:
    """A message of only a role and a text; None for any other, and for one that is not valid."""
    try:
        found = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    role = roles.get(found.role)
    if role is None:
        return None
    parts = (Part("text", _CONTENT, (), found.content),)
    return Message(role, parts, raw, plain=role == found.role)


def plain_messages(raw: bytes, roles: dict[str, Role]) -> tuple[list[Message | bytes], list[int]] | None:
    """The messages of a JSON list, those that are more than a role and a text as their bytes, and which those are.

    None for a list that has to be read with more care, and where there is no compiled reader.
    Example: b'[{"role":"user","content":"hi"},{"role":"tool"}]' -> ([Message("user", …), b'{"role":"tool"}'], [1])
    """
    if _compiled is None or not _is_utf8(raw):
        return None
    return _compiled.messages(raw, roles, Part, Message)


def survey(items: Any) -> tuple[set[str], int] | None:
    """The roles of a list of objects that are nothing but a role and a text, and the length of all texts together.

    None for any other list, and where there is no compiled reader.
    Example: [{"role": "user", "content": "hi"}] -> ({"user"}, 2)
    """
    return None if _compiled is None else _compiled.survey(items)


def plain_objects(items: list[Any], roles: dict[str, Role]) -> tuple[tuple[Message, ...], int] | None:
    """The messages of such a list, and how many bytes it takes as JSON: it is not written as a whole to be read.

    None for a list that has to be read with more care.
    """
    return None if _compiled is None else _compiled.of_objects(items, roles, Part, Message)


def common_start(items: list[Any], messages: tuple[Message, ...]) -> int:
    """How many objects at the start of a list are plain and say what the first of some messages say."""
    return 0 if _compiled is None else _compiled.common_start(items, messages, Part, Message)


@dataclass(frozen=True, slots=True)
class Columns:
    """Of every message about the number of its bytes, and its text; and which are instructions, or more than a text.

    Example: a system message, a user's and one with calls -> lengths [39, 30, 210], systems [0], others [2]
    """

    lengths: list[int]
    texts: list[str]
    systems: list[int]
    others: list[int]

    @classmethod
    def of(cls, messages: tuple[Message, ...]) -> Columns:
        return cls.plainly(messages) if _compiled is None else cls(*_compiled.columns(messages, Part, Message))

    @classmethod
    def plainly(cls, messages: tuple[Message, ...]) -> Columns:
        """The same without a compiler."""
        return cls(
            [_length(message) for message in messages],
            [message.text for message in messages],
            [number for number, message in enumerate(messages) if message.role == "system"],
            [number for number, message in enumerate(messages) if not message.plain],
        )


def _length(message: Message) -> int:
    """About how many bytes a message takes: known without writing it, so that nothing depends on whether it was."""
    if message.plain and message.parts[0].text.isascii():
        return _FRAME + len(message.role) + len(message.parts[0].text)
    return len(message.raw)


def lines(messages: Sequence[Message]) -> bytes:
    """Messages as JSON, a line each. Those that are not written yet stay so: for thousands that is memory and time."""
    if _compiled is None:
        return b"\n".join([message.raw for message in messages])
    return _compiled.lines(list(messages), Part, Message)


def raws(messages: Sequence[Message]) -> list[bytes]:
    """What `raw` gives for each message: for thousands of them at once it takes a fourth of the time."""
    if _compiled is None:
        return [message.raw for message in messages]
    return _compiled.raws(list(messages), Part, Message)


def _is_utf8(raw: bytes) -> bool:
    """Whether it is valid throughout: half a pair of surrogates is read, but not kept as it is."""
    if raw.isascii():
        return True
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
