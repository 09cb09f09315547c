"""The plain planner: fits a request by sizes alone, as the fallback when anything else fails.

1. Instructions, tools and the current message stay, and so does the newest step.
2. Then the user's messages: the first, and the newest, up to a share of the room.
3. Then everything else, newest first. A step is one thing: an assistant message with its calls and their results.

What doesn't fit is shortened to its beginning and end, or archived. Nothing analyses content.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brim import apis
from brim.content import handle_of
from brim.conversation import Conversation, Message, Part, Path, changed, encode
from brim.errors import BudgetTooSmall
from brim.head_tail import head_and_tail
from brim.tokens.counter import Counter

# Share of the room for the user's messages before the steps: rule 2 of the planner.
USER_SHARE = 0.4
# A step that doesn't fit whole is shortened to this share of what is left; earlier steps get the rest.
STEP_SHARE = 0.5
# In fewer tokens a shortened text is little more than its note, which takes about 20.
LEAST_TEXT = 30
# What is left of a text when nothing else fits.
LEAST = 1
SIGN = "[…]"
UNKNOWN = "brim:00000000"
NOTE = -1


@dataclass(frozen=True, slots=True)
class PlainPlan:
    """What to send, and what became of the rest."""

    conversation: Conversation
    total: int  # what counts against the limit
    archive: dict[str, str]  # originals of everything not shown whole, by ID
    places: tuple[int, ...]  # each message's index in the original; NOTE for added ones

    def archived(self, given: Conversation) -> list[int]:
        """The messages that aren't shown at all."""
        shown = set(self.places)
        return [index for index in range(len(given.messages)) if index not in shown]


def plain_plan(
    conversation: Conversation,
    limit: int,
    counter: Counter,
    size: Callable[[int], int] = lambda tokens: tokens,
    held: Collection[int] = (),
) -> PlainPlan:
    """Fit a conversation into `limit`, or raise BudgetTooSmall.

    `size` converts tokens to what counts against the limit; the messages in `held` stay unchanged.
    """
    planner = _Planner(conversation, limit, counter, size, held)
    return planner.run()


