"""One turn of a session: the log is brought to its request, the view is planned, and what is sent is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from brim import apis, incidents
from brim.conversation import Conversation, Message, decode
from brim.deadline import OutOfTime, run_within
from brim.errors import BrimError, BudgetTooSmall
from brim.fallback import report_anyhow, told
from brim.fitting import Event, Fitted, capped, events, fit, in_type, refused, tell
from brim.incidents import Incident
from brim.planning.draft import own_name
from brim.planning.plan import Notice, Plan
from brim.planning.reports.decisions import CacheBreak, Report
from brim.planning.request import PlanRequest
from brim.sessions.history import SessionHistory
from brim.sessions.prompt_cache import SentTurn, cache_break, end_of
from brim.sessions.storage import Storage
from brim.sessions.view import Entry, View, decisions
from brim.sessions.view_planning import as_sent, begin_plainly, marked, planned, planned_plainly, request_of
from brim.summaries.awaited import SummaryWanted


class SessionTurn:
    """A request of a session: its parsed form, the request as it was given, and the faults noted meanwhile."""

    def __init__(
        self,
        history: SessionHistory,
        storage: Storage,
        conversation: Conversation,
        request: Any,
        noted: list[Incident],
        *,
        saves: bool = True,
    ) -> None:
        self._history = history
        self._storage = storage
        self._conversation = conversation
        self._request = request
        self._noted = noted
        self._saves = saves

    def made(self, bring: Callable[[], object], messages: Callable[[], Sequence[Message]]) -> Fitted:
        """What to send. Raises BudgetTooSmall, SummaryWanted.

        `bring` brings the log to this turn. Where that or planning raises or takes too long, all is undone, and the
        plain planner fits `messages`.
        """
        undo = self._history.checkpoint()
        try:
            return run_within(self._history.settings.fit_timeout, partial(self._planned, bring))
        except BrimError:
            raise
        except SummaryWanted:
            undo()
            raise
        except OutOfTime as problem:
            incidents.note("timeout", problem)
        except Exception as problem:
            incidents.note("planning", problem)
        undo()
        return self._plainly(messages())

    def _planned(self, bring: Callable[[], object]) -> Fitted:
        bring()
        history = self._history
        work = request_of(history, self._conversation)
        last = history.state.before if self._request and history.state.asked == self._asks(work) else None
        try:
            if last is not None:  # asked again: sent again as it was
                sent = replace(work.conversation, system=last.sent.system, messages=last.sent.messages)
                outcome = Plan(sent, work.total(sent))
            else:
                outcome = planned(history, work)
            history.running_summary.end()
        except BudgetTooSmall as found:
            history.running_summary.turned()
            refusal = self._refusal(work, found)
            self._storage.save()
            raise refusal from None
        if last is None:
            sent = marked(history, work, outcome.conversation)
            if sent is outcome.conversation and work.counter.source != "estimated":  # then the view is what is sent
                return self._sends(work, outcome, sent, work.counter.head(sent) + history.view.tokens)
        return self._sends(work, outcome, sent, work.counter.likely(sent))

    def _plainly(self, messages: Sequence[Message]) -> Fitted:
        """The turn by sizes alone: nothing is ranked, compacted or recalled, and the store may fail."""
        begin_plainly(self._history, messages)
        work = request_of(self._history, self._conversation)
        try:
            outcome = planned_plainly(self._history, work)
        except BudgetTooSmall as found:
            raise self._refusal(work, found) from None
        sent = as_sent(work.conversation, self._history.view)
        return self._sends(work, outcome, sent, work.counter.likely(sent))

    def _refusal(self, work: PlanRequest, found: BudgetTooSmall) -> BudgetTooSmall:
        refusal = work.refusal(found)
        tell(self._history.settings.on_event, refused(refusal))
        return refusal

    def _sends(self, work: PlanRequest, outcome: Plan, sent: Conversation, tokens: int) -> Fitted:
        """Take what was planned as sent: tell of it, and keep it."""
        history, settings, state = self._history, self._history.settings, self._history.state
        history.running_summary.turned()
        known = list(self._noted)
        outcome = _warning(outcome, capped(work, settings.budget), told(known) if known else ())
        for event in events(work, outcome):
            tell(settings.on_event, event)
        history.writer.hold(outcome.originals().values())
        if not settings.policy.appends:  # there context is part of the view
            history.writer.hold(piece.text for piece in state.carried if piece not in work.carried)
            history.note(carried=(*work.carried, *state.context))
            history.place_context(max(0, len(history.log) - 1))
        asked = self._asks(work) if self._request else None
        history.note(end=end_of(sent.messages))
        if self._saves:
            self._storage.save_in_time(settings.fit_timeout)
        if len(self._noted) > len(known):
            outcome = _warning(outcome, (), told(incident for incident in self._noted if incident not in known))
        messages = history.log[:]
        now = SentTurn(work.model, replace(work.conversation, messages=tuple(messages)), sent)
        history.note(before=now, asked=asked, asked_at=settings.clock() if settings.clock is not None else 0.0)
        broken = cache_break(state.before, now, work.counter.message) if state.before is not None else None
        if broken is not None:
            tell(settings.on_event, Event("cache", str(broken), {"tokens": broken.tokens, "byte": broken.byte}))
        again = _at_budget(history, self._request, work, messages)
        return _fitted(work, outcome, sent, tokens, history.view, messages, self._request, again, broken)

    def _asks(self, work: PlanRequest) -> tuple[Any, ...]:
        """All that the form of a request depends on: one that is asked for again is sent again as it was."""
        given = work.conversation
        what = (given.messages, given.system, given.tools, given.fields, work.stated_limit, work.model, work.policy)
        return (*what, self._history.settings.recall, self._history.view.messages())


def _warning(plan: Plan, before: Sequence[Notice], after: Sequence[Notice]) -> Plan:
    return replace(plan, warnings=(*before, *plan.warnings, *after)) if before or after else plan


def _at_budget(
    history: SessionHistory, request: Any, work: PlanRequest, messages: Sequence[Message]
) -> Callable[[int], Fitted]:
    """The same turn at another budget, planned without memory."""
    reserve, attached, now = history.settings.reserve, history.attached, max(0, len(messages) - 1)
    given = work.conversation
    beside = given.fields if given.beside else {}
    stood = given.messages[0] if given.lead else given.system

    def fitted(budget: int) -> Fitted:
        return fit(
            request or [message.value for message in messages],
            model=work.model,
            budget=budget,
            reserve=reserve,
            policy=work.policy,
            api=given.api,
            tools=_value(beside.get("tools")),
            tool_choice=_value(beside.get("tool_choice")),
            system=_value(stood.raw) if given.beside and stood is not None else None,
            context=work.context or attached.at(now),
            carried=work.carried or [piece for _, piece in attached.before(now)],
        )

    return fitted


def _value(raw: bytes | None) -> Any:
    return None if raw is None else decode(raw)


def _fitted(
    work: PlanRequest,
    outcome: Plan,
    sent: Conversation,
    tokens: int,
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
    report = partial(_view_report, *light, replace(sent, fields={}), tuple(view.entries), log, broken)
    return Fitted(_body_of(given, sent, view, request), sent, tokens, outcome.originals, report, again)


def _body_of(given: Conversation, sent: Conversation, view: View, request: Any) -> Any:
    """The request in its incoming type; the caller's own object if nothing changed."""
    if not request:
        listed: list[Any] = decode(b"[%b]" % b",".join([message.raw for message in sent.messages]))
        return listed
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


def _view_report(
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
