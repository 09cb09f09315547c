"""Reads messages that are only a role and a text, as most are, in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from brim.conversation import Message, Part, Path, Role


class _Plain(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: str


_decoder = msgspec.json.Decoder(_Plain)
_CONTENT: Path = ("content",)
# The bytes that a plain message has besides its role and text.
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


@dataclass(frozen=True, slots=True)
class Columns:
    """For every message its approximate bytes and its text; and which messages are instructions, or more than a text.

    Example: a system message, a user's and one with calls -> lengths [39, 30, 210], systems [0], others [2]
    """

    lengths: list[int]
    texts: list[str]
    systems: list[int]
    others: list[int]

    @classmethod
    def of(cls, messages: tuple[Message, ...]) -> Columns:
        return cls(
            [_length(message) for message in messages],
            [message.text for message in messages],
            [number for number, message in enumerate(messages) if message.role == "system"],
            [number for number, message in enumerate(messages) if not message.plain],
        )


def _length(message: Message) -> int:
    """About how many bytes a message takes; never taken from its JSON, which not every message has yet."""
    if message.plain and message.parts[0].text.isascii():
        return _FRAME + len(message.role) + len(message.parts[0].text)
    return len(message.raw)
