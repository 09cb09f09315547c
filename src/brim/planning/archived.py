"""What is archived: kept by its handle, and told message by message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from brim.content import handle_of
from brim.conversation import Message
from brim.planning.draft import Draft
from brim.planning.reports.decisions import Decision, Form
from brim.planning.work import Work

# So many messages are joined at once to name them.
TOGETHER = 64


@dataclass(frozen=True, slots=True)
class ArchivedMessages:
    """Archived messages under one handle. Their text, which may be megabytes, is made when somebody wants it."""

    handle: str
    messages: Sequence[Message]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> ArchivedMessages:
        return cls(handle_of(_pieces(messages)), messages)

    @property
    def text(self) -> str:
        """The messages as JSON, a line each."""
        return b"".join(_pieces(self.messages)).decode("utf-8", "surrogatepass")


def _pieces(messages: Sequence[Message]) -> Iterator[bytes]:
    """Messages as lines of JSON, many at a time."""
    for start in range(0, len(messages), TOGETHER):
        joined = b"\n".join([message.raw for message in messages[start : start + TOGETHER]])
        yield b"\n" + joined if start else joined


def kept_whole(messages: Sequence[Message]) -> dict[str, str]:
    """Archived messages as one entry of the archive; nothing for none."""
    if not messages:
        return {}
    archived_messages = ArchivedMessages.of(messages)
    return {archived_messages.handle: archived_messages.text}


def told(work: Work, indexes: Iterable[int], form: Form, reason: str, archive: Mapping[str, str]) -> list[Decision]:
    """A decision for every archived message of the conversation that was given; `archive` is what `kept_whole` made."""
    messages, name = work.conversation.messages, Draft(work.conversation).name
    size, handle = work.counter.message, next(iter(archive), "")
    return [
        Decision(name(index), messages[index].role, 4, "text", size(messages[index]), 0, form, reason, handle)
        for index in indexes
    ]
