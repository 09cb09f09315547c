"""Fit: parse, count, plan, render. The single place that enforces the limit, by counting what is really sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from brim import apis, models
from brim.content import extras
from brim.conversation import Conversation, decode
from brim.errors import BadInput, BadSetting, BudgetTooSmall
from brim.fallback import FIT_TIMEOUT, plain_plan_of, planned, report_anyhow
from brim.framework_messages import reads_frameworks, repeatable
from brim.models import Model
from brim.pins import marked
from brim.planning.attachments import Attachment, made
from brim.planning.plan import Notice, Plan
from brim.planning.policies import strategies
from brim.planning.policies.policy import Policy
from brim.planning.reports.decisions import Report
from brim.planning.reports.explanation import Explanation
from brim.planning.reports.from_plan import GONE, notices
from brim.planning.request import PlanRequest, Summarize, size_of
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter

log = logging.getLogger("brim")
# Advice on missing extras that was already logged.
_advised: set[str] = set()
OnEvent = Callable[["Event"], None]


@dataclass(frozen=True, slots=True)
class Event:
    """Something a fit did, with its numbers: turns archived, content compacted, refused, warning."""

    kind: str
    message: str
    numbers: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Fitted:
    """A request within its budget, in its original type, with a report of the changes."""

    body: Any
    conversation: Conversation
    tokens: int
    _archive: Callable[[], dict[str, str]] = field(repr=False)
    _report: Callable[[], Report] = field(repr=False)
    _again: Callable[[int], Fitted] = field(repr=False)

    @cached_property
    def archive(self) -> dict[str, str]:
        """Originals of content that left the request, by handle."""
        return self._archive()

    @cached_property
    def report(self) -> Report:
        """The report of what was done, created on first use."""
        return self._report()

    @property
    def reporter(self) -> Callable[[], Report]:
        """A function that creates the report. A session's can be kept for long: it has neither body nor plan."""
        return self._report

    @property
    def messages(self) -> Any:
        """The fitted messages: the given list, or the list inside the body."""
        if isinstance(self.body, Mapping):
            return self.body[apis.APIS[self.conversation.api].list_field]
        if isinstance(self.body, (bytes, bytearray, memoryview, str)):
            return [message.value for message in self.conversation.messages]
        return self.body

    @property
    def system(self) -> Any:
        """The fitted instructions in APIs that have them separate from messages; None if they are a message."""
        system = self.conversation.system
        return None if system is None else system.value

    @property
    def tools(self) -> Any:
        """The tools that were counted; None if there are none."""
        tools = self.conversation.tools
        return None if tools is None else decode(tools)

    @property
    def plan(self) -> Explanation:
        """The form of every item and the reason; print it to see what happened on one screen."""
        return Explanation(self.report, lambda budget: self.at(budget).report)

    def __repr__(self) -> str:
        return f"Fitted({self.report.before:,} -> {self.tokens:,} tokens, {self.report.archived} messages archived)"

    def at(self, budget: int) -> Fitted:
        """The same request fitted to another budget."""
        check_tokens("budget", budget, 1)
        return self._again(budget)


@reads_frameworks(back=True)
def fit(
    request: Any,
    *,
    model: str | Model | None = None,
    budget: int | None = None,
    reserve: int | None = None,
    tools: Any = None,
    system: Any = None,
    tool_choice: Any = None,
    policy: Policy | str | None = None,
    context: Attachment | str | Iterable[Attachment | str] | None = None,
    carried: Attachment | str | Iterable[Attachment | str] | None = None,
    api: str | None = None,
    recall: bool = False,
    actuals: Actuals | None = None,
    summarize: Summarize | None = None,
    on_event: OnEvent | None = None,
    fit_timeout: float | None = FIT_TIMEOUT,
) -> Fitted:
    """Return `request` fitted into `budget` tokens, or raise BudgetTooSmall.

    `request` is a list of messages or a request body (dict or JSON bytes) of any API that Brim knows, or a list of
    LangChain's or pydantic-ai's messages; the result has the same type. `budget` defaults to the model's own input
    limit, and can't exceed its window.
    Instructions, tools and the newest turn always stay; a tool result never loses its call.

    If Brim has an internal error, or planning takes more than `fit_timeout` seconds (None: no limit), a planner that
    only uses sizes fits the request instead, and the report says so.
    """
    check_seconds("fit_timeout", fit_timeout)
    request = repeatable(request)
    named = model if isinstance(model, (str, Model)) else ""
    conversation = apis.parse(request, api, model=named, tools=tools, system=system, tool_choice=tool_choice)
    found = models.model_of(model, conversation.model)
    policy = Policy.of(policy)
    counter = Counter(found, conversation.api, actuals)
    request, conversation = answerable(request, conversation, found, counter)
    pins = keeping(policy, marked(request, conversation))
    pieces = {name: tuple(made(given, name)) for name, given in (("context", context), ("carried", carried))}

    def at(wanted: int | None) -> Fitted:
        work = PlanRequest(
            conversation=conversation,
            counter=counter,
            model=found,
            policy=policy,
            limit=limit_of(found, conversation, policy, wanted, reserve),
            own_limit=by_window(found, conversation, policy, wanted, reserve),
            recall=recall,
            summarize=summarize,
            context=pieces["context"],
            carried=pieces["carried"],
            pins=pins,
        ).by_estimate()
        return _finish(request, work, on_event, at, capped(work, wanted), fit_timeout)

    return at(budget)


