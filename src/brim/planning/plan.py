"""What a planner gives: the conversation to send, and what became of the one that was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from brim.content import handle_of
from brim.conversation import Conversation, Message
from brim.planning.draft import Draft
from brim.planning.items import Group
from brim.planning.reports.decisions import Decision, Form
from brim.planning.request import PlanRequest

# So many messages are joined at once to name them.
TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that users of a fit should know, with its numbers."""

    message: str
    numbers: dict[str, int] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send, and why."""

    conversation: Conversation
    total: int
    groups: Sequence[Group] = ()
    archive: Mapping[str, str] = field(default_factory=dict)  # originals by their handles, but for `archived_messages`
    archived_messages: ArchivedMessages | None = None
    archived: Sequence[int] = ()
    # What a policy did before the planner saw the conversation, and what its users should know.
    steps: Sequence[Decision] = ()
    warnings: tuple[Notice, ...] = ()
    draft: Draft | None = None  # what was planned, with the names of its messages
    # For every message of the conversation its index in the planned one; -1 for the summary.
    places: Sequence[int] = ()

    def after(self, steps: Sequence[Decision], archive: Mapping[str, str]) -> Plan:
        """The plan with what was done before it, and the originals of that."""
        return replace(self, steps=[*steps, *self.steps], archive={**archive, **self.archive})

    def originals(self) -> dict[str, str]:
        """All that left the request, by its handle."""
        kept, archived = dict(self.archive), self.archived_messages
        return kept if archived is None else {**kept, archived.handle: archived.text}


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


def told(
    request: PlanRequest, indexes: Iterable[int], form: Form, reason: str, archive: Mapping[str, str]
) -> list[Decision]:
    """A decision for every archived message of the conversation that was given; `archive` is what `kept_whole` made."""
    messages, name = request.conversation.messages, Draft(request.conversation).name
    size, handle = request.counter.message, next(iter(archive), "")
    return [
        Decision(name(index), messages[index].role, 4, "text", size(messages[index]), 0, form, reason, handle)
        for index in indexes
    ]
