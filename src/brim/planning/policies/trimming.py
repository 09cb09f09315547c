"""Policy `rolling` without a summary: as many messages as fit from one end of the chat, and nothing for the others.

The result is a valid request: no result without its call, no call without its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from brim import apis
from brim.content import handle_of
from brim.conversation import Message
from brim.planning.attachments import named
from brim.planning.draft import Draft, own_name
from brim.planning.plan import Plan, kept_whole, told
from brim.planning.policies import agent
from brim.planning.policies.policy import RollingPolicy
from brim.planning.policies.rolling import ChatParts, context_in, document, joined
from brim.planning.render import with_text
from brim.planning.reports.decisions import Decision
from brim.planning.request import PlanRequest


def plan(request: PlanRequest, policy: RollingPolicy) -> Plan:
    draft, chat = Draft(request.conversation), ChatParts.of(request.conversation)
    pieces = (*request.carried, *request.context)
    trim = _Trim(request, policy, chat)
    complete = chat.whole and trim.end == len(chat.messages)
    if complete and not pieces and request.fits(request.conversation):
        return agent.as_it_is(request, draft)
    instructions = chat.instructions
    fixed = draft.ordered(instructions)
    held = [piece for piece in pieces if not piece.recoverable]
    if held:  # context that can't be fetched again takes its room first
        fixed = fixed.inserted(len(fixed.messages), document(request, joined(held)), named(held), 3, held=True)
    room = request.limit - request.total(fixed.conversation)
    left_out: list[int] = []
    if instructions and not policy.include_system and trim.size(0, trim.end) > room:
        left_out, instructions = instructions, []
        room += request.total(fixed.conversation) - request.total(fixed.without(range(len(left_out))).conversation)
    trim.choose(room)
    stay = chat.at[trim.start : trim.end]
    gone = sorted({*left_out, *chat.at[: trim.start], *chat.at[trim.end :]})
    archived = kept_whole([request.conversation.messages[index] for index in gone])
    steps = told(request, gone, "archived", f"not one of the {len(stay)} messages that are kept", archived)
    steps += trim.partial
    archive = archived | trim.originals
    draft = draft.ordered([*instructions, *stay]).showing(
        [*(request.conversation.messages[index] for index in instructions), *trim.kept]
    )
    context = [piece for piece in pieces if piece.recoverable]
    newest = [piece for piece in context if piece in request.context]
    left = room - request.size(sum(request.counter.message(message) for message in trim.kept))
    for message in context_in(request, context, newest, left, (steps, archive)):
        draft = draft.inserted(len(instructions), message, named(context), 3)
    if held:
        draft = draft.inserted(len(instructions), fixed.messages[-1], named(held), 3, held=True)
    made = agent.enforce(request, draft).after(steps, archive)
    return replace(made, archived=[*gone, *draft.given(made.archived)])


class _Trim:
    """The messages of a chat that stay, from `start` to before `end`, and their text."""

    def __init__(self, request: PlanRequest, policy: RollingPolicy, chat: ChatParts) -> None:
        self.request = request
        self.policy = policy
        self.chat = chat.messages
        self.at = chat.at
        self.sums = [0, *accumulate(request.counter.message(message) for message in self.chat)]
        self.start, self.end = 0, len(self.chat)
        self.kept: Sequence[Message] = self.chat
        self.partial: list[Decision] = []
        self.originals: dict[str, str] = {}
        self.end = self._ending(self.end) or self.end  # if no message has a role that may be last, keep the end

    def size(self, start: int, end: int) -> int:
        return self.request.size(self.sums[end] - self.sums[start])

    def choose(self, room: int) -> None:
        """Choose as many messages as fit; at least one, with what belongs to it."""
        edge: Message | None = None
        if self.size(0, self.end) > room:
            edge = self._first(room) if self.policy.keep == "first" else self._last(room)
        self.kept = list(self.chat[self.start : self.end])
        if edge is not None:
            self.kept[0 if self.policy.keep == "last" else -1] = edge

    def _last(self, room: int) -> Message | None:
        starts = [n for n in range(self.end) if self._may_start(self.chat[n])] or [0]
        fitting = next((n for n in range(self.end + 1) if self.size(n, self.end) <= room), self.end)
        if fitting and fitting - 1 in starts:
            edge = self._part(fitting - 1, room - self.size(fitting, self.end))
            if edge is not None:
                self.start = fitting - 1
                return edge
        self.start = next((n for n in starts if n >= fitting), starts[-1])
        return None

    def _first(self, room: int) -> Message | None:
        whole = max(n for n in range(self.end + 1) if n == 0 or self.size(0, n) <= room)
        if self._ending(whole + 1) == whole + 1:
            edge = self._part(whole, room - self.size(0, whole))
            if edge is not None:
                self.end = whole + 1
                return edge
        least = next((n for n in range(1, self.end + 1) if self._ending(n) == n), self.end)
        self.end = self._ending(whole) or least
        return None

    def _may_start(self, message: Message) -> bool:
        """Whether what stays may begin here: never with a result, and with the user where the API wants that."""
        if message.answers or message.role == "tool":
            return False
        if apis.api_of(self.request.conversation.api).user_first and message.role != "user":
            return False
        anyone = ("user", "assistant") if self.policy.allow_partial else ("user",)
        return message.role in (self.policy.start_on or anyone)

    def _ending(self, end: int) -> int:
        """The last place up to `end` where what stays may end: with a role that may, and no call left open."""
        if end == len(self.chat) and not self.policy.end_on:
            return end
        found, open_calls = 0, set[str]()
        for number, message in enumerate(self.chat[:end], 1):
            open_calls = (open_calls | set(message.calls)) - set(message.answers)
            if not open_calls and (not self.policy.end_on or self._role(message) in self.policy.end_on):
                found = number
        return found

    def _role(self, message: Message) -> str:
        return "tool" if message.answers else message.role

    def _part(self, number: int, room: int) -> Message | None:
        """The part of a message that fits: its end if the last messages stay, otherwise its beginning."""
        message = self.chat[number]
        texts = [n for n, part in enumerate(message.parts) if part.kind == "text" and not part.fixed and part.text]
        if not self.policy.allow_partial or message.calls or message.answers or len(texts) != len(message.parts):
            return None
        whole = "".join(message.parts[n].text for n in texts)
        low, high, best = 1, len(whole), None
        while low <= high:
            middle = (low + high) // 2
            tried = self._cut(message, middle)
            if tried is not None and self.request.size(self.request.counter.message(tried)) <= room:
                best, low = tried, middle + 1
            else:
                high = middle - 1
        if best is None:
            return None
        name, handle = own_name(self.request.conversation, self.at[number]), handle_of(whole)
        before, after = self.request.counter.message(message), self.request.counter.message(best)
        self.originals[handle] = whole
        reason = "stays in part at the edge of what is kept"
        self.partial.append(Decision(name, message.role, 4, "text", before, after, "outline", reason, handle))
        return best

    def _cut(self, message: Message, length: int) -> Message | None:
        """The message with about this many characters of text, cut between words; None if that leaves none."""
        last = self.policy.keep == "last"
        texts: dict[int, str] = {}
        numbered = list(enumerate(message.parts))
        for number, part in reversed(numbered) if last else numbered:
            texts[number] = _end_of(part.text, length) if last else _beginning_of(part.text, length)
            length = max(0, length - len(part.text))
        if not any(text.strip() for text in texts.values()):
            return None
        return with_text(self.request.conversation.api, message, texts)


def _beginning_of(text: str, length: int) -> str:
    """Example: ("one two three", 9) -> "one two" """
    if length >= len(text):
        return text
    return text[: max(0, text.rfind(" ", 0, length + 1))]


def _end_of(text: str, length: int) -> str:
    """Example: ("one two three", 9) -> "two three" """
    if length >= len(text):
        return text
    at = text.find(" ", max(0, len(text) - length - 1))
    return text[at + 1 :] if at >= 0 and length > 0 else ""
