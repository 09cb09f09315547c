"""Pruning: the order in which sections leave, and how many of them have to.

The order is fixed before anything is counted, so what leaves at one budget leaves at every smaller one too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from brim.prompt.tree import Node, Tree


@dataclass(slots=True)
class Removal:
    """One section leaves: some leaves are left with so many pieces, and some nodes lose what was reserved for them.

    A text that may be cut leaves in `parts` parts, its end first.
    """

    node: Node
    cuts: list[tuple[Node, int]] = field(default_factory=list)
    released: list[Node] = field(default_factory=list)
    parts: int = 1


@dataclass(slots=True)
class PruningState:
    """What remains after some removals: the pieces of each leaf by place, and the nodes without their reserve."""

    kept: dict[int, int]
    released: set[int]


def removals(tree: Tree, nodes: Sequence[Node]) -> tuple[list[Removal], list[Removal]]:
    """The steps for some siblings and what is inside them, lowest priority first; of equals the first one leaves first.

    The second list has those that touch what stands before the last cache breakpoint.
    """
    loose: list[Removal] = []
    pinned: list[Removal] = []
    for step in _steps(tree, nodes):
        (pinned if any(leaf.place < tree.pinned for leaf, _ in step.cuts) else loose).append(step)
    return loose, pinned


def lawful_steps(tree: Tree, steps: Sequence[Removal], valid: Callable[[set[int]], bool]) -> list[Removal]:
    """The steps without those that would leave an invalid request; `valid` gets the places of the remaining leaves."""
    there = {leaf.place for leaf in tree.leaves if leaf.kept or leaf.waits}
    found: list[Removal] = []
    for step in steps:
        leaving = {leaf.place for leaf, pieces in step.cuts if pieces == 0} & there
        there -= leaving
        if leaving and not valid(there):
            there |= leaving
        else:
            found.append(step)
    return found


def _steps(tree: Tree, nodes: Sequence[Node]) -> Iterator[Removal]:
    ranked = sorted(_candidates(nodes), key=lambda node: node.section.priority or 0)
    for node in ranked:
        if node.children:
            yield from _steps(tree, node.children)
        elif node.section.expand is None and node.raw is None and node.kept > 1:
            yield Removal(node, [(node, 1)], parts=node.kept - 1)
        if node.section.flex_reserve:
            yield Removal(node, released=[node])
        if node.section.expand is None:
            bound = tree.bound(node)
            cuts = [(leaf, 0) for member in bound for leaf in member.leaves()]
            yield Removal(node, cuts, [inner for member in bound for inner in member.nodes()])


def _candidates(nodes: Sequence[Node]) -> Iterator[Node]:
    """The nodes that have a priority; those without one let what is inside them stand in their place."""
    for node in nodes:
        if node.section.priority is not None:
            yield node
        else:
            yield from _candidates(node.children)


def applied(tree: Tree, steps: Sequence[Removal], number: int) -> PruningState:
    """The state after this many parts of the steps."""
    kept = {leaf.place: leaf.kept for leaf in tree.leaves}
    released: set[int] = set()
    for step in steps:
        if number <= 0:
            break
        for leaf, left in step.cuts:
            kept[leaf.place] = min(kept[leaf.place], left + max(0, step.parts - number))
        released.update(id(node) for node in step.released)
        number -= step.parts
    return PruningState(kept, released)


def parts_of(steps: Sequence[Removal]) -> int:
    return sum(step.parts for step in steps)


def fewest(
    tree: Tree, steps: Sequence[Removal], size: Callable[[PruningState], int], limit: int
) -> tuple[int, PruningState] | None:
    """The fewest steps that bring the request within a limit, and the state after them; None if no number is enough."""
    low, high = 0, parts_of(steps)
    state = applied(tree, steps, high)
    if size(state) > limit:
        return None
    while low < high:
        middle = (low + high) // 2
        tried = applied(tree, steps, middle)
        if size(tried) <= limit:
            high, state = middle, tried
        else:
            low = middle + 1
    taken = 0
    while high > 0:
        high -= steps[taken].parts
        taken += 1
    return taken, state


def settle(tree: Tree, state: PruningState, steps: Sequence[Removal], why: str) -> None:
    """Apply a state to the tree, and record for every shortened leaf which section it belonged to."""
    for step in steps:
        for leaf, left in step.cuts:
            if state.kept[leaf.place] < leaf.kept and (state.kept[leaf.place] <= left or step.parts > 1):
                own = any(inner is leaf for inner in step.node.leaves())
                priority = f"priority {step.node.section.priority:g}: {why}"
                leaf.reason = priority if own else f"goes with {step.node.name}"
            if left == 0 and leaf.section.expand is not None:
                leaf.told, leaf.reason = 0, f"goes with {step.node.name}"
    for leaf in tree.leaves:
        leaf.kept = state.kept[leaf.place]


def revive(tree: Tree, steps: Sequence[Removal], had: Mapping[int, int], fits: Callable[[], bool]) -> None:
    """Bring back what left only as company of a section that expands, where later removals made room for it.

    Example: a heading leaves with its list; then a larger section leaves too, and a shorter list has room again
    """
    times: dict[int, int] = {}
    for step in steps:
        for leaf, left in step.cuts:
            times[leaf.place] = times.get(leaf.place, 0) + (left == 0)
    for step in reversed(steps):
        growing = [leaf for leaf, left in step.cuts if left == 0 and leaf.section.expand is not None]
        mine = [leaf for leaf, left in step.cuts if left == 0 and times[leaf.place] == 1]
        if not any(leaf in mine for leaf in growing):
            continue
        for leaf in mine:
            leaf.kept = had[leaf.place]
        if fits():
            for leaf in mine:
                leaf.reason, leaf.told = "", None
        else:
            for leaf in mine:
                leaf.kept = 0
