"""The items of a request, in groups that are kept or archived together.

A group is a user's message, an answer, or a step of an agent (calls with all their results). An item is a part
of a message, or a block inside one: a pasted log beside the instruction that asks about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from brim.apis.plain_messages import Columns
from brim.content.documents.xml_blocks import blocks
from brim.conversation import Conversation, Message, Part
from brim.count_text import CountText

SYSTEM = -1  # no index of a message
ItemKind = Literal["text", "block", "call", "result", "thinking", "media"]
# What a plan gives an item: tokens, the text that it then has, the tokens of that, and its fidelity.
ItemState = tuple[int, str | None, int, str]
# A text of at most this many tokens is kept whole or not at all.
WHOLE = 160
# Texts with fewer characters are a single item; there is nothing worth splitting off.
SPLIT_FROM = 600
# Characters at each end of a long undelimited message that count as its instruction.
INSTRUCTION = 600


class Item(msgspec.Struct, gc=False):
    """The smallest unit of planning. A long history has thousands, so items have no references back."""

    message: int
    part: int
    text: str
    tokens: int
    kind: ItemKind
    layer: int
    start: int = 0
    must: bool = False
    rule: str = ""  # the rule that decided on it, for the report
    name: str = ""
    fixed: bool = False
    droppable: bool = True
    whole: bool = False  # kept whole or not at all
    # The plan's decision: how many tokens it gets, and its text then (None: unchanged).
    given: int = 0
    shown: str | None = None
    shown_tokens: int = 0
    fidelity: str = "lossless"

    @property
    def state(self) -> ItemState:
        return self.given, self.shown, self.shown_tokens, self.fidelity

    def go_back(self, state: ItemState) -> None:
        """Be shown as before."""
        self.given, self.shown, self.shown_tokens, self.fidelity = state


class Group(msgspec.Struct, gc=False):
    """Messages that are kept or archived together, with their items. `frame` is the overhead if any of it is kept."""

    members: Sequence[int]
    items: list[Item] = []  # each group has a list of its own
    frame: int = 0
    short: bool = False  # a single short text of the history, kept or not; long histories have thousands
    must: bool = False
    layer: int = 4
    kept: bool = False
    rank: float = 0.0

    @property
    def tokens(self) -> int:
        items = self.items
        return self.frame + (items[0].tokens if len(items) == 1 else sum([item.tokens for item in items]))


def current(messages: tuple[Message, ...]) -> int:
    """The index of the current message: the last one in which the user says something."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and any(part.kind != "result" for part in message.parts):
            return index
    return len(messages) - 1


def last_exchange(groups: Sequence[Group], messages: tuple[Message, ...]) -> list[Group]:
    """What the user said before the current message, and the last that was answered to it; none of it where it has to
    stay in any case, or is a step with calls.
    """
    now = current(messages)
    found: list[Group] = []
    for group in reversed(groups):
        first = group.members[0]
        if first >= now:
            continue
        if first == SYSTEM or group.must or not group.items:
            break
        if any(item.kind not in ("text", "block") or item.fixed for item in group.items):
            continue
        asks = messages[first].role == "user"
        if asks or not found:
            found.append(group)
        if asks:
            break
    return found[::-1]


def grouped(messages: tuple[Message, ...]) -> list[list[int]]:
    """Message indexes in groups: calls with their results, and consecutive messages of the model.

    Example: user, assistant(calls a, b), tool(a), tool(b), assistant -> [[0], [1, 2, 3], [4]]
    """
    groups: list[list[int]] = []
    open_calls: set[str] = set()
    unfinished = False
    for index, message in enumerate(messages):
        if open_calls and message.role == "user" and not message.answers:
            open_calls.clear()  # the user continued without waiting for the results
        if open_calls or unfinished:
            groups[-1].append(index)
        else:
            groups.append([index])
        if message.calls:
            open_calls.update(message.calls)
        if message.answers:
            open_calls.difference_update(message.answers)
        unfinished = _only_thinks(message)
    return groups


def unfinished(group: tuple[Message, ...]) -> bool:
    """Whether the last group of a list continues after it: a call waits for its result, or reasoning for its answer."""
    waiting = {call for message in group for call in message.calls}
    return not waiting <= {call for message in group for call in message.answers} or _only_thinks(group[-1])


