"""The log of a session, the view of it that is sent, and how both grow and are cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from brim import apis
from brim.conversation import Conversation, Message
from brim.fitting import by_window
from brim.relevance import Embedder
from brim.sessions.attached import Attached
from brim.sessions.auto_recall import GOOD, Recollection, names_something
from brim.sessions.incoming_results import arrived, with_words_alone
from brim.sessions.model_summaries import RunningSummary
from brim.sessions.prompt_cache import unmarked
from brim.sessions.state import SessionSettings, SessionState
from brim.sessions.turn_writer import Writer
from brim.sessions.view import Entry, EntryKind, View, common_length
from brim.sized_lru import SizedLru
from brim.tokens.counter import Counter

SAVED_BYTES = 16 << 20  # bytes of saved results to remember


class SessionHistory:
    """The log of a session and its view, which change together, and the writer that hears of every change."""

    def __init__(self, settings: SessionSettings, writer: Writer, summary: RunningSummary, embed: Embedder | None):
        self.settings = settings
        self.counter = Counter(settings.model, settings.api, settings.actuals)
        self.writer = writer
        self.running_summary = summary
        self.embed = embed
        self.log: list[Message] = []
        self.attached = Attached()
        self.view = View()
        self.state = SessionState()
        self._limits: tuple[SessionSettings | None, Conversation | None, tuple[int, bool]] = None, None, (0, False)
        self._results: SizedLru[bytes, Message] = SizedLru(SAVED_BYTES)
        self.derive()

    def derive(self) -> None:
        """Make everything anew that is derived from the log."""
        self.recollection = Recollection(self.log, self.counter.message, self.embed)

    def note(self, **changes: Any) -> None:
        """Go on with a state in which some fields are others."""
        self.state = replace(self.state, **changes)

    def configure(self, settings: SessionSettings) -> None:
        """Go on with other settings; sizes are taken anew where the vocabulary is another one."""
        before, self.settings = self.counter, settings
        wanted = settings.model, settings.api
        if (before.model, before.api) == wanted and before.actuals is settings.actuals:
            return
        self.counter = Counter(*wanted, settings.actuals)
        if _vocabulary(before) != _vocabulary(self.counter):
            self.view.measure(self.counter.message)
            self.recollection.size = self.counter.message
            self.recollection.rest()

    def limits(self, conversation: Conversation) -> tuple[int, bool]:
        """The limit of a request as it is stated, and whether it is the model's own; kept while the request is one."""
        settings = self.settings
        if self._limits[0] is not settings or self._limits[1] is not conversation:
            own = by_window(settings.model, conversation, settings.policy, settings.budget, settings.reserve)
            self._limits = settings, conversation, (settings.limit(conversation), own)
        return self._limits[2]

    @property
    def limit(self) -> int:
        """The limit in the tokens in which the view is counted."""
        stated = self.settings.limit()
        return self.counter.within(stated) if self.counter.source == "estimated" else stated

    @property
    def free(self) -> int:
        """The limit less instructions and tools."""
        return max(1, self.limit - self.state.head)

    def is_chat(self) -> bool:
        """Whether no tools are used: then what answers a question may stand anywhere, and mostly not at the end."""
        return self.settings.policy.appends and not any(message.calls or message.answers for message in self.log)

    def measure_head(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        size = self.counter.message
        instructions = sum(size(message) for message in messages[:4] if message.role == "system")
        head = self.counter.head(conversation) + instructions
        if head != self.state.head:
            self.note(head=head)

    def follow(self, messages: tuple[Message, ...]) -> None:
        """Bring the log to what the client sent: append new messages, drop those edited away."""
        common = common_length(self.log, messages)
        if self.state.context and common == len(self.log) == len(messages) and self.settings.policy.appends:
            common -= messages[-1].role == "user" and not messages[-1].answers  # it is sent again with its context
        if common < len(self.log):
            common = self.cut(common)
        self.log[:common] = messages[:common]
        self.view.renew(self.log)
        self.append(messages[common:])

    def cut(self, length: int) -> int:
        """Drop the log from a message on, or from slightly before it; returns the remaining length."""
        self.cut_context(length)
        length = min(self.view.cut(length), length)
        del self.log[length:]
        self.recollection.cut(length)
        self.running_summary.cut(length)
        self.writer.cut(length)
        for at, piece in self.attached.pieces:
            if at >= length:  # the message is new, but its context is the same
                self.writer.attach(at, [piece])
        return length

    def cut_context(self, length: int) -> None:
        """Drop the context of the log from a message on; that of the first of these waits for the one in its place."""
        pieces = self.attached.cut(length)
        if pieces and self.settings.policy.appends:
            self.note(context=(*pieces, *self.state.context))

    def append(self, messages: Sequence[Message]) -> None:
        for left, message in zip(range(len(messages) - 1, -1, -1), messages, strict=True):
            if not left and message.role == "user" and not message.answers:
                self._put_before(message)
            self.log.append(message)
            self.writer.add(message)
            self.show(len(self.log) - 1)

    def show(self, start: int) -> None:
        """Append the log to the view from a message on, with attached context."""
        self.view.append(self.entries(start))

    def entries(self, start: int = 0) -> list[Entry]:
        """The log as it is from a message on, with attached context."""
        size, found = self.counter.message, list[Entry]()
        for number in range(start, len(self.log)):
            message = self.log[number]
            found += [*self.context_of(number), Entry(number, number + 1, message, size(message))]
        return found

    def _put_before(self, message: Message) -> None:
        """Put a recall and the attached context before a new message of the user."""
        policy, tight, misses = self.settings.policy, self.settings.recall == "auto" and self.state.tight, False
        if tight and self.is_chat():
            room = int(policy.compact_to * self.free)
            misses = self.recollection.misses(message, len(self.log), room, self.view.whole())
        if misses != self.state.misses:
            self.note(misses=misses)
        if tight and not misses:
            text = self._recalled(message)
            self.view.append([self.between(text, "recall")] if text else [])
        if self.state.context and policy.appends:
            self.place_context(len(self.log))

    def _recalled(self, message: Message) -> str:
        """What of the archived messages a new one is about, within the room for it; empty if there is nothing."""
        spare = self.limit - self.state.head - self.view.tokens - 2 * self.counter.message(message)
        room = min(int(self.settings.policy.recall * self.free), spare // 2)
        shown, count = self.view.whole(), self.counter.text
        lexical = self.embed is None or names_something(message.text)
        text = self.recollection.quickly(message, room, shown, count) if lexical else ""
        return text or self.recollection.thoroughly(message, len(self.log), room, shown, count, GOOD)

    def place_context(self, number: int) -> None:
        """Attach the pending context to a message."""
        self.attached.add(number, self.state.context)
        self.writer.attach(number, self.state.context)
        self.note(context=())

    def context_of(self, number: int) -> list[Entry]:
        """The context shown before a message of the log; other policies place it elsewhere."""
        if not (self.attached.pieces and self.settings.policy.appends):
            return []
        text = self.attached.text(number)
        return [replace(self.between(text, "context"), start=number, end=number)] if text else []

    def between(self, text: str, kind: EntryKind) -> Entry:
        """An entry behind the log that stands for no message of it."""
        message = apis.text_message(self.settings.api, "user", text)
        return Entry(len(self.log), len(self.log), message, self.counter.message(message), kind)

    def saved(self, message: Message) -> Message:
        """A message of a finished turn as it is saved, once, and the same from then on.

        Its results are compacted, and of context that a user's message brought between tags a preview stays.
        """
        known, keep, api = self._results.get(message.raw), self.writer.keep, self.settings.api
        if known is not None:
            return known
        if message.answers:
            made = arrived(message, self.counter, self.free, keep)
            made = unmarked(made) if made is not message and apis.APIS[api].marks_cache else made
        else:
            made = with_words_alone(message, api, self.settings.policy.preview_chars, keep)
        return self._results.put(message.raw, made, len(message.raw))

    def checkpoint(self) -> Callable[[], None]:
        """What brings everything back to how it is now, after a turn that failed halfway."""
        log, view, attached, state = list(self.log), self.view.copy(), list(self.attached.pieces), self.state
        writer, summary = self.writer.copy(), (self.running_summary.text, self.running_summary.upto)

        def restore() -> None:
            self.log[:], self.view, self.attached, self.state = log, view, Attached(attached), state
            failed, self.writer = self.writer, writer
            if failed.records != writer.records:  # the turn was written before it failed, so continue after it
                writer.again(log, attached, [], None)
                writer.records, writer.epoch, writer.holds = failed.records, failed.epoch, failed.holds
            self.running_summary.restore(*summary)
            self.derive()

        return restore

    def branch(self, other: SessionHistory, length: int, blobs: Callable[[list[str]], list[bytes]]) -> None:
        """Begin as the first messages of another history, as they are shown there."""
        tight, compactions, head = other.state.tight, other.state.compactions, other.state.head
        self.state = SessionState(tight, compactions, head, carried=other.state.carried, pins=other.state.pins)
        self.view = other.view.copy()
        covered = min(self.view.cut(length), length)
        self.log += other.log[:covered]
        self.attached = Attached(other.attached.before(length))
        self.writer.forked(other.writer.chain[: covered + 1], self.log, blobs(self.view.handles()))
        for at, piece in self.attached.pieces:
            self.writer.attach(at, [piece])
        self.append(other.log[covered:length])
        self.note(context=tuple(other.attached.at(length)))

    def archived_messages(self) -> tuple[list[Message], int]:
        """What summaries stand for since the running summary, and where it ends."""
        return self.view.archived_since(self.running_summary.upto, self.log)


def _vocabulary(counter: Counter) -> tuple[str, str]:
    """What message sizes depend on."""
    return counter.model.family, counter.framing.key