class _Planner:
    def __init__(
        self,
        conversation: Conversation,
        limit: int,
        counter: Counter,
        size: Callable[[int], int],
        held: Collection[int],
    ) -> None:
        self.given = conversation
        self.held = held
        self.limit = limit
        self.counter = counter
        self.size = size
        self.steps = steps_of(conversation.messages)
        self.shown: dict[int, tuple[Message, ...]] = {}  # the kept steps, as shown
        self.archive: dict[str, str] = {}
        note = apis.text_message(conversation.api, "user", _note(len(conversation.messages), UNKNOWN))
        self.used = counter.head(conversation) + counter.message(note)

    def run(self) -> PlainPlan:
        whole = self._total(self.given)
        if whole <= self.limit:
            return PlainPlan(self.given, whole, {}, tuple(range(len(self.given.messages))))
        fixed = self._fixed()
        for number in fixed:
            self._show(number, self._messages(number))
        self._shorten(fixed)
        for number in self._by_recency(fixed):
            self._add(number)
        return self._checked(fixed)

    def _show(self, number: int, messages: tuple[Message, ...]) -> None:
        self.used += self._tokens(messages) - self._tokens(self.shown.get(number, ()))
        self.shown[number] = messages

    def _messages(self, number: int) -> tuple[Message, ...]:
        return tuple(self.given.messages[index] for index in self.steps[number])

    def _fixed(self) -> list[int]:
        """Instructions, the current message and the newest step; the last two may be one."""
        found = [n for n in range(len(self.steps)) if self._messages(n)[0].role == "system"]
        users = [n for n in range(len(self.steps)) if _says(self._messages(n))]
        pinned = [n for n, step in enumerate(self.steps) if not set(step).isdisjoint(self.held)]
        return sorted({*found, *pinned, *users[-1:], *([len(self.steps) - 1] if self.steps else [])})

    def _by_recency(self, fixed: Sequence[int]) -> Iterator[int]:
        """The user's messages up to their share, then all others, newest first."""
        rest = [n for n in reversed(range(len(self.steps))) if n not in fixed]
        users = [n for n in rest if _says(self._messages(n))]
        room = USER_SHARE * self._left()
        for number in [*users[-1:], *users[:-1]]:  # the first request says what everything is about
            room -= self._tokens(self._messages(number))
            if room >= 0:
                yield number
        yield from rest

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(self.counter.message(message) for message in messages)

    def _left(self) -> int:
        return self.limit - self.size(self.used)

    def _add(self, number: int) -> None:
        """Show one more step: whole, or shortened if there is enough room; otherwise archive it."""
        if number in self.shown:
            return
        messages, left = self._messages(number), self._left()
        if self._tokens(messages) > left:
            short = self._shortened(number, int(STEP_SHARE * left), LEAST_TEXT) if left > LEAST_TEXT else None
            if short is None:
                return
            messages = short
        self._show(number, messages)

    def _shorten(self, fixed: Sequence[int]) -> None:
        """Bring what must stay under the limit: shorten the newest step first, then the current message."""
        loose = [number for number in reversed(fixed) if self._messages(number)[0].role != "system"]
        for least in (LEAST_TEXT, LEAST):
            for number in loose:
                if self._left() >= 0:
                    return
                short = self._shortened(number, self._room_of(number), least, force=True)
                if short is not None and self._tokens(short) < self._tokens(self.shown[number]):
                    self._show(number, short)

    def _room_of(self, number: int) -> int:
        """The tokens that a step may take beside all other shown ones.

        What counts against the limit is more than the tokens by a share: of a text of 25 times the limit that share
        alone is more than all of the limit.
        """
        taken = self._tokens(self.shown[number])
        others = self.used - taken
        fitting = bisect_right(range(taken + 1), self.limit, key=lambda tokens: self.size(others + tokens))
        return max(0, fitting - 1)

    def _shortened(self, number: int, tokens: int, least: int, *, force: bool = False) -> tuple[Message, ...] | None:
        """A step in this many tokens; None if that is impossible, unless `force` asks for as small as possible."""
        messages = self._messages(number)
        step = self.steps[number]
        parts = [
            (index, part, size)
            for index, message in enumerate(messages)
            for part, size in zip(message.parts, self.counter.parts(message), strict=True)
            if _cuts(part) and step[index] not in self.held
        ]
        sizes = [size for _, _, size in parts]
        room = tokens - (self._tokens(messages) - sum(sizes))
        cap = _cap(sizes, room)
        if not parts or (cap < least and not force):
            return None
        cap = max(cap, least)
        edits: dict[int, dict[Path, Any]] = {}
        for index, part, taken in parts:
            if taken > cap:
                edits.setdefault(index, {})[part.at] = self._leaf(part, cap)
        return tuple(
            _changed(self.given.api, message, edits[index]) if index in edits else message
            for index, message in enumerate(messages)
        )

    def _leaf(self, part: Part, tokens: int) -> Any:
        """The beginning and end of a text; arguments and some results stay JSON."""
        handle = handle_of(part.text)
        self.archive[handle] = part.text

        def short(room: int) -> str:
            return head_and_tail(part.text, room, self.counter.text, handle) or "…"

        if part.kind == "call":
            if not (part.json or _is_object(part.text)):
                return short(tokens)
            text = short(max(1, tokens - 6)) if tokens > LEAST else ""
            value = {"shortened": text} if text else {}
            return value if part.json else json.dumps(value, ensure_ascii=False)
        return {"result": short(tokens)} if part.json else short(tokens)

    def _checked(self, fixed: Sequence[int]) -> PlainPlan:
        """The plan checked by its real bytes: the oldest optional messages go until it fits."""
        while True:
            plan = self._plan()
            if plan.total <= self.limit:
                return plan
            loose = [number for number in sorted(self.shown) if number not in fixed]
            if not loose:
                raise BudgetTooSmall(plan.total, self.limit, self._must_stay(fixed))
            # Remove many at once if much is over, because counting thousands of times would take longer than planning.
            over = plan.total - self.limit
            for number in loose:
                over -= self._tokens(self.shown.pop(number))
                if over <= 0:
                    break

    def _must_stay(self, fixed: Sequence[int]) -> list[tuple[str, int]]:
        found = [("tools and framing", self.counter.head(self.given))]
        for number in fixed:
            for index, message in zip(self.steps[number], self.shown[number], strict=True):
                name = f"{'pinned ' * (index in self.held)}{message.role} messages[{index - self.given.lead}]"
                found.append((name, self.counter.message(message)))
        return sorted(found, key=lambda entry: -entry[1])

    def _plan(self) -> PlainPlan:
        """The request with the shown steps, and a note in place of the others if there is room."""
        gone = [
            self.given.messages[index] for n, step in enumerate(self.steps) if n not in self.shown for index in step
        ]
        text = b"\n".join(message.raw for message in gone).decode("utf-8", "surrogatepass")
        plan = self._noted(_note(len(gone), handle_of(text)) if gone else "")
        if gone and plan.total > self.limit:
            plan = self._noted("")
        return replace(plan, archive={**self.archive, handle_of(text): text} if gone else self.archive)

    def _noted(self, note: str) -> PlainPlan:
        messages: list[Message] = []
        places: list[int] = []
        told, before = not note, -1
        for number in sorted(self.shown):
            shown = self.shown[number]
            gap, first = number != before + 1, shown[0].role != "system"
            if gap and first:
                alone = not any(message.role != "system" for message in messages)
                follows = bool(messages) and messages[-1].role == "assistant"
                # Some APIs require the user to speak first, and between two turns of the model.
                needed = shown[0].role == "assistant" and (alone or follows)
                if not told or needed:
                    messages.append(apis.text_message(self.given.api, "user", SIGN if told else note))
                    places.append(NOTE)
                    told = True
            messages += shown
            places += self.steps[number]
            before = number
        conversation = replace(self.given, messages=tuple(messages))
        return PlainPlan(conversation, self._total(conversation), {}, tuple(places))

    def _total(self, conversation: Conversation) -> int:
        return self.size(self.counter.total(conversation))