def _only_thinks(message: Message) -> bool:
    """Whether a message is only reasoning, which belongs to what comes next."""
    parts = message.parts
    return bool(parts) and parts[0].kind == "thinking" and all(part.kind == "thinking" for part in parts)


def _loose(messages: Iterable[Message]) -> bool:
    """Whether every message forms its own group."""
    return not any(message.calls or message.answers or _only_thinks(message) for message in messages)


@dataclass(frozen=True, slots=True)
class Guess:
    """Estimates the tokens of each message of a long history from its bytes."""

    columns: Columns
    share: float

    def tokens(self, indexes: Sequence[int]) -> int:
        lengths = self.columns.lengths
        return int(self.share * sum([lengths[index] for index in indexes]))


@dataclass(frozen=True, slots=True)
class WorthSeeing:
    """The part of a long history worth examining, and the approximate size of the rest."""

    chosen: set[int]
    guess: Guess


class Itemizer:
    """Cuts a conversation into groups of items with their sizes."""

    def __init__(
        self,
        conversation: Conversation,
        sizes: Callable[[Message], tuple[int, tuple[int, ...]]],
        count: CountText,
        layers: Mapping[int, int] | None = None,
        seen: WorthSeeing | None = None,
        held: frozenset[int] = frozenset(),
    ) -> None:
        self.conversation = conversation
        self._sizes = sizes
        self._count = count
        self._layers = layers or {}
        self._seen = seen
        self._held = held
        self.now = current(conversation.messages)

    def groups(self) -> list[Group]:
        found: list[Group] = []
        if self.conversation.system is not None:
            group = Group([SYSTEM], must=True, layer=1)
            self._fill(group, SYSTEM, self.conversation.system)
            group.frame = 0  # counted in the head of the request
            found.append(group)
        messages = self.conversation.messages
        last = len(messages) - 1
        own = {self.now, last, *self._held, *self._layers}
        for indexes, looked_at in self._grouped():
            if looked_at:
                short = self._short(indexes[0]) if len(indexes) == 1 and indexes[0] not in own else None
                found.append(short or self._group(indexes, indexes[-1] == last))
            elif self._seen is not None:
                found.append(Group(indexes, frame=self._seen.guess.tokens(indexes)))
        return found

    def _grouped(self) -> Iterator[tuple[Sequence[int], bool]]:
        """Groups of indexes and whether to examine them; consecutive unexamined messages are archived together."""
        messages, seen = self.conversation.messages, self._seen
        if seen is not None and _loose([messages[n] for n in seen.guess.columns.others]):
            before = 0
            for index in sorted({*seen.chosen, len(messages) - 1}):
                if before < index:
                    yield range(before, index), False
                yield range(index, index + 1), True
                before = index + 1
            return
        passed: list[int] = []
        members = grouped(messages)
        for indexes in members:
            if seen is not None and indexes is not members[-1] and seen.chosen.isdisjoint(indexes):
                passed += indexes
                continue
            if passed:
                yield passed, False
                passed = []
            yield indexes, True

    def _short(self, index: int) -> Group | None:
        """The group for a short text of the history; None for other messages."""
        message = self.conversation.messages[index]
        if not message.plain or message.role == "system":
            return None
        text = message.parts[0].text
        if len(text) >= SPLIT_FROM:
            return None
        total, sizes = self._sizes(message)
        item = Item(index, 0, text, sizes[0], "text", 4)
        return Group(range(index, index + 1), [item], total - sizes[0], 0 < sizes[0] <= WHOLE)

    def _group(self, indexes: Sequence[int], last: bool) -> Group:
        messages = self.conversation.messages
        role = messages[indexes[0]].role
        now = self.now in indexes
        layer = self._layers.get(indexes[0], 1 if role == "system" else 5 if now else 4)
        held = not self._held.isdisjoint(indexes)
        group = Group(indexes, must=role == "system" or layer == 1 or now or last or held, layer=layer)
        for index in indexes:
            self._fill(group, index, messages[index])
        return group

    def _fill(self, group: Group, index: int, message: Message) -> None:
        total, sizes = self._sizes(message)
        group.frame += total - sum(sizes)
        for number, (part, size) in enumerate(zip(message.parts, sizes, strict=True)):
            items = self._items(group, index, number, part, size)
            for item in items if index in self._held else ():
                item.must = True
            group.items += items

    def _items(self, group: Group, index: int, number: int, part: Part, size: int) -> list[Item]:
        if self._whole(index, part):
            item = Item(index, number, part.text, size, "result", group.layer, must=group.must, name=part.name)
            item.fixed, item.droppable = True, False
            return [item]
        if part.kind in ("call", "result", "thinking"):
            kind: ItemKind = part.kind
            media = part.kind == "result" and part.fixed and not part.text
            item = Item(index, number, part.text, size, "media" if media else kind, group.layer, name=part.name)
            item.fixed = part.fixed
            item.droppable = part.block != ()  # reasoning that is its own message goes only with its group
            item.must = group.must and (part.fixed or part.kind == "thinking") and not media
            return [item]
        if part.kind != "text":
            name = part.name or (part.kind if part.kind in ("image", "audio", "file") else "")
            return [Item(index, number, "", size, "media", group.layer, must=False, fixed=True, name=name)]
        if part.name:  # a document next to a text about it
            layer = 3 if group.layer == 5 else group.layer
            return [Item(index, number, part.text, size, "block", layer, name=part.name, fixed=part.fixed)]
        if group.layer in (2, 3) and not part.fixed and index not in self._held:
            # Attached context is shortened as a whole, so that its blocks keep both tags or go.
            return [Item(index, number, part.text, size, "block", group.layer, must=False)]
        splits = len(part.text) >= SPLIT_FROM and not part.fixed and index not in self._held
        if splits:
            cut = self._cut(group, index, number, part, size)
            if len(cut) > 1:
                return cut
        item = Item(index, number, part.text, size, "text", group.layer, must=group.must, fixed=part.fixed)
        return [item]

    def _whole(self, index: int, part: Part) -> bool:
        """Whether a part is its whole message, or a result only its API can write, so that no text can replace it."""
        if not part.fixed or part.text or part.kind == "thinking":
            return False
        alone = part.kind == "result" and part.at == part.block
        return part.at == () or (alone and index != SYSTEM and self.conversation.messages[index].role != "tool")

    def _cut(self, group: Group, index: int, number: int, part: Part, size: int) -> list[Item]:
        """A text's blocks, and the instructions between them."""
        spans = [(span.start, span.end, True, span.name) for span in blocks(part.text)]
        # A message of one long line is neither all instruction nor all data: a question may be at either end.
        alone = len(spans) == 1 and not (part.text[: spans[0][0]] + part.text[spans[0][1] :]).strip()
        if (not spans or alone) and group.layer == 5 and len(part.text) > 4 * INSTRUCTION:
            spans = [(*_middle(part.text), True, "")]
        items: list[Item] = []
        at = 0
        for start, end, block, name in [*spans, (len(part.text), len(part.text), False, "")]:
            if at < start:
                items.append(self._piece(group, index, number, part.text[at:start], at, False, ""))
            if block:
                items.append(self._piece(group, index, number, part.text[start:end], start, True, name))
            at = end
        return items

    def _piece(self, group: Group, index: int, number: int, text: str, start: int, block: bool, name: str) -> Item:
        layer = group.layer
        if block and layer == 5:
            layer = 2 if name == "prior_context" else 3
        return Item(
            index,
            number,
            text,
            self._count(text),
            "block" if block else "text",
            layer,
            start=start,
            must=group.must and not block,
            name=name,
        )


def _middle(text: str) -> tuple[int, int]:
    """The middle of a long message, between its first and last words, cut at line or word ends.

    Example: what stands between "Summarise this:" and "… and be brief." in a message without any markup
    """
    start = _border(text, INSTRUCTION, 0, 1)
    end = _border(text, len(text) - INSTRUCTION, len(text), -1)
    return (start, end) if start < end else (INSTRUCTION, len(text) - INSTRUCTION)


def _border(text: str, near: int, edge: int, step: int) -> int:
    """A good place to cut between `near` and the edge: after a line, else a sentence, else a word."""
    low, high = sorted((near, edge))
    for sign in ("\n\n", "\n", ". ", " "):
        found = text.rfind(sign, low, high) if step > 0 else text.find(sign, low, high)
        if found > low:
            return found + len(sign)
    return near
