"""Planning that can't fail: if it raises or hangs, that is noted, and the plain planner runs instead.

Errors that Brim raises on purpose (BudgetTooSmall, BadSetting, …) aren't faults, and are passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import TypeVar

from brim import apis, incidents
from brim.conversation import Conversation
from brim.deadline import OutOfTime, run_within
from brim.errors import BrimError
from brim.incidents import Incident
from brim.planning.attachments import Attachment
from brim.planning.draft import own_name
from brim.planning.plain import PlainPlan, plain_plan, steps_of
from brim.planning.plan import Notice, Plan
from brim.planning.reports.decisions import Decision, Form, Report
from brim.planning.reports.from_plan import report_of
from brim.planning.request import PlanRequest

T = TypeVar("T")
# Seconds after which a report is abandoned. It reads everything again, and no request waits for it.
REPORT_TIMEOUT = 10.0
# Seconds after which planning is abandoned. A fit of 200,000 tokens takes about 0.3 s on one core of a laptop.
FIT_TIMEOUT = 2.0


def planned(request: PlanRequest, plan: Callable[[PlanRequest], Plan], seconds: float | None) -> Plan:
    """The result of `plan`, or of the plain planner if that raises or takes too long."""
    with incidents.collected() as found:
        try:
            made = run_within(seconds, partial(plan, request))
        except BrimError:
            raise
        except OutOfTime as problem:
            incidents.note("timeout", problem)
            made = plain_plan_of(request)
        except Exception as problem:
            incidents.note("planning", problem)
            made = plain_plan_of(request)
    return replace(made, warnings=(*made.warnings, *told(found)))


def told(found: Iterable[Incident]) -> list[Notice]:
    """Faults as messages for the report, without duplicates."""
    return [Notice(text) for text in dict.fromkeys(map(str, found))]


def plain_plan_of(request: PlanRequest) -> Plan:
    """The request planned by the plain planner, with its context as messages before the current one."""
    given, added = _with_context(request.conversation, [*request.carried, *request.context])
    plan = plain_plan(given, request.limit, request.counter, request.size, request.pinned(given.messages))
    places = [_before(index, added) for index in plan.places]
    steps = [step for index, step in enumerate(_steps(request, given, plan)) if index not in added]
    archived = [_before(index, added) for index in plan.archived(given) if index not in added]
    steps = [replace(step, item=own_name(request.conversation, at)) for at, step in enumerate(steps)]
    return Plan(plan.conversation, plan.total, archive=plan.archive, archived=archived, steps=steps, places=places)


def _with_context(conversation: Conversation, pieces: list[Attachment]) -> tuple[Conversation, range]:
    """The conversation with attached context in one message, and the index of that message."""
    steps = steps_of(conversation.messages)
    asks = [step[0] for step in steps if conversation.messages[step[-1]].role == "user"]
    at = asks[-1] if asks else 0
    if not pieces:
        return conversation, range(at, at)
    message = apis.text_message(conversation.api, "user", "\n\n".join(piece.block() for piece in pieces))
    messages = (*conversation.messages[:at], message, *conversation.messages[at:])
    return replace(conversation, messages=messages), range(at, at + 1)


def _before(index: int, added: range) -> int:
    """The index of a message in the original request, before context was added."""
    return -1 if index in added or index < 0 else index - len(added) * (index >= added.stop)


def _steps(request: PlanRequest, given: Conversation, plan: PlainPlan) -> list[Decision]:
    """The step taken for every message."""
    shown = dict(zip(plan.places, plan.conversation.messages, strict=True))
    size = request.counter.message
    found: list[Decision] = []
    for index, message in enumerate(given.messages):
        now = shown.get(index)
        form: Form = "archived" if now is None else "full" if now is message else "outline"
        why = {
            "full": "kept by the plain planner",
            "outline": "shortened to beginning and end by the plain planner",
            "archived": "archived by the plain planner: older than what fits",
        }[form]
        kind = message.parts[0].kind if message.parts else "text"
        layer = 1 if message.role == "system" else 4
        after = 0 if now is None else size(now)
        found.append(Decision("", message.role, layer, kind, size(message), after, form, why))
    return found


def report_anyhow(request: PlanRequest, plan: Plan) -> Report:
    """The report of a plan, or one with only the request's tokens if that fails or takes too long."""
    with incidents.collected() as found:
        made = told_anyhow(partial(report_of, request, plan))
    if made is not None:
        return made
    counter, archived = request.counter, len(plan.archived)
    count, after = counter.count(plan.conversation), counter.likely(plan.conversation)
    return Report(
        model=request.model.name,
        policy=request.policy.name,
        limit=request.stated_limit,
        before=counter.likely(request.conversation),
        after=after,
        upper=max(count.upper, ceil(after)),
        source=count.source,
        layers=(),
        decisions=tuple(plan.steps),
        kept=len(plan.conversation.messages),
        compacted=0,
        archived=archived,
        turns_dropped=bool(archived),
        warnings=tuple(notice.message for notice in (*plan.warnings, *told(found))),
    )


def told_anyhow(tell: Callable[[], T]) -> T | None:
    """Extra information on a finished plan; None if that fails, which is noted without failing the request."""
    try:
        return run_within(REPORT_TIMEOUT, tell)
    except BrimError:
        raise
    except (Exception, OutOfTime) as problem:
        incidents.note("report", problem)
        return None