def keeping(policy: Policy, pins: frozenset[bytes]) -> frozenset[bytes]:
    """The pinned messages. Raises BadInput if the policy can't keep them."""
    if pins and not policy.appends:
        raise BadInput("pin", f"the policy {policy.name!r} decides by itself what stays: `agent` keeps what is pinned")
    return pins


async def afit(request: Any, **arguments: Any) -> Fitted:
    """`fit` for programs with an event loop: the work runs in a thread without blocking the loop."""
    return await asyncio.to_thread(fit, request, **arguments)


def in_type(request: Any, body: Any) -> Any:
    """The rendered request, as a tuple or bytearray if that was given."""
    return tuple(body) if isinstance(request, tuple) else bytearray(body) if isinstance(request, bytearray) else body


def limit_of(model: Model, conversation: Conversation, policy: Policy, budget: int | None, reserve: int | None) -> int:
    """The most input tokens that the request may have: the smallest of all limits.

    A budget is the caller's own number, and never more than the window leaves. Without it, the limit is the model's
    window less the room for the answer (as requested, or the model's largest output). A policy may also have its own
    window. A reserve is kept free in each of them.
    """
    budget, reserve = _given(policy, budget, reserve)
    model = _opened(model, conversation)
    if budget is not None:
        limit = min(budget - (reserve or 0), _left(model, conversation, reserve))
    else:
        limit = model.max_input(conversation.max_output if reserve is None else reserve)
    own = policy.cap(reserve)
    return limit if own is None else min(limit, own)


def answerable(request: Any, conversation: Conversation, model: Model, counter: Counter) -> tuple[Any, Conversation]:
    """The request, with its answer limited to the room in the window.

    A request for a whole window of output or more means "as much as possible": the room that the prompt leaves, but no
    more than the model's largest output, and no less than an answer of unspecified length gets.
    """
    asked, model = conversation.max_output, _opened(model, conversation)
    if asked is None or asked < model.window:
        return request, conversation
    left = model.window - size_of(counter, counter.total(conversation), len(conversation.messages), True)
    most = max(usual_output(model), min(left, model.max_output or left))
    return apis.with_output(request, conversation, most)


def usual_output(model: Model) -> int:
    """The tokens kept free for an answer of unspecified length."""
    return model.window - replace(model, input_limit=None).max_input()


def shorter_answer(request: Any, conversation: Conversation, model: Model) -> tuple[Any, Conversation] | None:
    """The request with an answer of the usual length; None if it doesn't ask for more than that."""
    usual = usual_output(_opened(model, conversation))
    asked = conversation.max_output
    return apis.with_output(request, conversation, usual) if asked is not None and asked > usual else None


def cut_output(conversation: Conversation, window: int) -> list[Notice]:
    """A note if a request was sent with a shorter answer than it asked for; else nothing."""
    asked, most = conversation.asked_output, conversation.max_output
    if asked is None or most is None:
        return []
    message = f"{asked:,} output tokens do not fit beside the prompt in a window of {window:,}: {most:,} are asked for"
    return [Notice(message, {"asked": asked, "sent": most, "window": window})]


def by_window(
    model: Model, conversation: Conversation, policy: Policy, budget: int | None, reserve: int | None
) -> bool:
    """Whether the limit is the model's own, because there is no budget or the window leaves less."""
    budget, reserve = _given(policy, budget, reserve)
    return budget is None or budget - (reserve or 0) > _left(model, conversation, reserve)


def capped(work: PlanRequest, budget: int | None) -> list[Notice]:
    """A note if the window leaves less than the budget; else nothing."""
    wanted = work.policy.budget if budget is None else budget
    cut = cut_output(work.conversation, _opened(work.model, work.conversation).window)
    if wanted is None or not work.own_limit:
        return cut
    limit = work.stated_limit
    room = f"its window leaves {limit:,}, which is the limit now"
    message = f"the budget of {wanted:,} tokens is more than {work.model.name} takes: {room}"
    return [*cut, Notice(message, {"budget": wanted, "limit": limit})]


