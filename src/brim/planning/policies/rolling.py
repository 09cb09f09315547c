"""Policy `rolling`: the last messages verbatim, one summary of what came before, context in what is left.

The prompt is, in this order: instructions, context (trimmed to what the rest leaves, to nothing if need be),
the summary, the recent messages, the current message once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from brim import apis
from brim.content import handle_of, passages, plain_text
from brim.content.selection import shares
from brim.content.types import Room
from brim.conversation import Conversation, Message
from brim.planning.attachments import Attachment, named
from brim.planning.draft import Draft, own_name
from brim.planning.items import current
from brim.planning.plan import Plan, kept_whole, told
from brim.planning.policies import agent
from brim.planning.policies.policy import RollingPolicy
from brim.planning.policies.summaries import block_summary
from brim.planning.policies.topics import summary_by_topic
from brim.planning.project_context import asked_words, shrunk
from brim.planning.render import with_text
from brim.planning.reports.decisions import Decision, Form
from brim.planning.request import PlanRequest, query_of

PREFIX = "Conversation summary: "
END = "--- END ---"
CONTEXT = "You have access to the following document:\n--- BEGIN ---\n{}\n" + END
# Share of the room for a summary, and for the very short one of the last resort.
SUMMARY, CONCISE_SUMMARY = 0.25, 0.08
# Tokens of a summary's fixed words and its message.
FRAME = 16
# Of a current message that is too long by itself so many characters stay at each end, and between them a summary in
# this share of the room, made of so many characters at once.
INSTRUCTION, CONDENSED, BLOCK_CHARS = 600, 0.5, 50_000
# The least to keep of a compressed recent message.
LEAST = 24
# In less room than this, lines are chosen rather than passages.
PASSAGES = 1_000


def plan(request: PlanRequest, policy: RollingPolicy) -> Plan:
    given, chat = Draft(request.conversation), ChatParts.of(request.conversation)
    if chat.whole and not (request.context or request.carried) and request.fits(request.conversation):
        return agent.as_it_is(request, given)
    shrinking: list[Decision] = []
    archive: dict[str, str] = {}
    draft = _with_less_project(request, given, shrinking, archive)
    pieces = (*request.carried, *request.context)
    held = [piece for piece in pieces if not piece.recoverable]
    fixed = draft.ordered(chat.instructions)
    if held:  # context that can't be fetched again takes its room first
        fixed = fixed.inserted(len(fixed.messages), document(request, joined(held)), named(held), 3, held=True)
    window = _Window(request, policy, chat, request.limit - request.total(fixed.conversation))
    window.choose()
    archived = kept_whole(chat.messages[: window.cut])
    reason = f"older than the {len(chat.messages) - window.cut} messages that are kept{window.why}; in the summary"
    steps = told(request, chat.at[: window.cut], "summary", reason, archived)
    archive |= archived | window.archive | window.originals
    context = [piece for piece in pieces if piece.recoverable]
    newest = [piece for piece in context if piece in request.context]
    added: list[tuple[Message, str, int | None]] = []
    # The document shrinks to nothing before any recent message is cut.
    shown = context_in(request, context, newest, 0 if window.steps else window.left, (steps, archive))
    added += [(message, named(context), 3) for message in shown]
    added += [(message, "summary", None) for message in window.summary]
    draft = draft.ordered([*chat.instructions, *chat.at[window.cut :]])
    draft = draft.showing([*draft.messages[: len(chat.instructions)], *window.kept])
    for message, name, layer in reversed(added):
        draft = draft.inserted(len(chat.instructions), message, name, layer)
    if held:
        message = fixed.messages[-1]
        draft = draft.inserted(len(chat.instructions), message, named(held), 3, held=True)
    made = agent.enforce(request, draft)
    return replace(
        made,
        steps=[*shrinking, *steps, *window.condensed, *window.steps],
        archive={**archive, **made.archive},
        archived=[*chat.at[: window.cut], *draft.given(made.archived)],
    )


def _with_less_project(request: PlanRequest, given: Draft, steps: list[Decision], archive: dict[str, str]) -> Draft:
    """The draft with as much project context as the rest of the request leaves room for."""
    pieces = (*request.carried, *request.context)
    if not pieces:
        return shrunk(request, given, steps, archive)
    at = max(0, current(given.messages))
    beside = given.inserted(at, document(request, joined(pieces)), named(pieces), 3)
    small = shrunk(request, beside, steps, archive)
    places = [index for index in range(len(beside.messages)) if index != at]
    return small.ordered(places)


def with_document(request: PlanRequest) -> Draft:
    """The original request with all its context."""
    draft, pieces = Draft(request.conversation), (*request.carried, *request.context)
    at = next((n for n, message in enumerate(draft.messages) if message.role != "system"), len(draft.messages))
    return draft.inserted(at, document(request, joined(pieces)), named(pieces), 3) if pieces else draft


def joined(pieces: Iterable[Attachment]) -> str:
    return "\n\n".join(piece.text for piece in pieces)


def document(request: PlanRequest, text: str) -> Message:
    """Context as a document for the model; a text that would end it is escaped."""
    enclosed = text.replace(END, END.replace("END", "\\END"))
    return apis.text_message(request.conversation.api, "user", CONTEXT.format(enclosed))


@dataclass(frozen=True, slots=True)
class ChatParts:
    """The parts of a conversation: instructions, the summary of an earlier compaction, and the chat."""

    instructions: list[int]
    previous: str
    messages: list[Message]
    at: list[int]
    whole: bool  # whether the chat is the original conversation, without repetition

    @classmethod
    def of(cls, conversation: Conversation) -> ChatParts:
        messages = conversation.messages
        summaries = _summaries(conversation)
        previous = [messages[index].text.removeprefix(PREFIX) for index in summaries]
        instructions = [n for n, one in enumerate(messages) if one.role == "system" and n not in summaries]
        at = [n for n, one in enumerate(messages) if one.role != "system" and n not in summaries]
        last = [messages[index] for index in at[-2:]]
        repeated = len(last) == 2 and last[1].role == "user" and last[0].digest == last[1].digest
        if repeated:  # the current message is also the last one of the history
            at.pop()
        return cls(instructions, "\n".join(previous), [messages[index] for index in at], at, not repeated)


def _summaries(conversation: Conversation) -> list[int]:
    """Summaries of earlier fits: system messages before the chat.

    Where an API has none in its list, the first message, if it begins as a summary does and the user goes on after it:
    what users say themselves is answered.
    """
    messages = conversation.messages
    first = next((n for n, message in enumerate(messages) if not _beside(message)), len(messages))
    found = [n for n in range(first) if messages[n].role == "system" and messages[n].text.startswith(PREFIX)]
    if found or apis.text_message(conversation.api, "system", PREFIX).role == "system":
        return found
    ours = len(messages) > 1 and all(message.role == "user" and not message.answers for message in messages[:2])
    return [0] if ours and messages[0].text.startswith(PREFIX) else []


def _beside(message: Message) -> bool:
    """Whether a message precedes the chat: instructions, or the document of an earlier fit."""
    return message.role == "system" or (message.role == "user" and message.text.startswith(CONTEXT[:60]))


class _Window:
    """Chooses which messages stay and what replaces the others, step by step until everything fits."""

    def __init__(self, request: PlanRequest, policy: RollingPolicy, chat: ChatParts, room: int) -> None:
        self.request = request
        self.policy = policy
        self.room = room
        self.chat = chat.messages
        self.at = chat.at
        self.previous = chat.previous
        # A window starts where the user speaks, so that no result loses its call and every API accepts it.
        starts = [number for number, message in enumerate(self.chat) if message.role == "user" and not message.answers]
        self.starts = starts or [0]
        self.cut = 0
        self.kept: Sequence[Message] = self.chat
        self.summary: list[Message] = []
        self.why = ""  # why the number of kept messages differs from the setting
        self.steps: list[Decision] = []
        self.archive: dict[str, str] = {}
        self.condensed: list[Decision] = []  # set if the current message was condensed by the summariser
        self.originals: dict[str, str] = {}

    @property
    def left(self) -> int:
        return self.room - self._size(self.summary, self.kept)

    def choose(self) -> None:
        """Keep everything if it fits; otherwise fewer recent messages, then shorter ones, then only the current one."""
        policy = self.policy
        self._take(0, SUMMARY)
        if self.left >= 0:
            return
        self._condense_current()
        sizes = [self.request.counter.message(message) for message in self.chat]
        for keep in range(policy.recent_messages_to_keep, policy.min_recent_messages_to_keep - 1, -1):
            cut = self._cut(keep)
            if self.request.size(sum(sizes[cut:])) <= self.room * (1 - SUMMARY):
                self._take(cut, SUMMARY)
                self._told(keep)
                if self.left >= 0:
                    return
        self._take(self._cut(policy.min_recent_messages_to_keep), CONCISE_SUMMARY)
        if self.left < 0:
            self._compress()
        if self.left < 0:
            self._last_resort()

    def _size(self, *parts: Sequence[Message]) -> int:
        return self.request.size(sum(self.request.counter.message(message) for part in parts for message in part))

    def _cut(self, keep: int) -> int:
        """The start of the last `keep` messages, or of the turn that the first of them is in."""
        wanted = max(0, len(self.chat) - keep)
        return max((start for start in self.starts if start <= wanted), default=0)

    def _told(self, keep: int) -> None:
        """Report why the window has more messages than the setting says."""
        wanted = max(0, len(self.chat) - keep)
        if self.cut < wanted:
            beside = "a result and its call" if self.chat[wanted].answers else "an answer and its question"
            self.why = f" (not {keep}: {beside} stay together)"

    def _condense_current(self) -> None:
        """Condense a current message that is too long by itself: the caller's summariser rewrites its middle."""
        if self.request.summarize is None or not self.chat:
            return
        now = current(tuple(self.chat))
        message = self.chat[now]
        before = self.request.counter.message(message)
        parts = [n for n, part in enumerate(message.parts) if part.kind == "text" and not part.fixed]
        if self.request.size(before) <= self.room or message.role != "user" or not parts:
            return
        longest = max(parts, key=lambda n: len(message.parts[n].text))
        text = message.parts[longest].text
        if len(text) <= 4 * INSTRUCTION:
            return
        start, end = text[:INSTRUCTION], text[-INSTRUCTION:]
        told = block_summary(self.request, text[INSTRUCTION:-INSTRUCTION], int(CONDENSED * self.room), BLOCK_CHARS)
        new = with_text(self.request.conversation.api, message, {longest: f"{start}\n{told}\n{end}"})
        after, handle = self.request.counter.message(new), handle_of(text)
        self.chat = [*self.chat[:now], new, *self.chat[now + 1 :]]
        self._take(0, SUMMARY)
        self.originals[handle] = text
        name = own_name(self.request.conversation, self.at[now])
        reason = "too long by itself: its beginning and end, and a summary of what is between"
        self.condensed.append(Decision(name, "user", 5, "text", before, after, "summary", reason, handle))

    def _take(self, cut: int, share: float) -> None:
        """Keep the chat from `cut` on, with a summary of what comes before."""
        self.cut, self.kept = cut, self.chat[cut:]
        text = self.previous
        if cut:
            tokens = max(LEAST, int(share * self.room) - FRAME)
            most = self.policy.summary_topics
            text = summary_by_topic(self.request, self.chat, cut, self.previous, tokens, most)
        self.summary = [apis.text_message(self.request.conversation.api, "system", PREFIX + text)] if text else []

    def _compress(self) -> None:
        """Shorten the recent messages to the room that the current one leaves; the current one stays verbatim."""
        now = max((start for start in self.starts if start <= current(tuple(self.chat))), default=0)
        older = self.chat[self.cut : now]
        sizes = [self.request.counter.message(message) for message in older]
        room = self.room - self._size(self.summary, self.chat[now:])
        if not older or room < LEAST * len(older):
            return
        for _ in range(4):  # sizes have margins, and extracts aren't exact
            self.steps, self.archive = [], {}
            new = [self._shortened(self.cut + n, size) for n, size in enumerate(shares(sizes, room))]
            over = self._size(self.summary, new, self.chat[now:]) - self.room
            if over <= 0:
                self.kept = [*new, *self.chat[now:]]
                return
            room -= over + LEAST
        self.steps, self.archive = [], {}

    def _shortened(self, number: int, tokens: int) -> Message:
        """A message with its texts reduced to extracts, in about this many tokens."""
        message, count = self.chat[number], self.request.counter.text
        before = self.request.counter.message(message)
        if before <= tokens:
            return message
        parts = [n for n, part in enumerate(message.parts) if part.text and part.kind in ("text", "result")]
        parts = [n for n in parts if not message.parts[n].fixed and not message.parts[n].json]
        sizes = [count(message.parts[n].text) for n in parts]
        frame = before - sum(sizes)
        query = query_of(self.request.conversation)
        texts: dict[int, str] = {}
        for n, size, share in zip(parts, sizes, shares(sizes, max(0, tokens - frame - 2)), strict=True):
            if share < size:
                text = message.parts[n].text
                room = Room(max(1, share), count, handle_of(text), self.request.recall, query)
                texts[n] = plain_text.extract(text, room) or room.mark("left out")
                self.archive[handle_of(text)] = text
        new = with_text(self.request.conversation.api, message, texts) if texts else message
        name, after = own_name(self.request.conversation, self.at[number]), self.request.counter.message(new)
        reason = "a recent message that is too long beside the current one"
        handle = handle_of(message.parts[min(texts)].text) if texts else ""
        self.steps.append(Decision(name, message.role, 4, "text", before, after, "outline", reason, handle))
        return new

    def _last_resort(self) -> None:
        """Keep a very short summary of everything, and the current message with what belongs to it.

        What stands between the oldest recent message and that is archived turn by turn before it comes to this.
        """
        now = current(tuple(self.chat))
        starts = [start for start in self.starts if self.cut < start <= now] or [self.cut]
        for cut in starts:
            self._take(cut, CONCISE_SUMMARY)
            if self.left >= 0:
                return


