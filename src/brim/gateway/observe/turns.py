"""A turn: a request, what was sent for it, and the outcome. Numbers can be stored; content stays in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import msgspec

from brim import apis, fitting
from brim.apis import Usage
from brim.conversation import Conversation, decode
from brim.errors import BadBody
from brim.fallback import told_anyhow
from brim.models import Model, Prices
from brim.planning.layer_sizes import must_stay
from brim.planning.policies.policy import Policy
from brim.planning.reports.decisions import FULL, FillLevel, Report, level_of
from brim.tokens.counter import Counter

TurnOutcome = Literal["running", "done", "refused", "failed", "gone", "incomplete"]


class GatewayTurn(msgspec.Struct, eq=False, gc=False):  # whatever leads back to it lets go of it
    """A request that passed through. `original` and `sent` are the conversation before and after; `report` says why."""

    id: str
    number: int
    session: str
    at: float
    api: str
    model: str
    upstream: str
    client: str
    tenant: str = ""
    streamed: bool = False
    before: int = 0
    after: int = 0
    upper: int = 0
    limit: int = 0
    window: int = 0
    archived: int = 0
    changed: bool = False
    refits: int = 0
    recalls: int = 0
    """How often the model asked for archived content."""
    recalled: int = 0
    """Archived passages that Brim put back into the prompt with this turn."""
    faults: int = 0
    """Faults inside Brim that it survived."""
    status: int = 0
    outcome: TurnOutcome = "running"
    note: str = ""
    added_ms: float = 0.0
    total_ms: float = 0.0
    usage: Usage | None = None
    cost: float | None = None
    saved: float | None = None
    found: Model | None = None
    policy: Policy | None = None
    came: Conversation | None = None
    went: Conversation | None = None
    unread: bytes | None = None
    """The body of a request that nobody has read yet."""
    about: bool = False
    """Its tokens were not counted but told by its size, and by what the provider said of the request before it."""
    fitted: fitting.Fitted | None = None
    told: Callable[[], Report] | None = None
    made: Report | None = None
    stays: int | None = None
    """Tokens of it that no plan can shorten, once that has been asked for."""

    @property
    def used(self) -> float:
        """The share of the limit that was used: by the provider's count if known, otherwise by Brim's.

        What a provider adds by itself, such as files, doesn't count towards the limit.
        """
        if not self.limit:
            return 0.0
        told = self.usage.input if self.usage is not None and not self.recalls else 0
        return (told if 0 < told <= self.upper else self.after) / self.limit

    def fixed(self) -> int:
        """Tokens that no plan can shorten, computed once; 0 while there is room, because then they don't matter."""
        if self.stays is None and self.after >= FULL * self.limit > 0 and self.sent is not None and self.found:
            counter = Counter(self.found, self.sent.api)
            fixed = told_anyhow(partial(must_stay, self.sent, counter)) or 0
            self.stays = min(self.after, round(fixed / max(1, counter.total(self.sent)) * self.after))
        return self.stays or 0

    @property
    def level(self) -> FillLevel:
        return level_of(self.used, self.fixed() / self.limit if self.limit else 0.0)

    @property
    def original(self) -> Conversation | None:
        """The conversation as received, parsed on first use; only while the turn is among the last."""
        if self.came is None and self.unread is not None:
            body, self.unread = self.unread, None
            try:
                self.came = slim(apis.parse(body, self.api, model=self.model))
            except BadBody:
                return None
        return self.came

    @property
    def sent(self) -> Conversation | None:
        """The conversation as sent; only while the turn is among the last."""
        return self.went or self.original

    def forget(self) -> None:
        """Drop all content; the numbers stay."""
        self.came = self.went = self.unread = self.fitted = self.told = self.made = None

    @property
    def overflowing(self) -> bool:
        """Whether the original request would have overflowed."""
        return bool(self.limit) and self.before > self.limit

    @property
    def error(self) -> float | None:
        """How far the count was off; None if nothing was counted. Example: counted 103, actual 100 -> 0.03"""
        if self.about or not self.usage or not self.usage.input or not self.after:
            return None
        return self.after / self.usage.input - 1

    @property
    def report(self) -> Report | None:
        """What happened to every item, computed on first use; None if that is no longer known.

        An unchanged request can be planned again with the same result. A changed one can't: its session has moved on,
        and a new plan wouldn't be what was sent.
        """
        if self.made is None and self.fitted is not None:
            self.made = self._as_counted(self.fitted.report)
        elif self.made is None and self.told is not None:
            self.made = self._as_counted(self.told())
        elif self.made is None and not self.changed and self.original is not None and self.found is not None:
            self.made = self._as_counted(self.planned_at(max(self.limit, self.before)).report)
        return self.made

    def let_go(self) -> None:
        """Keep the report, and drop everything the plan was made from."""
        if self.told is None:
            self.told = _known(self.report)
        self.fitted = None

    def _as_counted(self, report: Report) -> Report:
        """The report with the counts of its time; what was learned since would change them."""
        return replace(report, before=self.before, after=self.after) if self.after else report

    def planned_at(self, budget: int, policy: Policy | None = None) -> fitting.Fitted:
        """The same request planned at another budget, by its own policy or another."""
        assert self.original is not None
        conversation = self.original
        return fitting.fit(
            [message.value for message in conversation.messages],
            model=self.found,
            budget=budget,
            api=conversation.api,
            policy=policy or self.policy,
            tools=_value(conversation.tools),
            system=conversation.system.value if conversation.system else None,
        )

    def settle(self, usage: Usage | None, before_last: int, extra: Sequence[Usage] = ()) -> None:
        """Record the provider's usage and its cost; `extra` is the usage of recalls on top.

        It replaces what was only told by the size, unless the request can't have taken it.
        """
        self.usage = usage
        if self.about and usage is not None and 0 < usage.input <= self.upper:
            self.before = self.after = usage.input
        prices = self.found.prices if self.found else None
        if usage is not None and prices is not None:
            recalls = sum(cost_of(one, prices) for one in extra) if extra else 0.0
            self.cost = cost_of(usage, prices) + recalls
            self.saved = (saving_of(self, usage, prices, before_last) if self.changed else 0.0) - recalls

    def as_dict(self) -> dict[str, Any]:
        """The numbers for the JSON API, without content."""
        return {
            "id": self.id,
            "number": self.number,
            "session": self.session,
            "at": round(self.at, 3),
            "api": self.api,
            "model": self.model,
            "upstream": self.upstream,
            "client": self.client,
            "tenant": self.tenant,
            "streamed": self.streamed,
            "tokens_before": self.before,
            "tokens_after": self.after,
            "upper": self.upper,
            "limit": self.limit,
            "window": self.window,
            "used": round(self.used, 4),
            "level": self.level,
            "must_stay": self.fixed(),
            "archived": self.archived,
            "changed": self.changed,
            "would_have_overflowed": self.overflowing,
            "refits": self.refits,
            "recalls": self.recalls,
            "recalled": self.recalled,
            "status": self.status,
            "outcome": self.outcome,
            "note": self.note,
            "added_ms": round(self.added_ms, 3),
            "total_ms": round(self.total_ms, 3),
            "usage": _usage(self.usage),
            "error": None if self.error is None else round(self.error, 5),
            "cost_usd": None if self.cost is None else round(self.cost, 8),
            "saved_usd": None if self.saved is None else round(self.saved, 8),
        }


