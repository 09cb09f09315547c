"""Builds messages from leaves: the request that a prompt becomes when some of it is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from brim import apis
from brim.apis.anthropic.cache_marks import CACHE_CONTROL, MARK, MARKABLE, MOST
from brim.apis.api import Api
from brim.conversation import Conversation, Message, Role, encode
from brim.planning.policies.concise import INSTRUCTIONS
from brim.planning.request import PlanRequest
from brim.prompt.pruning import PruningState
from brim.prompt.section import Section
from brim.prompt.tree import SEPARATOR, Node, Tree


@dataclass(frozen=True, slots=True)
class Laid:
    """Messages with the slots they come from, and the instructions if they are a field of the request."""

    messages: list[tuple[int, Message]]
    system: Message | None = None


@dataclass(slots=True)
class Assembly:
    """Writes a tree in the form of an API, and measures it."""

    work: PlanRequest
    system_role: bool
    separator: str = SEPARATOR

    @property
    def api(self) -> str:
        return self.work.conversation.api

    @property
    def spec(self) -> Api:
        return apis.APIS[self.api]

    @property
    def system_field(self) -> bool:
        """Whether instructions are a field of the request rather than a message."""
        return not self.spec.system_messages

    def read(self, section: Section, path: str) -> Message:
        """A section that is a whole message, as the API reads it."""
        return apis.APIS[self.api].messages.get(encode(section.message), f"{path}.message")

    def conversation(self, tree: Tree, kept: Mapping[int, int] | None = None) -> Conversation:
        """The request with `kept` pieces of each leaf; by default those that the tree itself kept."""
        return self.of(self.laid_out(tree, kept))

    def of(self, laid: Laid) -> Conversation:
        messages = tuple(message for _, message in laid.messages)
        if laid.system is None:
            return replace(self.work.conversation, messages=messages)
        return replace(self.work.conversation, messages=messages, system=laid.system)

    def laid_out(self, tree: Tree, kept: Mapping[int, int] | None = None) -> Laid:
        """The layout: each message with its slot, and the instructions."""
        slots: list[list[tuple[Node, str]]] = [[] for _ in tree.roles]
        for leaf in tree.leaves:
            text = _text(leaf, kept)
            if text:
                slots[leaf.slot].append((leaf, text))
        marked = self._marked(tree, slots)
        messages: list[tuple[int, Message]] = []
        instructions: list[tuple[Node, str]] = []
        for slot, parts in enumerate(slots):
            if not parts:
                continue
            leaf = parts[0][0]
            if leaf.raw is not None:
                messages.append((slot, marked_message(leaf.raw) if leaf.place in marked else leaf.raw))
            elif not any(text.strip() for _, text in parts):
                continue  # no API accepts an empty message
            elif tree.roles[slot] == "system" and (not self.system_role or self.system_field):
                instructions += parts
            else:
                messages.append((slot, self._message(tree.roles[slot], parts, marked)))
        if instructions and not self.system_role:
            text = INSTRUCTIONS + self._joined(instructions)
            return Laid([(instructions[0][0].slot, apis.text_message(self.api, "user", text)), *messages])
        return Laid(messages, self._instructions(instructions, marked) if instructions else None)

    def _marked(self, tree: Tree, slots: list[list[tuple[Node, str]]]) -> set[int]:
        """The places of the last leaves before each breakpoint, where the API takes marks."""
        nodes = [node for root in tree.roots for node in root.nodes() if node.section.cache_breakpoint]
        if not self.spec.marks_cache or not nodes:
            return set()
        leaves = [leaf for parts in slots for leaf, _ in parts]
        own = sum(leaf.raw.raw.count(MARK) for leaf in leaves if leaf.raw is not None)
        own += (self.work.conversation.tools or b"").count(MARK)
        shown = [leaf.place for leaf in leaves if leaf.raw is None or marked_message(leaf.raw) is not leaf.raw]
        found: list[int] = []
        for node in nodes:
            end = max(leaf.place for leaf in node.leaves())
            before = max((place for place in shown if place <= end), default=None)
            if before is not None:
                found.append(before)
        most = max(0, MOST - own)
        return set(sorted(set(found), reverse=True)[:most])

    def _message(self, role: Role, parts: list[tuple[Node, str]], marked: set[int]) -> Message:
        if not any(leaf.place in marked for leaf, _ in parts):
            return apis.text_message(self.api, role, self._joined(parts))
        value = {**apis.APIS[self.api].text_message(role, ""), "content": self._blocks(parts, marked)}
        return apis.APIS[self.api].messages.get(encode(value), "prompt message")

    def _instructions(self, parts: list[tuple[Node, str]], marked: set[int]) -> Message:
        systems = self.spec.systems
        assert systems is not None
        text = self._joined(parts)
        value = self.spec.system_value(text)
        if any(leaf.place in marked for leaf, _ in parts):
            value = self._blocks(parts, marked)
        return systems.get(encode(value), "instructions")

    def _joined(self, parts: Sequence[tuple[Node, str]]) -> str:
        """Texts with the separator between those of one message; instructions are several messages in one."""
        found = [text for _, text in parts[:1]]
        for (before, _), (leaf, text) in pairwise(parts):
            found += [self._between(before, leaf), text]
        return "".join(found)

    def _between(self, before: Node, after: Node) -> str:
        return self.separator if before.slot == after.slot else SEPARATOR

    def _blocks(self, parts: list[tuple[Node, str]], marked: set[int]) -> list[dict[str, Any]]:
        """Text blocks that end where a cached prefix ends."""
        found: list[dict[str, Any]] = []
        start = 0
        for number, (leaf, _) in enumerate(parts):
            last = number == len(parts) - 1
            if leaf.place in marked or last:
                # What follows another block starts as it would after the separator inside one.
                between = "" if last else self._between(leaf, parts[number + 1][0])
                text = self._joined(parts[start : number + 1]) + between
                found.append({"type": "text", "text": text, **(CACHE_CONTROL if leaf.place in marked else {})})
                start = number + 1
        return found

    def total(self, tree: Tree, state: PruningState | None = None) -> int:
        """The tokens that count against the limit."""
        return self.work.total(self.conversation(tree, state.kept if state else None))

    def raw(self, room: int) -> int:
        """How many raw tokens use up this much of a limit that is counted with a margin."""
        return room * 10_000 // max(10_000, self.work.size(10_000))

    def inner(self, tree: Tree, node: Node, state: PruningState | None = None) -> int:
        """The tokens of one node: of its text, or of its messages where it holds whole ones."""
        kept = state.kept if state else None
        if node.raw is not None:
            return self.work.counter.message(node.raw) if _pieces(node, kept) else 0
        if node.slot >= 0:
            joined = self.separator.join(text for leaf in node.leaves() if (text := _text(leaf, kept)))
            return self.work.counter.text(joined) if joined else 0
        inside = {leaf.place for leaf in node.leaves()}
        shown = {leaf.place: _pieces(leaf, kept) if leaf.place in inside else 0 for leaf in tree.leaves}
        empty = dict.fromkeys(shown, 0)
        count = self.work.counter.total
        return count(self.conversation(tree, shown)) - count(self.conversation(tree, empty))


def marked_message(message: Message) -> Message:
    """A message with a cache breakpoint at its end; unchanged if it has one already or can't carry one."""
    value = message.value
    content = value.get("content")
    if MARK in message.raw or not content:
        return message
    if isinstance(content, str):
        content = value["content"] = [{"type": "text", "text": content}]
    last = content[-1]
    if last.get("type") not in MARKABLE or last.get("text") == "":
        return message
    content[-1] = {**last, **CACHE_CONTROL}
    return apis.APIS["anthropic"].messages.get(encode(value), "prompt message")


def _pieces(leaf: Node, kept: Mapping[int, int] | None) -> int:
    return leaf.kept if kept is None else min(leaf.kept, kept[leaf.place])


def _text(leaf: Node, kept: Mapping[int, int] | None) -> str:
    return "".join(leaf.pieces[: _pieces(leaf, kept)])
