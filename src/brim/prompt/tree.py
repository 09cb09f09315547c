"""The sections of a prompt as a tree: which leaves there are, which message each is in, and what is bound to what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from brim.conversation import Message, Role
from brim.errors import BadInput
from brim.prompt.section import Section, listed

SEPARATOR = "\n\n"


@dataclass(slots=True, eq=False)
class Node:
    """A section in its place. A leaf has `pieces`: what it may be cut into, of which the first `kept` stay."""

    section: Section
    path: str
    children: list[Node] = field(default_factory=list)
    place: int = 0
    slot: int = -1  # the message that a leaf is in; for other nodes the one they are inside, if they are
    pieces: list[str] = field(default_factory=list)
    kept: int = 0
    raw: Message | None = None
    told: int | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        return self.section.name or self.path

    @property
    def text(self) -> str:
        return "".join(self.pieces[: self.kept])

    @property
    def whole(self) -> bool:
        return self.kept == len(self.pieces)

    @property
    def gone(self) -> bool:
        """Whether it had something to show and nothing of that is left; one that is still to expand is not gone."""
        had = [leaf for leaf in self.leaves() if leaf.pieces or leaf.section.expand is not None]
        return bool(had) and not any(leaf.kept or leaf.waits for leaf in had)

    @property
    def waits(self) -> bool:
        """Whether it is a leaf that has still to be told its budget."""
        return self.section.expand is not None and self.told is None

    def leave(self, reason: str) -> bool:
        """Take out what is left of a leaf; whether there was something."""
        if not self.kept and not self.waits:
            return False
        self.kept, self.reason = 0, reason
        if self.section.expand is not None:
            self.told = 0
        return True

    def put(self, text: str) -> None:
        """Give a leaf another text, in one piece."""
        self.pieces = [text] if text else []
        self.kept = len(self.pieces)

    def leaves(self) -> Iterator[Node]:
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def nodes(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.nodes()


@dataclass(slots=True)
class Tree:
    """All of a prompt: `roles` of its messages, and how many leaves stand before the last breakpoint (`pinned`)."""

    roots: list[Node]
    leaves: list[Node]
    roles: list[Role]
    bonds: dict[str, list[Node]]
    pinned: int

    def part(self) -> None:
        """Take out what is bound to a section of which nothing is left, whatever took that."""
        changed = True
        while changed:
            changed = False
            for node in [node for root in self.roots for node in root.nodes() if node.gone]:
                for other in self.bound(node)[1:]:
                    for leaf in other.leaves():
                        changed |= leaf.leave(f"goes with {node.name}")

    def bound(self, node: Node) -> list[Node]:
        """The node with everything that goes when it goes."""
        found = [node]
        seen = {id(node)}
        for member in found:
            for key in keys(member):
                for other in self.bonds.get(key, ()):
                    if id(other) not in seen:
                        seen.add(id(other))
                        found.append(other)
        return found


def keys(node: Node) -> list[str]:
    """What a node is bound by: the word it shares, its own name, and the calls of a message."""
    found = [f"with:{word}" for word in (node.section.keep_with, node.section.name) if word]
    if node.raw is not None:
        found += [f"call:{call}" for call in (*node.raw.calls, *node.raw.answers)]
    return found


def grow(sections: Iterable[Section | str], read: Callable[[Section, str], Message]) -> Tree:
    """The tree of some sections; `read` reads those that are whole messages."""
    roots = [_node(section, f"sections[{n}]", read) for n, section in enumerate(_listed(sections, "sections"))]
    leaves = [leaf for root in roots for leaf in root.leaves()]
    for number, leaf in enumerate(leaves):
        leaf.place = number
    roles: list[Role] = []
    _seat(roots, roles)
    linked = {node.section.keep_with for root in roots for node in root.nodes() if node.section.keep_with}
    bonds: dict[str, list[Node]] = {}
    for node in (node for root in roots for node in root.nodes()):
        for key in keys(node):
            if not key.startswith("with:") or key[5:] in linked:
                bonds.setdefault(key, []).append(node)
    return Tree(roots, leaves, roles, bonds, _pinned(roots))


def _listed(sections: Iterable[Section | str], at: str) -> list[Section]:
    if not listed(sections):
        raise BadInput(at, "must be a list of sections")
    found = [Section(item) if isinstance(item, str) else item for item in sections]
    for number, item in enumerate(found):
        if not isinstance(item, Section):
            raise BadInput(f"{at}[{number}]", f"must be a Section or text, not {type(item).__name__}")
    return found


def _node(section: Section, path: str, read: Callable[[Section, str], Message]) -> Node:
    section.check(path)
    node = Node(section, path)
    inner = _listed(section.children, f"{path}.children")
    node.children = [_node(child, f"{path}.children[{n}]", read) for n, child in enumerate(inner)]
    if section.message is not None:
        node.raw = read(section, path)
        node.put(node.raw.text or " ")
    elif section.text:
        node.pieces = cut(section.text, section.break_on)
        node.kept = len(node.pieces)
    return node


def cut(text: str, break_on: str) -> list[str]:
    """Example: ("a, b, c", ", ") -> ["a, ", "b, ", "c"]"""
    if not break_on:
        return [text]
    parts = text.split(break_on)
    return [part + break_on for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _seat(nodes: Sequence[Node], roles: list[Role]) -> None:
    """Give each leaf its message. Sections without a role that stand beside each other are one user message."""
    open_slot = -1
    for node in nodes:
        if node.raw is not None or node.section.role is not None:
            roles.append(node.raw.role if node.raw is not None else node.section.role or "user")
            _fill(node, len(roles) - 1)
            open_slot = -1
        elif any(inner.section.role is not None or inner.raw is not None for inner in node.nodes()):
            _seat(node.children, roles)
            open_slot = -1
        else:
            if open_slot < 0:
                roles.append("user")
                open_slot = len(roles) - 1
            _fill(node, open_slot)


def _fill(node: Node, slot: int) -> None:
    node.slot = slot
    for child in node.children:
        for inner in child.nodes():
            if inner.section.role is not None or inner.raw is not None:
                raise BadInput(f"{inner.path}.role", "a message cannot stand inside another")
            inner.slot = slot


def _pinned(roots: list[Node]) -> int:
    """How many leaves stand before the end of the last cache breakpoint."""
    last = 0
    for root in roots:
        for node in root.nodes():
            if node.section.cache_breakpoint:
                last = max(last, max(leaf.place for leaf in node.leaves()) + 1)
    return last