def _known(report: Report | None) -> Callable[[], Report] | None:
    return None if report is None else lambda: report


def _value(raw: bytes | None) -> Any:
    return decode(raw) if raw else None


def _usage(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    return {"input": usage.input, "output": usage.output, "cached": usage.cached, "written": usage.written}


def slim(conversation: Conversation) -> Conversation:
    """The conversation without its body; its messages are shared with other turns."""
    return Conversation(
        conversation.api,
        conversation.messages,
        conversation.system,
        conversation.tools,
        model=conversation.model,
        max_output=conversation.max_output,
        asked_output=conversation.asked_output,
    )


def cost_of(usage: Usage, prices: Prices) -> float:
    """The cost of one request in USD, with fresh, cached and written input at their own prices."""
    fresh = max(0, usage.input - usage.cached - usage.written)
    return prices.cost(fresh, usage.cached, usage.written, usage.output)


def saving_of(turn: GatewayTurn, usage: Usage, prices: Prices, before_last: int) -> float:
    """The saving in USD over sending everything, net of cache effects.

    Sending everything would have read the whole of the last request from the cache, if this provider caches at all:
    so a compaction that loses the cache shows as a loss here until it has paid for itself.
    """
    if not turn.changed or not turn.after:
        return 0.0
    scale = usage.input / turn.after
    whole = round(turn.before * scale)
    caches = prices.cached is not None and (usage.cached > 0 or usage.written > 0)
    cached = min(whole, round(before_last * scale)) if caches else 0
    written = whole - cached if usage.written else 0
    return cost_of(Usage(whole, usage.output, cached, written), prices) - cost_of(usage, prices)