def _note(number: int, handle: str) -> str:
    return f"[… {number:,} earlier messages left out, {handle}]"


def steps_of(messages: Sequence[Message]) -> list[list[int]]:
    """Message indexes in steps: calls with their results, and reasoning with what follows it.

    Example: user, assistant(calls a, b), tool(a), tool(b), assistant -> [[0], [1, 2, 3], [4]]
    """
    steps: list[list[int]] = []
    waiting: set[str] = set()
    thinking = False
    for index, message in enumerate(messages):
        if waiting and message.role == "user" and not message.answers:
            waiting.clear()  # the user went on without waiting for the results
        if waiting or thinking:
            steps[-1].append(index)
        else:
            steps.append([index])
        waiting.update(message.calls)
        waiting.difference_update(message.answers)
        thinking = bool(message.parts) and all(part.kind == "thinking" for part in message.parts)
    return steps


def _says(messages: Sequence[Message]) -> bool:
    """Whether the user says something in a step besides answering calls."""
    return any(message.role == "user" and any(part.kind != "result" for part in message.parts) for message in messages)


def _cuts(part: Part) -> bool:
    return part.kind in ("text", "result", "call") and bool(part.text) and not part.fixed


def _cap(sizes: Sequence[int], room: int) -> int:
    """The largest size per item at which all fit; small items leave their rest to the others.

    Example: [10, 500, 900] in 300 -> 145
    """
    left, cap = room, 0
    for rank, taken in enumerate(sorted(sizes)):
        cap = left // (len(sizes) - rank)
        if taken > cap:
            return cap
        left -= taken
    return max([cap, *sizes])


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _changed(api: str, message: Message, edits: dict[Path, Any]) -> Message:
    return apis.APIS[api].messages.get(encode(changed(message.value, edits)), "fitted message")
