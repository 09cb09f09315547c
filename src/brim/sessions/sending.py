"""Builds what is sent: a view as a conversation, in the type of the incoming request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from brim import apis
from brim.conversation import Conversation, Message
from brim.fallback import report_anyhow
from brim.fitting import Fitted, in_type
from brim.planning.draft import own_name
from brim.planning.plan import Plan
from brim.planning.reports.decisions import CacheBreak, Report
from brim.planning.request import PlanRequest
from brim.sessions.view import Entry, View, decisions


def as_sent(conversation: Conversation, view: View) -> Conversation:
    """The conversation with the messages of its view."""
    return replace(conversation, messages=view.messages())


def fitted(
    work: PlanRequest,
    outcome: Plan,
    sent: Conversation,
    view: View,
    log: Sequence[Message],
    request: Any,
    again: Callable[[int], Fitted],
    broken: CacheBreak | None,
) -> Fitted:
    """The result of a turn. `again` makes the same turn at another budget; `broken` is why the cache ended."""
    given = work.conversation
    # What a later report needs, without the body and the planner's items.
    light = (
        replace(work, conversation=replace(given, fields={})),
        replace(outcome, groups=(), archive={}, archived_messages=None, draft=None),
    )
    report = partial(view_report, *light, replace(sent, fields={}), tuple(view.entries), log, broken)
    tokens = work.counter.likely(sent)
    return Fitted(body_of(given, sent, view, request), sent, tokens, outcome.originals, report, again)


def body_of(given: Conversation, sent: Conversation, view: View, request: Any) -> Any:
    """The request in its incoming type; the caller's own object if nothing changed."""
    if not request:
        return [message.value for message in sent.messages]
    if not given.beside and sent.messages == given.messages and sent.system is given.system:  # the same objects
        return request
    if isinstance(request, list):
        # The caller's own objects for unchanged messages, so that nothing has to be encoded.
        own = [None] * given.lead + request
        return [
            own[entry.start] if _is_own(entry, message, given) else message.value
            for entry, message in zip(view.entries, sent.messages, strict=True)
        ]
    return in_type(request, apis.render(sent, request, given))


def _is_own(entry: Entry, message: Message, given: Conversation) -> bool:
    return entry.kind == "as is" and entry.start >= given.lead and message is given.messages[entry.start]


def view_report(
    work: PlanRequest,
    outcome: Plan,
    sent: Conversation,
    entries: Sequence[Entry],
    log: Sequence[Message],
    broken: CacheBreak | None,
) -> Report:
    """What happened to every message of the log, not only to those planned this turn."""
    before = replace(work, conversation=replace(work.conversation, messages=tuple(log)))
    steps = decisions(entries, log, work.counter.message)
    if work.conversation.lead:  # the log begins with instructions from beside the list
        steps = [replace(step, item=own_name(work.conversation, number)) for number, step in enumerate(steps)]
    if work.policy.plans_log:  # then its message numbers are those of the log
        handles = {step.item: step.handle for step in outcome.steps}
        steps = [replace(step, handle=step.handle or handles.get(step.item, "")) for step in steps]
    report = report_anyhow(before, replace(outcome, conversation=sent, groups=(), archived=(), steps=steps))
    return replace(report, cache_break=broken)
