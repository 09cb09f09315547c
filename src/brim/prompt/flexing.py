"""Limits and flex: the most a section may take, and how expanding sections share the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from brim.errors import BadInput
from brim.prompt.assembly import Assembly
from brim.prompt.pruning import fewest, removals, settle
from brim.prompt.section import Budget
from brim.prompt.tree import Node, Tree, cut


def hold_limits(tree: Tree, assembly: Assembly) -> None:
    """Bring every section within its limit, innermost first: by its priorities, otherwise by cutting its end."""
    for root in tree.roots:
        for node in reversed(list(root.nodes())):
            if node.section.limit is not None:
                _hold(tree, assembly, node, node.section.limit)
    tree.part()


def _hold(tree: Tree, assembly: Assembly, node: Node, limit: int) -> None:
    if assembly.inner(tree, node) <= limit:
        return
    loose, pinned = removals(tree, node.children or [node])
    steps = [step for step in (*loose, *pinned) if step.cuts]
    found = fewest(tree, steps, lambda state: assembly.inner(tree, node, state), limit)
    if found is not None and (node.children or found[1].kept[node.place]):
        settle(tree, found[1], steps[: found[0]], f"its section has a limit of {limit:,} tokens")
        return
    for leaf in reversed(list(node.leaves())):
        _cut_leaf(tree, assembly, node, leaf, limit)
        if assembly.inner(tree, node) <= limit:
            return


def _cut_leaf(tree: Tree, assembly: Assembly, node: Node, leaf: Node, limit: int) -> None:
    """Cut the end of a leaf until its section is within the limit; a whole message goes as one."""
    if leaf.raw is not None:
        leaf.kept, leaf.reason = 0, f"its section has a limit of {limit:,} tokens"
        return
    text, pieces, kept = leaf.text, leaf.pieces, leaf.kept

    def size(shown: str) -> int:
        leaf.put(shown)
        return assembly.inner(tree, node)

    short = longest(text, leaf.section.break_on, lambda shown: size(shown) <= limit)
    if short == text:
        leaf.pieces, leaf.kept = pieces, kept
        return
    shown = cut(short, leaf.section.break_on) if short else []
    leaf.pieces, leaf.kept = [*shown, "".join(pieces)[len(short) :]], len(shown)
    leaf.reason = f"cut to the limit of {limit:,} tokens of its section"


def longest(text: str, break_on: str, fits: Callable[[str], bool]) -> str:
    """The longest fitting start of a text, cut at `break_on`, else at a space, else anywhere.

    Example: ("one two three", "", lambda shown: len(shown) <= 9) -> "one two"
    """
    if fits(text):
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(text[:middle]):
            low = middle
        else:
            high = middle - 1
    if break_on:
        end = text.rfind(break_on, 0, low)
        end = end + len(break_on) if end >= 0 else 0
    else:
        end = max(text.rfind(" ", 0, low + 1), text.rfind("\n", 0, low + 1))
        end = end if end > 0 else low
    while end > 0 and not fits(text[:end]):  # counts are almost, but not quite, monotonic
        end -= 1
    return text[:end]


def expand(tree: Tree, assembly: Assembly, budget: int) -> None:
    """Ask the sections that expand for their texts, each with its share of what is left."""
    _share(tree, assembly, tree.roots, budget, budget - assembly.total(tree))
    tree.part()


def _share(tree: Tree, assembly: Assembly, nodes: Sequence[Node], budget: int, left: int) -> None:
    """Share the rest among siblings: lower `flex_grow` first, equals by their basis, keeping later ones' reserves."""
    growing = sorted((node for node in nodes if _expands(node)), key=lambda node: node.section.flex_grow)
    for number, node in enumerate(growing):
        same = [other for other in growing[number:] if other.section.flex_grow == node.section.flex_grow]
        later = growing[number + len(same) :]
        reserved = sum(other.section.reserve(budget) for other in later)
        own = int(max(0, left - reserved) * node.section.flex_basis / sum(one.section.flex_basis for one in same))
        if node.section.limit is not None and node.children:
            own = min(own, node.section.limit - assembly.inner(tree, node))
        before = assembly.total(tree)
        if node.children:
            _share(tree, assembly, node.children, budget, own)
        else:
            _ask(tree, assembly, node, own)
        left -= assembly.total(tree) - before


def _expands(node: Node) -> bool:
    return any(leaf.waits for leaf in node.leaves())


def _ask(tree: Tree, assembly: Assembly, leaf: Node, room: int) -> None:
    """Call one section with its budget and enforce it."""
    before = assembly.total(tree)
    leaf.put("x")  # the overhead of any text: a separator or a message's frame
    overhead = assembly.total(tree) - before - 1
    tokens = assembly.raw(room - overhead)
    if leaf.section.limit is not None:
        tokens = min(tokens, leaf.section.limit)
    leaf.put("")
    leaf.told = max(0, tokens)
    if tokens <= 0 or leaf.section.expand is None:
        leaf.reason = "there was no room left for it"
        return
    text: Any = leaf.section.expand(Budget(tokens, assembly.work.counter.text))
    if not isinstance(text, str):
        raise BadInput(f"{leaf.path}.expand", f"must give a text, and gave {type(text).__name__}")

    def fits(shown: str) -> bool:
        leaf.put(shown)
        limit = leaf.section.limit
        within = limit is None or assembly.inner(tree, leaf) <= limit
        return within and assembly.total(tree) - before <= room

    leaf.put(longest(text, leaf.section.break_on, fits))
    leaf.reason = f"was told {tokens:,} tokens"
