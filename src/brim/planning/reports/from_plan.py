"""Builds reports from plans: what happened to every item, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import unescape
from itertools import takewhile
from math import ceil

from brim.content import content_kind, extras, handle_of
from brim.planning.attachments import attached
from brim.planning.draft import ADDED, Draft, own_name
from brim.planning.items import SYSTEM, Group, Item, Itemizer, current
from brim.planning.layer_sizes import known_layers, layer_rows, must_stay
from brim.planning.plan import Notice, Plan
from brim.planning.policies import rolling
from brim.planning.reports.decisions import Decision, Form, Report
from brim.planning.request import PlanRequest

# A last turn larger than this share of the budget gets a warning.
CROWDED = 0.9
# So do instructions and tools larger than this share.
INSTRUCTED = 0.5
# For shorter texts an extra makes no difference.
WORTH_AN_EXTRA = 400
# A block of attached context and its source.
_SOURCE = re.compile(r"""<(?:prior_)?context source=["']([^"'\n]*)["'] type=""")
# The outcomes of messages that are no longer sent.
GONE = ("archived", "summary", "dropped")


def report_of(request: PlanRequest, plan: Plan) -> Report:
    """The report of a plan. Without a draft, the plan's steps describe every item."""
    decisions = tuple(_decisions(request, plan))
    given, sent = _given(request), plan.conversation
    counted = request.counter.total(given.conversation), request.counter.total(sent)
    before, after = request.counter.likely(given.conversation), request.counter.likely(sent)
    if counted != (before, after):
        decisions = tuple(_corrected(one, before / max(1, counted[0]), after / max(1, counted[1])) for one in decisions)
    count = request.counter.count(sent)
    archived = _archived(request, plan, decisions)
    compacted = [one for one in decisions if one.form != "full" and one.item.partition(".parts")[0] not in archived]
    return Report(
        model=request.model.name,
        policy=request.policy.name,
        limit=request.stated_limit,
        before=before,
        after=after,
        upper=max(count.upper, ceil(after)),
        source=count.source,
        layers=layer_rows(request, given, plan, before, after),
        decisions=decisions,
        kept=len(sent.messages),
        compacted=len(compacted),
        archived=len(archived),
        turns_dropped=bool(archived),
        warnings=tuple(notice.message for notice in (*plan.warnings, *notices(request, plan))),
        must_stay=min(after, round(must_stay(sent, request.counter) * after / max(1, counted[1]))),
    )


def _corrected(decision: Decision, before: float, after: float) -> Decision:
    """A decision converted to the provider's tokens."""
    return replace(decision, before=round(before * decision.before), after=round(after * decision.after))


def _given(request: PlanRequest) -> Draft:
    """The original: the request and everything attached to it."""
    if request.policy.one_document:
        return rolling.with_document(request)
    return attached(Draft(request.conversation), request.context, request.carried, None)


def _archived(request: PlanRequest, plan: Plan, decisions: Iterable[Decision]) -> set[str]:
    """The names of the caller's messages that are no longer sent."""
    if plan.draft is not None:
        return {own_name(request.conversation, index) for index in plan.archived}
    return {one.item for one in decisions if one.form in GONE and one.item.startswith("messages[")}


def notices(request: PlanRequest, plan: Plan) -> Iterable[Notice]:
    """Warnings about the sizes of what is sent."""
    messages, size = plan.conversation.messages, request.counter.message
    if not messages or request.limit <= 0:
        return
    if plan.total < INSTRUCTED * request.limit:  # nothing in it can be too large a share
        yield from _without_extras(request, plan)
        return
    known = known_layers(plan)
    leads = takewhile(lambda place: messages[place].role == "system" or known.get(place) == 1, range(len(messages)))
    instructions = sum(size(messages[place]) for place in leads if not messages[place].text.startswith(rolling.PREFIX))
    for tokens, least, what in (
        (size(messages[current(messages)]), CROWDED, "the last turn alone takes"),
        (request.counter.head(plan.conversation) + instructions, INSTRUCTED, "instructions and tools take"),
    ):
        if tokens >= least * request.limit:
            numbers = {"tokens": request.counter.corrected(tokens), "budget": request.stated_limit}
            yield Notice(f"{what} {tokens / request.limit:.0%} of the budget", numbers)
    yield from _without_extras(request, plan)


