"""What folded results said, in a line each: identifiers that outlive their step.

A step of an agent is expensive to keep for one value: its frame, its call and the floor of its results are paid too.
Where that is too much, the best values of its results stand in the notice that tells of folded messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from brim.conversation import Message
from brim.ladders.json.skeleton import Skeleton
from brim.plan.bones import filled
from brim.plan.items import Item
from brim.plan.pieces import Piece

# What naming a result takes beside its values.
NAMING = 4
# Of a result that is so small that it is kept whole or not at all, what is worth this much: identifiers and numbers.
WORTH = 0.5


@dataclass(slots=True)
class Gleanings:
    """Of results that may be folded the values that are worth their place all the same."""

    messages: Sequence[Message]
    _taken: dict[int, tuple[Item, Skeleton, float]] = field(default_factory=dict)
    _some: dict[int, str] = field(default_factory=dict)  # what is said of those of which not all fits

    def __bool__(self) -> bool:
        return bool(self._taken)

    def cost(self, piece: Piece) -> int | None:
        """About what a piece takes in the notice; None for what is nothing without its step."""
        if piece.threshold is None:
            return None
        whole = id(piece.item) in self._taken and id(piece.item) not in self._some
        return piece.tokens if whole else piece.tokens + NAMING

    def take(self, piece: Piece) -> None:
        assert piece.threshold is not None
        assert piece.item.skeleton is not None  # what divides by its values has one
        self._taken[id(piece.item)] = piece.item, piece.item.skeleton, piece.threshold
        self._some.pop(id(piece.item), None)

    def take_some(self, piece: Piece, room: int, count: Callable[[str], int]) -> int:
        """Take as much of a piece as there is room for; return how many tokens that is."""
        item, skeleton, worth = piece.item, piece.item.skeleton, piece.threshold
        if room <= NAMING or worth is None or skeleton is None or id(item) in self._taken:
            return 0
        named = count(f"\n{_tool(self.messages, item)} returned ")
        text = filled(skeleton, room - named, count, "", worth)
        if not text:
            return 0
        self._taken[id(item)], self._some[id(item)] = (item, skeleton, worth), text
        return named + count(text)

    def take_small(self, items: Iterable[Item], room: int, small: Callable[[Item], Skeleton | None]) -> int:
        """Take what the small results of a step say, as far as there is room; return about how many tokens that is."""
        taken = 0
        for item in items:
            skeleton = small(item) if id(item) not in self._taken else None
            if skeleton is None or not any(leaf.score >= WORTH for leaf in skeleton.leaves):
                continue
            cost = skeleton.tokens_at(WORTH) + NAMING
            if cost <= room - taken:
                taken += cost
                self._taken[id(item)] = item, skeleton, WORTH
        return taken

    def text(self, folded: Collection[int]) -> str:
        """The values of those that are folded, a line for each result, in the order of the conversation.

        Example: "\\nbook_flight returned booking_id:3426812,transaction_id:45451592"
        """
        gone = [each for each in self._taken.values() if each[0].message in folded]
        gone.sort(key=lambda each: (each[0].message, each[0].part))
        said = [(_tool(self.messages, item), self._said(id(item))) for item, _, _ in gone]
        return "".join([f"\n{name or 'a tool'} returned {values}" for name, values in said if values])

    def lower(self, over: int, count: Callable[[str], int]) -> None:
        """Let go of about `over` tokens of what is worth the least, or of all that it says."""
        key = min(self._taken, key=lambda key: (self._taken[key][2], self._taken[key][0].message))
        _, skeleton, worth = self._taken[key]
        said = self._said(key)
        less = filled(skeleton, count(said) - over, count, "", worth)
        if less and less != said:
            self._some[key] = less
        else:
            del self._taken[key]
            self._some.pop(key, None)

    def _said(self, key: int) -> str:
        _, skeleton, worth = self._taken[key]
        return self._some.get(key) or skeleton.at(worth).removesuffix(skeleton.mark).rstrip("\n")


def _tool(messages: Sequence[Message], result: Item) -> str:
    """The tool whose result this is: the result says so, or the call that it answers."""
    if result.name:
        return result.name
    answered = messages[result.message].parts[result.part].call
    for message in map(messages.__getitem__, range(result.message - 1, -1, -1)):
        for part in message.parts:
            if part.kind == "call" and part.call == answered:
                return part.name
        if message.role == "user" and not message.answers:
            break
    return ""
