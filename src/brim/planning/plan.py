"""The result of planning: the conversation to send, and what happened to the original."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from brim.content import handle_of
from brim.conversation import Conversation, Message
from brim.planning.draft import Draft
from brim.planning.items import Group
from brim.planning.reports.decisions import Decision, Form
from brim.planning.request import PlanRequest

# Messages to join at once.
TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning for users of a fit, with its numbers."""

    message: str
    numbers: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchivedMessages:
    """Archived messages under one handle. Their text, possibly megabytes, is made on demand."""

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
    archive: Mapping[str, str] = field(default_factory=dict)  # originals by handle, except `archived_messages`
    archived_messages: ArchivedMessages | None = None
    archived: Sequence[int] = ()
    # What a policy did before planning, and warnings.
    steps: Sequence[Decision] = ()
    warnings: tuple[Notice, ...] = ()
    draft: Draft | None = None  # the planned draft, with its messages' names
    # For every message of the conversation its index in the planned one; -1 for the summary.
    places: Sequence[int] = ()

    def after(self, steps: Sequence[Decision], archive: Mapping[str, str]) -> Plan:
        """The plan, with earlier steps and their originals added."""
        return replace(self, steps=[*steps, *self.steps], archive={**archive, **self.archive})

    def originals(self) -> dict[str, str]:
        """Everything that left the request, by handle."""
        kept, archived = dict(self.archive), self.archived_messages
        return kept if archived is None else {**kept, archived.handle: archived.text}


def _pieces(messages: Sequence[Message]) -> Iterator[bytes]:
    """Messages as lines of JSON, in batches."""
    for start in range(0, len(messages), TOGETHER):
        joined = b"\n".join([message.raw for message in messages[start : start + TOGETHER]])
        yield b"\n" + joined if start else joined


def kept_whole(messages: Sequence[Message]) -> dict[str, str]:
    """Archived messages as one archive entry; empty if there are none."""
    if not messages:
        return {}
    archived_messages = ArchivedMessages.of(messages)
    return {archived_messages.handle: archived_messages.text}


def told(
    request: PlanRequest, indexes: Iterable[int], form: Form, reason: str, archive: Mapping[str, str]
) -> list[Decision]:
    """A decision for every archived message; `archive` is the result of `kept_whole`."""
    messages, name = request.conversation.messages, Draft(request.conversation).name
    size, handle = request.counter.message, next(iter(archive), "")
    return [
        Decision(name(index), messages[index].role, 4, "text", size(messages[index]), 0, form, reason, handle)
        for index in indexes
    ]