def _given(policy: Policy, budget: int | None, reserve: int | None) -> tuple[int | None, int | None]:
    """The budget and the reserve: the caller's own, else the policy's."""
    for name, given, least in (("budget", budget, 1), ("reserve", reserve, 0)):
        if given is not None:
            check_tokens(name, given, least)
    whole = policy.budget if budget is None else budget
    kept = policy.reserve if reserve is None else reserve
    if whole is not None and kept is not None and kept >= whole:
        problem = f"{kept:,} tokens leave nothing of the budget of {whole:,}: give a smaller one"
        raise BadInput("reserve", problem) if reserve is not None else BadSetting("policy.reserve", problem)
    return whole, kept


def _left(model: Model, conversation: Conversation, reserve: int | None) -> int:
    """The tokens that the window leaves beside the requested or usual answer."""
    return _opened(model, conversation).max_input(max(conversation.max_output or 0, reserve or 0))


def _opened(model: Model, conversation: Conversation) -> Model:
    """The model with the window set in the request, if that is smaller."""
    window = conversation.window
    if window is None or window >= model.window:
        return model
    output = model.max_output if model.max_output is not None and model.max_output < window else None
    return replace(model, window=window, max_output=output)


def check_tokens(name: str, given: Any, least: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise BadInput(name, f"{given!r} is not a number of tokens: give a whole number of at least {least}")


def check_seconds(name: str, given: Any) -> None:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if given is not None and not (number and given > 0):
        raise BadInput(name, f"{given!r} is not a number of seconds: give one above 0, or None")


def _finish(
    request: Any,
    work: PlanRequest,
    on_event: OnEvent | None,
    again: Callable[[int], Fitted],
    warnings: list[Notice],
    seconds: float | None,
) -> Fitted:
    try:
        outcome = planned(work, strategies.run, seconds)
    except BudgetTooSmall as found:
        refusal = work.refusal(found)
        tell(on_event, refused(refusal))
        raise refusal from None
    outcome = replace(outcome, warnings=(*warnings, *outcome.warnings))
    for event in events(work, outcome):
        tell(on_event, event)
    # Put fields given separately into the body too, so that everything counted is sent.
    unchanged = outcome.conversation is work.conversation and not work.conversation.beside
    body = request if unchanged else in_type(request, apis.render(outcome.conversation, request, work.conversation))
    tokens = work.counter.likely(outcome.conversation)
    return Fitted(body, outcome.conversation, tokens, outcome.originals, lambda: report_anyhow(work, outcome), again)


def fit_plainly(request: Any, work: PlanRequest, again: Callable[[int], Fitted]) -> Fitted:
    """Fit a parsed request with only the plain planner. Raises BudgetTooSmall."""
    try:
        outcome = plain_plan_of(work)
    except BudgetTooSmall as found:
        raise work.refusal(found) from None
    for event in events(work, outcome):
        tell(None, event)
    unchanged = outcome.conversation is work.conversation
    body = request if unchanged else in_type(request, apis.render(outcome.conversation, request, work.conversation))
    tokens = work.counter.likely(outcome.conversation)
    return Fitted(body, outcome.conversation, tokens, outcome.originals, lambda: report_anyhow(work, outcome), again)


def refused(refusal: BudgetTooSmall) -> Event:
    return Event("refused", str(refusal), {"needed": refusal.needed, "budget": refusal.budget})


def events(work: PlanRequest, outcome: Plan) -> list[Event]:
    """The events of a fit, for the log and callbacks."""
    found = []
    if outcome.archived:
        found.append(
            Event("archived", f"archived {len(outcome.archived)} messages", {"messages": len(outcome.archived)})
        )
    short = [
        (item.tokens, item.shown_tokens)
        for group in outcome.groups
        if group.kept
        for item in group.items
        if item.shown is not None
    ]
    # A policy's own steps are archived turns and shortened content.
    short += [
        (step.before, step.after)
        for step in outcome.steps
        if step.form != "full" and (step.kind == "block" or step.form not in GONE)
    ]
    if short:
        before, after = (work.counter.corrected(sum(sizes)) for sizes in zip(*short, strict=True))
        numbers = {"items": len(short), "before": before, "after": after}
        found.append(Event("compacted", f"compacted {len(short)} items", numbers))
    warnings = (*outcome.warnings, *notices(work, outcome))
    return found + [Event("warning", warning.message, warning.numbers) for warning in warnings]


def tell(on_event: OnEvent | None, event: Event) -> None:
    numbers = " ".join(f"{name}={value}" for name, value in event.numbers.items())
    level = logging.WARNING if event.kind in ("refused", "warning") else logging.INFO
    if event.message in extras.advice().values():  # log it only once, but include it in every report
        level = logging.DEBUG if event.message in _advised else level
        _advised.add(event.message)
    log.log(level, "%s %s", event.message, numbers)
    if on_event is not None:
        on_event(event)
