"""A conversation on its way to the planner, with what a policy added to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from brim.conversation import Conversation, Message

# The place of messages that a policy added.
ADDED = -1


@dataclass(frozen=True, slots=True)
class Draft:
    """A conversation to plan, with extra information on its messages by index.

    Example: three messages with notes before the last one -> places (0, 1, ADDED, 2), names {2: "context a.md"}
    """

    conversation: Conversation
    places: Sequence[int] | None = None  # each message's index in the original conversation; None: unchanged
    names: Mapping[int, str] = field(default_factory=dict)  # names of added messages
    layers: Mapping[int, int] = field(default_factory=dict)  # layers, where the role doesn't determine them
    held: frozenset[int] = frozenset()  # messages that stay unchanged
    last: frozenset[int] = frozenset()  # those of them that stay because project context yields first

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.conversation.messages

    @property
    def stay(self) -> set[int]:
        """The messages, other than system messages, that have to stay: instructions and held ones."""
        return {index for index, layer in self.layers.items() if layer == 1} | self.held

    def place(self, index: int) -> int:
        return index if self.places is None else self.places[index]

    def given(self, indexes: Iterable[int]) -> list[int]:
        """Indexes in the original conversation, without added messages."""
        return [place for index in indexes if (place := self.place(index)) != ADDED]

    def name(self, index: int) -> str:
        """A message's name in reports. Example: "messages[3]" of the caller's list, "summary", "context notes.md" """
        return self.names.get(index) or own_name(self.conversation, self.place(index))

    def inserted(self, at: int, message: Message, name: str, layer: int | None = None, *, held: bool = False) -> Draft:
        """The draft with one more message."""

        def moved(index: int) -> int:
            return index + (index >= at)

        messages, places = list(self.messages), list(self._places())
        messages.insert(at, message)
        places.insert(at, ADDED)
        return Draft(
            replace(self.conversation, messages=tuple(messages)),
            places,
            {moved(index): text for index, text in self.names.items()} | {at: name},
            {moved(index): which for index, which in self.layers.items()} | ({} if layer is None else {at: layer}),
            frozenset(moved(index) for index in self.held) | (frozenset([at]) if held else frozenset()),
        )

    def without(self, gone: Iterable[int]) -> Draft:
        """The draft without some messages."""
        dropped = set(gone)
        return self.ordered([index for index in range(len(self.messages)) if index not in dropped])

    def ordered(self, kept: Sequence[int]) -> Draft:
        """The draft with only these messages, in this order."""
        now, places = {index: number for number, index in enumerate(kept)}, self._places()
        return Draft(
            replace(self.conversation, messages=tuple(self.messages[index] for index in kept)),
            [places[index] for index in kept],
            {now[index]: text for index, text in self.names.items() if index in now},
            {now[index]: layer for index, layer in self.layers.items() if index in now},
            frozenset(now[index] for index in self.held if index in now),
        )

    def showing(self, messages: Iterable[Message]) -> Draft:
        """The draft with its messages replaced."""
        return replace(self, conversation=replace(self.conversation, messages=tuple(messages)))

    def showing_at(self, messages: Mapping[int, Message]) -> Draft:
        """The draft with some of its messages replaced."""
        return self.showing([messages.get(index, message) for index, message in enumerate(self.messages)])

    def _places(self) -> Sequence[int]:
        return range(len(self.messages)) if self.places is None else self.places


def own_name(conversation: Conversation, index: int) -> str:
    """The name of one of the caller's messages: its index in the list, or the field it came from."""
    return f"messages[{index - conversation.lead}]" if index >= conversation.lead else "system"
