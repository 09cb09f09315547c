"""Messages from leaves: what a prompt looks like on the wire when some of it is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from brim import wire
from brim.conversation import Conversation, Message, Role, encode
from brim.plan.concise import INSTRUCTIONS
from brim.plan.work import Work
from brim.prompt.pruning import State
from brim.prompt.section import Section
from brim.prompt.tree import SEPARATOR, Node, Tree

# Where instructions are a field of the request rather than a message.
SYSTEM_FIELD = {"anthropic", "gemini"}
# The API that marks where a cached prefix ends, how it marks it, and how often it may.
MARKS, MARK, MOST_MARKS = "anthropic", {"cache_control": {"type": "ephemeral"}}, 4


@dataclass(slots=True)
class Assembly:
    """Writes a tree in the form of an API, and measures it."""

    work: Work
    system_role: bool

    @property
    def api(self) -> str:
        return self.work.conversation.api

    def read(self, section: Section, path: str) -> Message:
        """A section that is a whole message, as the API reads it."""
        return wire.APIS[self.api].messages.get(encode(section.message), f"{path}.message")

    def conversation(self, tree: Tree, kept: Mapping[int, int] | None = None) -> Conversation:
        """The request with so many pieces of each leaf; without `kept` with what the tree itself has kept."""
        slots: list[list[tuple[Node, str]]] = [[] for _ in tree.roles]
        for leaf in tree.leaves:
            text = _text(leaf, kept)
            if text:
                slots[leaf.slot].append((leaf, text))
        marked = self._marked(tree, slots)
        messages: list[Message] = []
        instructions: list[tuple[Node, str]] = []
        for role, parts in zip(tree.roles, slots, strict=True):
            if not parts:
                continue
            raw = parts[0][0].raw
            if raw is not None:
                messages.append(raw)
            elif role == "system" and (not self.system_role or self.api in SYSTEM_FIELD):
                instructions += parts
            else:
                messages.append(self._message(role, parts, marked))
        if not instructions:
            return replace(self.work.conversation, messages=tuple(messages))
        if not self.system_role:
            text = INSTRUCTIONS + SEPARATOR.join(text for _, text in instructions)
            first = wire.text_message(self.api, "user", text)
            return replace(self.work.conversation, messages=(first, *messages))
        return replace(
            self.work.conversation, messages=tuple(messages), system=self._instructions(instructions, marked)
        )

    def _marked(self, tree: Tree, slots: list[list[tuple[Node, str]]]) -> set[int]:
        """The places of the last leaves before each breakpoint, where the API takes marks."""
        if self.api != MARKS:
            return set()
        shown = [leaf.place for parts in slots for leaf, _ in parts if leaf.raw is None]
        found: list[int] = []
        for node in (node for root in tree.roots for node in root.nodes() if node.section.cache_breakpoint):
            end = max(leaf.place for leaf in node.leaves())
            before = max((place for place in shown if place <= end), default=None)
            if before is not None:
                found.append(before)
        return set(sorted(set(found))[-MOST_MARKS:])

    def _message(self, role: Role, parts: list[tuple[Node, str]], marked: set[int]) -> Message:
        if not any(leaf.place in marked for leaf, _ in parts):
            return wire.text_message(self.api, role, SEPARATOR.join(text for _, text in parts))
        value = {**wire.APIS[self.api].text_message(role, ""), "content": _blocks(parts, marked)}
        return wire.APIS[self.api].messages.get(encode(value), "prompt message")

    def _instructions(self, parts: list[tuple[Node, str]], marked: set[int]) -> Message:
        systems = wire.APIS[self.api].systems
        assert systems is not None
        text = SEPARATOR.join(text for _, text in parts)
        value: Any = text
        if self.api == "gemini":
            value = {"parts": [{"text": text}]}
        elif any(leaf.place in marked for leaf, _ in parts):
            value = _blocks(parts, marked)
        return systems.get(encode(value), "instructions")

    def total(self, tree: Tree, state: State | None = None) -> int:
        """The tokens that count against the limit."""
        return self.work.total(self.conversation(tree, state.kept if state else None))

    def raw(self, room: int) -> int:
        """The tokens of a text that take so much of the limit, where the limit is counted with a margin."""
        return room * 10_000 // max(10_000, self.work.size(10_000))

    def inner(self, tree: Tree, node: Node, state: State | None = None) -> int:
        """The tokens of one node: of its text, or of its messages where it holds whole ones."""
        kept = state.kept if state else None
        if node.raw is not None:
            return self.work.counter.message(node.raw) if _pieces(node, kept) else 0
        if node.slot >= 0:
            joined = SEPARATOR.join(text for leaf in node.leaves() if (text := _text(leaf, kept)))
            return self.work.counter.text(joined) if joined else 0
        inside = {leaf.place for leaf in node.leaves()}
        shown = {leaf.place: _pieces(leaf, kept) if leaf.place in inside else 0 for leaf in tree.leaves}
        empty = dict.fromkeys(shown, 0)
        count = self.work.counter.total
        return count(self.conversation(tree, shown)) - count(self.conversation(tree, empty))


def _pieces(leaf: Node, kept: Mapping[int, int] | None) -> int:
    return leaf.kept if kept is None else min(leaf.kept, kept[leaf.place])


def _text(leaf: Node, kept: Mapping[int, int] | None) -> str:
    return "".join(leaf.pieces[: _pieces(leaf, kept)])


def _blocks(parts: list[tuple[Node, str]], marked: set[int]) -> list[dict[str, Any]]:
    """Text blocks that end where a cached prefix ends."""
    found: list[dict[str, Any]] = []
    texts: list[str] = []
    for number, (leaf, text) in enumerate(parts):
        texts.append(text)
        last = number == len(parts) - 1
        if leaf.place in marked or last:
            # What follows another block starts as it would after the separator inside one.
            joined = SEPARATOR.join(texts) + ("" if last else SEPARATOR)
            found.append({"type": "text", "text": joined, **(MARK if leaf.place in marked else {})})
            texts = []
    return found