def _without_extras(request: PlanRequest, plan: Plan) -> Iterable[Notice]:
    """What a missing extra would have shortened better."""
    absent = extras.advice()
    if not absent:
        return
    sent = {message.digest for message in plan.conversation.messages}
    changed = (message for message in request.conversation.messages if message.digest not in sent)
    texts = (part.text for message in changed for part in message.parts if len(part.text) >= WORTH_AN_EXTRA)
    found = {kind for text in texts for kind in absent if content_kind(text, None).kind == kind}
    for kind in sorted(found):
        yield Notice(absent[kind])


def _decisions(request: PlanRequest, plan: Plan) -> Iterable[Decision]:
    yield from plan.steps
    draft = plan.draft
    if draft is None:
        return
    told = {step.item for step in plan.steps}
    archived = "" if plan.archived_messages is None else plan.archived_messages.handle
    for group in plan.groups or _as_they_are(request, draft):
        if not group.items and not group.kept:
            for member in group.members:
                yield _passed(request, draft, member, archived)
        for item in group.items:
            name = _name(draft, item)
            # Report what a policy did only once, unless the planner changed it again.
            if not (told and group.kept and item.shown is None and {name, name.partition(".parts")[0]} & told):
                yield _decision(draft, group, item, name, archived, not plan.groups)


def _as_they_are(request: PlanRequest, draft: Draft) -> list[Group]:
    """The items of a conversation that fits, made only if someone reads the report."""
    itemizer = Itemizer(draft.conversation, request.counter.sizes, request.counter.text, draft.layers, held=draft.held)
    groups = itemizer.groups()
    for group in groups:
        group.kept = True
    return groups


def _passed(request: PlanRequest, draft: Draft, index: int, handle: str) -> Decision:
    """The decision for an unexamined message of a very long history."""
    message = draft.messages[index]
    reason, preview = "older or less relevant than what the budget holds", _preview(message.text)
    size = request.counter.message(message)
    return Decision(draft.name(index), message.role, 4, "text", size, 0, "archived", reason, handle, preview)


def _name(draft: Draft, item: Item) -> str:
    at = f" at {item.start:,}" if item.start else ""
    if item.message == SYSTEM or draft.place(item.message) != ADDED:
        where = "system" if item.message == SYSTEM else draft.name(item.message)
        return f"{where}.parts[{item.part}]{at}"
    source = _SOURCE.match(item.text)
    return f"context {unescape(source.group(1))}".strip() if source else draft.name(item.message) + at


def _decision(draft: Draft, group: Group, item: Item, name: str, archived: str, fits: bool) -> Decision:
    role = "system" if item.message == SYSTEM else draft.messages[item.message].role
    own = item.message == SYSTEM or draft.place(item.message) != ADDED
    held = "" if item.message not in draft.held else "pinned" if own else "it cannot be fetched again"
    held = "project context gives way before this turn and the newest" if item.message in draft.last else held
    form, reason = _form(group, item, fits, held)
    after = 0 if not group.kept else item.tokens if item.shown is None else item.shown_tokens
    handle = handle_of(item.text) if item.text and form in ("outline", "line", "dropped") else ""
    if form == "archived":
        handle = archived
    layer = 5 if group.layer == 5 and item.layer == 3 else item.layer  # pasted text was sent by the user
    return Decision(name, role, layer, item.kind, item.tokens, after, form, reason, handle, _preview(item.text))


def _preview(text: str) -> str:
    return " ".join(text[:120].split())[:80]


def _form(group: Group, item: Item, fits: bool, held: str) -> tuple[Form, str]:
    """The outcome of an item and the reason; `held` says why its message stays unchanged."""
    if not group.kept:
        return "archived", "archived: older and less relevant than what was kept; the summary mentions it"
    if item.shown is None:
        if held:
            return "full", f"must stay: {held}"
        if item.must:
            return "full", "must stay: " + ("instructions" if item.layer == 1 else "the current turn")
        return "full", "there is room for all" if fits else item.rule or "small enough to stay whole"
    why = f": {item.rule}" if item.rule else ""
    if item.fidelity == "lossless":
        return "dense", f"re-encoded without loss{why}"
    if not item.shown:
        return "dropped", "archived: the room went to the rest of its message"
    if item.shown_tokens <= 24:
        return "line", "one line: there was no room for more of it"
    return "outline", f"the most useful {item.shown_tokens / max(1, item.tokens):.0%} of it{why}"
