"""Render: sections in, a request within its budget out, and what became of every section."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from brim import catalog, wire
from brim.catalog import Model
from brim.errors import BudgetTooSmall
from brim.fitting import Fitted, limit_of
from brim.ladders import handle_of
from brim.plan.policy import Policy
from brim.plan.report import Decision, Report, Rung, layer_uses
from brim.plan.work import Work
from brim.prompt.assembly import Assembly
from brim.prompt.flexing import expand, hold_limits
from brim.prompt.pruning import State, applied, fewest, parts_of, removals, revive, settle
from brim.prompt.section import Section
from brim.prompt.tree import Node, Tree, grow
from brim.tokens.counter import Counter

# A section that expands is worth what comes with it if it can be told this many tokens.
LEAST = 8


def render(
    sections: Iterable[Section | str],
    *,
    model: str | Model,
    budget: int | None = None,
    reserve: int | None = None,
    api: str | None = None,
    tools: Any = None,
    tool_choice: Any = None,
    fields: Mapping[str, Any] | None = None,
    system_role: bool = True,
) -> Fitted:
    """Return the sections as a request of at most `budget` tokens; raise BudgetTooSmall if those that stay need more.

    `api` is the wire format, else the model's own; `fields` are other fields of the body. Without `budget` the model's
    own input limit holds. With `system_role=False` instructions become a first message headed [SYSTEM INSTRUCTIONS].
    """
    given = list(sections) if not isinstance(sections, (str, Section)) else sections
    found = model if isinstance(model, Model) else catalog.find(model)
    name = api or found.api
    body: dict[str, Any] = {} if name == "gemini" else {"model": model if isinstance(model, str) else found.name}
    body |= {**(fields or {}), wire.api_of(name).list_field: []}
    empty = wire.parse(body, name, tools=tools, tool_choice=tool_choice)
    policy = Policy.agent()
    limit = limit_of(found, empty, policy, budget, reserve)
    if tool_choice is not None:
        body["tool_choice"] = tool_choice
    work = Work(empty, Counter(found, name), found, policy, limit, own_limit=budget is None)

    def at(other: Work) -> Fitted:
        return _rendered(given, body, Assembly(other, system_role), lambda tokens: at(work.at(tokens)))

    return at(work)


def _rendered(given: Any, body: dict[str, Any], assembly: Assembly, again: Any) -> Fitted:
    work = assembly.work
    tree = grow(given, assembly.read)
    before = assembly.conversation(tree)
    hold_limits(tree, assembly)
    _prune(tree, assembly)
    expand(tree, assembly, work.limit)
    _drop_lonely(tree)
    conversation = assembly.conversation(tree)
    tokens = work.counter.total(conversation)
    stash = {handle_of(text): text for leaf in tree.leaves if (text := _left_out(leaf))}

    def report() -> Report:
        return _report(tree, assembly, work.counter.total(before))

    return Fitted(wire.render(conversation, body), conversation, tokens, stash, report, again)


def _prune(tree: Tree, assembly: Assembly) -> None:
    """Take sections out, lowest priority first, until what is left and what is reserved are within the limit."""
    limit = assembly.work.limit
    loose, pinned = removals(tree, tree.roots)
    holders = [node for root in tree.roots for node in root.nodes() if node.section.flex_reserve]
    holders = [node for node in holders if any(leaf.section.expand for leaf in node.leaves())]

    def size(state: State) -> int:
        reserved = sum(node.section.reserve(limit) for node in holders if id(node) not in state.released)
        return assembly.total(tree, state) + reserved

    def bare(state: State) -> int:
        return assembly.total(tree, state)

    # A reserve is a wish: where what stays leaves less, the section is told what is left. A cached prefix is more.
    for steps, measure in ((loose, size), (loose, bare), ([*loose, *pinned], bare)):
        found = fewest(tree, steps, measure, limit)
        if found is not None:
            had = {leaf.place: leaf.kept for leaf in tree.leaves}
            settle(tree, found[1], steps[: found[0]], "the lowest that was left")
            revive(tree, steps[: found[0]], had, lambda: assembly.total(tree) + LEAST <= limit)
            return
    all_steps = [*loose, *pinned]
    settle(tree, applied(tree, all_steps, parts_of(all_steps)), all_steps, "the lowest that was left")
    raise BudgetTooSmall(assembly.total(tree), limit, _must_stay(tree, assembly))


def _must_stay(tree: Tree, assembly: Assembly) -> list[tuple[str, int]]:
    head = assembly.work.counter.head(assembly.work.conversation)
    found = [("tools and framing", head)]
    found += [(leaf.name, assembly.inner(tree, leaf)) for leaf in tree.leaves if leaf.kept]
    return sorted(found, key=lambda entry: -entry[1])


def _drop_lonely(tree: Tree) -> None:
    """What is kept with a section that found no room goes with it."""
    for leaf in tree.leaves:
        if leaf.section.expand is not None and not leaf.kept:
            for node in tree.bound(leaf)[1:]:
                for other in node.leaves():
                    if other.kept:
                        other.kept, other.reason = 0, f"goes with {leaf.name}"


def _left_out(leaf: Node) -> str:
    if leaf.raw is not None:
        return "" if leaf.kept else leaf.raw.raw.decode("utf-8", "surrogatepass")
    return "" if leaf.whole else "".join(leaf.pieces)


def _report(tree: Tree, assembly: Assembly, before: int) -> Report:
    work = assembly.work
    conversation = assembly.conversation(tree)
    decisions = tuple(_decision(tree, assembly, leaf) for leaf in tree.leaves)
    count = work.counter.count(conversation)
    layers = [[0] * 5, [0] * 5]
    for decision in decisions:
        layers[0][decision.layer - 1] += decision.before
        layers[1][decision.layer - 1] += decision.after
    for uses, total in zip(layers, (before, count.tokens), strict=True):
        uses[0] += total - sum(uses)  # tools and framing
    warnings = [f"{leaf.name} found no room" for leaf in tree.leaves if leaf.told == 0]
    return Report(
        model=work.model.name,
        policy="prompt",
        limit=work.limit,
        before=before,
        after=count.tokens,
        upper=count.upper,
        source=count.source,
        layers=layer_uses(*layers),
        decisions=decisions,
        kept=sum(bool(leaf.kept) for leaf in tree.leaves),
        compacted=sum(decision.rung == "extract" for decision in decisions),
        folded=sum(decision.rung == "dropped" for decision in decisions),
        turns_dropped=any(decision.rung == "dropped" for decision in decisions),
        warnings=tuple(warnings),
    )


def _decision(tree: Tree, assembly: Assembly, leaf: Node) -> Decision:
    role = tree.roles[leaf.slot]
    last = max((number for number, each in enumerate(tree.roles) if each == "user"), default=-1)
    layer = 1 if role == "system" else 5 if leaf.slot == last else 4
    after = assembly.inner(tree, leaf)
    rung: Rung = "full" if leaf.whole and leaf.kept else "extract" if leaf.kept else "dropped"
    whole = "".join(leaf.pieces)
    before = after if leaf.whole else assembly.work.counter.text(whole)
    if leaf.section.expand is not None:
        before = 0
    elif leaf.raw is not None:
        before = assembly.work.counter.message(leaf.raw)
    stays = f"stays with {leaf.section.keep_with}" if leaf.section.keep_with else "must stay"
    reason = leaf.reason or (stays if leaf.section.priority is None else "there was room for it")
    handle = handle_of(whole) if rung != "full" and whole else ""
    preview = " ".join(whole[:120].split())[:80]
    return Decision(leaf.name, role, layer, "text", before, after, rung, reason, handle, preview)