def context_in(
    request: PlanRequest,
    pieces: Sequence[Attachment],
    newest: Sequence[Attachment],
    room: int,
    told: tuple[list[Decision], dict[str, str]],
) -> list[Message]:
    """The context in what the messages leave, that of earlier turns in what this turn's does; nothing if there is none.

    What it is counted as before it is made is never less than what it then takes.
    """
    text, count = joined(pieces), request.counter.text
    if not text:
        return []
    whole = document(request, text)
    if request.size(request.counter.message(whole)) <= room:
        return [whole]
    steps, archive = told
    spare = room - request.size(request.counter.message(document(request, "")))
    archive[handle_of(text)] = text
    short = ""
    while spare >= LEAST:
        short = _shown(request, pieces, newest, spare)
        over = request.size(request.counter.message(document(request, short))) - room
        if over <= 0:
            break
        short, spare = "", spare - over
    reason = "context in what the messages leave" if short else "the messages leave no room for context"
    form: Form = "outline" if short else "dropped"
    name, handle = named(pieces), handle_of(text)
    steps.append(Decision(name, "user", 3, "block", count(text), count(short), form, reason, handle))
    return [document(request, short)] if short else []


def _shown(request: PlanRequest, pieces: Sequence[Attachment], newest: Sequence[Attachment], spare: int) -> str:
    """The document in this many tokens: this turn's context before that of earlier turns."""
    now, before = joined(newest), joined([piece for piece in pieces if piece not in newest])
    handle, count, query = handle_of(joined(pieces)), request.counter.text, asked_words(request.conversation.messages)
    if not (now and before):
        return _extract(now or before, Room(spare, count, handle, request.recall, query))
    short = _extract(now, Room(spare, count, handle, request.recall, query))
    left = spare - count(short) - 2
    return (
        f"{_extract(before, Room(left, count, handle, request.recall, query))}\n\n{short}" if left >= LEAST else short
    )


def _extract(text: str, room: Room) -> str:
    if room.fits(text):
        return text
    return passages.extract(text, room) if room.tokens >= PASSAGES else plain_text.extract(text, room)
