"""Render: sections in, a request within its budget out, and what became of every section."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from brim import apis, models
from brim.content import handle_of
from brim.errors import BadBody, BadInput, BudgetTooSmall
from brim.fitting import Event, Fitted, OnEvent, by_window, capped, check_tokens, limit_of, refused, tell
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.planning.reports.decisions import Decision, Form, Report, layer_uses
from brim.planning.request import PlanRequest
from brim.prompt import validity
from brim.prompt.assembly import Assembly, Laid
from brim.prompt.flexing import expand, hold_limits
from brim.prompt.pruning import PruningState, applied, fewest, lawful_steps, parts_of, removals, revive, settle
from brim.prompt.section import Section, listed
from brim.prompt.tree import SEPARATOR, Node, Tree, grow
from brim.prompt.validity import Lawful
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
    separator: str = SEPARATOR,
    on_event: OnEvent | None = None,
) -> Fitted:
    """Return the sections as a request of at most `budget` tokens; raise BudgetTooSmall if those that stay need more.

    `api` is the wire format, else the model's own; `fields` are other fields of the body. Without `budget` the model's
    own input limit holds. With `system_role=False` instructions become a first message headed [SYSTEM INSTRUCTIONS].
    `separator` stands between the sections of one message. `on_event` is told what was pruned, compacted and refused.
    """
    if not isinstance(separator, str):
        raise BadInput("separator", f"must be the text between sections, not {type(separator).__name__}")
    given = list(sections) if listed(sections) else sections
    found = models.model_of(model)
    name = api or found.api
    body = _body(name, model if isinstance(model, str) else found.name, fields)
    empty = apis.parse(body, name, tools=tools, tool_choice=tool_choice)
    policy, counter = Policy.agent(), Counter(found, name)
    if tool_choice is not None:
        body["tool_choice"] = tool_choice

    def at(wanted: int | None) -> Fitted:
        limit = limit_of(found, empty, policy, wanted, reserve)
        work = PlanRequest(empty, counter, found, policy, limit, by_window(found, empty, policy, wanted, reserve))
        assembly = Assembly(work, system_role, separator)
        try:
            return _rendered(given, body, assembly, on_event, again, [one.message for one in capped(work, wanted)])
        except BudgetTooSmall as refusal:
            tell(on_event, refused(refusal))
            raise

    def again(other: int) -> Fitted:
        check_tokens("budget", other, 1)
        return at(other)

    return at(budget)


def _body(api: str, model: str, fields: Mapping[str, Any] | None) -> dict[str, Any]:
    """The body before there are messages in it."""
    if fields is not None and not isinstance(fields, Mapping):
        raise BadInput("fields", f"must be the other fields of the body by their names, not {type(fields).__name__}")
    messages = apis.api_of(api).list_field
    if messages in (fields or {}):
        raise BadInput(f"fields.{messages}", "is made of the sections: give them as Section(message=…)")
    named: dict[str, Any] = {"model": model} if apis.api_of(api).names_model else {}
    return named | {**(fields or {}), messages: []}


def _rendered(
    given: Any,
    body: dict[str, Any],
    assembly: Assembly,
    on_event: OnEvent | None,
    again: Callable[[int], Fitted],
    warnings: list[str],
) -> Fitted:
    work = assembly.work
    tree = grow(given, assembly.read)
    _check_instructions(tree, assembly, body)
    before = assembly.laid_out(tree)
    if not any(leaf.waits for leaf in tree.leaves):
        validity.check(tree, assembly, before)
    hold_limits(tree, assembly)
    had = [leaf.kept for leaf in tree.leaves]
    lawful = _prune(tree, assembly)
    expand(tree, assembly, work.limit)
    lawful.part(tree)
    after = assembly.laid_out(tree)
    if not after.messages:
        _refuse_empty(tree, assembly)
    _check_left(tree, assembly, after, had)
    conversation = assembly.of(after)
    tokens = work.counter.total(conversation)
    archive = {handle_of(text): text for leaf in tree.leaves if (text := _left_out(leaf))}
    warnings += [f"{leaf.name} found no room" for leaf in tree.leaves if leaf.told == 0]
    for event in _events(tree, assembly, warnings):
        tell(on_event, event)

    def report() -> Report:
        return _report(tree, assembly, before, after, warnings)

    return Fitted(apis.render(conversation, body), conversation, tokens, lambda: archive, report, again)


def _check_instructions(tree: Tree, assembly: Assembly, body: Mapping[str, Any]) -> None:
    """Refuse instructions that are said twice: the sections' would take the place of the field's."""
    if "system" not in tree.roles or not assembly.system_role or not assembly.system_field:
        return
    for name in apis.APIS[assembly.api].system_fields:
        if name in body:
            raise BadInput(f"fields.{name}", "sections with the role system say them too: give one of both")


def _events(tree: Tree, assembly: Assembly, warnings: Iterable[str]) -> Iterator[Event]:
    """What a rendering did, as it is told to the log and to callbacks."""
    gone = [leaf for leaf in tree.leaves if leaf.gone]
    if gone:
        yield Event("pruned", f"pruned {len(gone)} sections", {"sections": len(gone)})
    cut = [_decision(tree, assembly, leaf) for leaf in tree.leaves if leaf.kept and not leaf.whole]
    if cut:
        numbers = {"items": len(cut), "before": sum(d.before for d in cut), "after": sum(d.after for d in cut)}
        yield Event("compacted", f"compacted {len(cut)} sections", numbers)
    for warning in warnings:
        yield Event("warning", warning)


def _prune(tree: Tree, assembly: Assembly) -> Lawful:
    """Take sections out, lowest priority first, until what is left and what is reserved are within the limit."""
    limit = assembly.work.limit
    loose, pinned = removals(tree, tree.roots)
    lawful = Lawful(tree, assembly, [*loose, *pinned])
    every = lawful_steps(tree, [*loose, *pinned], lawful)
    touching = {id(step) for step in pinned}
    loose = [step for step in every if id(step) not in touching]
    holders = [node for root in tree.roots for node in root.nodes() if node.section.flex_reserve]
    holders = [node for node in holders if any(leaf.section.expand for leaf in node.leaves())]

    def size(state: PruningState) -> int:
        reserved = sum(node.section.reserve(limit) for node in holders if id(node) not in state.released)
        return assembly.total(tree, state) + reserved

    def bare(state: PruningState) -> int:
        return assembly.total(tree, state)

    # A reserve is a wish: where what stays leaves less, the section is told what is left. A cached prefix is more.
    for steps, measure in ((loose, size), (loose, bare), (every, bare)):
        found = fewest(tree, steps, measure, limit)
        if found is not None:
            had = {leaf.place: leaf.kept for leaf in tree.leaves}
            settle(tree, found[1], steps[: found[0]], "the lowest that was left")
            revive(tree, steps[: found[0]], had, lambda: assembly.total(tree) + LEAST <= limit)
            return lawful
    settle(tree, applied(tree, every, parts_of(every)), every, "the lowest that was left")
    needed = assembly.total(tree)
    raise BudgetTooSmall(needed, limit, _must_stay(tree, assembly, needed))


def _must_stay(tree: Tree, assembly: Assembly, needed: int) -> list[tuple[str, int]]:
    """What is left with its tokens, which are `needed` together: the rest of them is what frames it."""
    found = [(leaf.name, assembly.inner(tree, leaf)) for leaf in tree.leaves if leaf.kept]
    found.append(("tools and framing", needed - sum(tokens for _, tokens in found)))
    return sorted(found, key=lambda entry: -entry[1])


def _refuse_empty(tree: Tree, assembly: Assembly) -> None:
    """Where no message is left because nothing found room: say what the smallest one needs."""
    crowded = next((leaf for leaf in tree.leaves if leaf.told == 0 and leaf.section.limit != 0), None)
    if crowded is not None:
        crowded.put("x")
        needed = assembly.total(tree)
        if needed > assembly.work.limit:
            raise BudgetTooSmall(needed, assembly.work.limit, _must_stay(tree, assembly, needed))


def _check_left(tree: Tree, assembly: Assembly, after: Laid, had: Sequence[int]) -> None:
    """Refuse what is no request any more: for want of room where it would be one with all that `had` been there."""
    try:
        validity.check(tree, assembly, after)
    except (BadInput, BadBody):
        for leaf, kept in zip(tree.leaves, had, strict=True):
            leaf.kept = max(leaf.kept, kept)
        needed = assembly.total(tree)
        if needed <= assembly.work.limit:
            raise
        validity.check(tree, assembly, assembly.laid_out(tree))
        raise BudgetTooSmall(needed, assembly.work.limit, _must_stay(tree, assembly, needed)) from None


def _left_out(leaf: Node) -> str:
    if leaf.raw is not None:
        return "" if leaf.kept else leaf.raw.raw.decode("utf-8", "surrogatepass")
    return "" if leaf.whole else "".join(leaf.pieces)


def _report(tree: Tree, assembly: Assembly, before: Laid, after: Laid, warnings: Iterable[str]) -> Report:
    work = assembly.work
    decisions = tuple(_decision(tree, assembly, leaf) for leaf in tree.leaves)
    count = work.counter.count(assembly.of(after))
    return Report(
        model=work.model.name,
        policy="prompt",
        limit=work.limit,
        before=work.counter.total(assembly.of(before)),
        after=count.tokens,
        upper=count.upper,
        source=count.source,
        layers=layer_uses(_layers(tree, assembly, before), _layers(tree, assembly, after)),
        decisions=decisions,
        kept=sum(bool(leaf.kept) for leaf in tree.leaves),
        compacted=sum(decision.form == "outline" for decision in decisions),
        archived=sum(decision.form == "dropped" for decision in decisions),
        turns_dropped=any(decision.form == "dropped" for decision in decisions),
        warnings=tuple(warnings),
        must_stay=sum(
            one.after for leaf, one in zip(tree.leaves, decisions, strict=True) if leaf.section.priority is None
        ),
    )


def _layers(tree: Tree, assembly: Assembly, laid: Laid) -> list[int]:
    """Tokens by layer: each message with its frame in its own, what stands around them with the instructions."""
    found = [assembly.work.counter.head(assembly.of(laid)), 0, 0, 0, 0]
    for slot, message in laid.messages:
        found[_layer(tree, slot) - 1] += assembly.work.counter.message(message)
    return found


def _layer(tree: Tree, slot: int) -> int:
    last = max((number for number, role in enumerate(tree.roles) if role == "user"), default=-1)
    return 1 if tree.roles[slot] == "system" else 5 if slot == last else 4


def _decision(tree: Tree, assembly: Assembly, leaf: Node) -> Decision:
    after = assembly.inner(tree, leaf)
    form: Form = "full" if leaf.whole and leaf.kept else "outline" if leaf.kept else "dropped"
    whole = "".join(leaf.pieces)
    before = after if leaf.whole else assembly.work.counter.text(whole)
    if leaf.section.expand is not None:
        before = 0
    elif leaf.raw is not None:
        before = assembly.work.counter.message(leaf.raw)
    stays = f"stays with {leaf.section.keep_with}" if leaf.section.keep_with else "must stay"
    reason = leaf.reason or (stays if leaf.section.priority is None else "there was room for it")
    handle = handle_of(whole) if form != "full" and whole else ""
    preview = " ".join(whole[:120].split())[:80]
    return Decision(
        leaf.name, tree.roles[leaf.slot], _layer(tree, leaf.slot), "text", before, after, form, reason, handle, preview
    )
