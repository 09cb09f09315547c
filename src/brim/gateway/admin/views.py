"""The data behind the JSON API and the dashboard, as plain values. Content is redacted before it leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from brim.conversation import Conversation
from brim.errors import BadInput, NotFound
from brim.gateway.admin.messages import LONGEST_TEXT, messages_of
from brim.gateway.admin.numbers import numbers
from brim.gateway.admin.timeline import cache_break_of, events
from brim.gateway.fitting.conversations import Live
from brim.gateway.observe.turns import GatewayTurn
from brim.gateway.proxy.faults import Refused
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.planning.reports.decisions import HIGH, Report

if TYPE_CHECKING:
    from brim.gateway.server.app import Gateway

# Conversations to search for requests in flight: the default maximum of requests in flight.
MOST_LOOKED = 256
DAY = 86_400
# Seconds to cache usage by day, which takes adding up every request of a month.
USAGE_SECONDS = 30


class Views:
    """Reads the gateway's data for a tenant, or for the operator (None), who sees all. Results are JSON-ready."""

    def __init__(self, gateway: Gateway, tenant: str | None = None) -> None:
        self._gateway = gateway
        self._tenant = tenant
        self._usage: dict[int, tuple[float, list[dict[str, Any]]]] = {}

    def shows(self, tenant: str) -> bool:
        """Whether this view may show a tenant's data."""
        return self._tenant is None or self._tenant == tenant

    def _recent(self) -> Sequence[GatewayTurn]:
        """The last turns, newest last."""
        recent = self._gateway.journal.recent
        return recent if self._tenant is None else [turn for turn in recent if turn.tenant == self._tenant]

    def _for_operator(self) -> None:
        """Refuse data that can't be limited to one tenant."""
        if self._tenant is not None:
            raise Refused(403, "this is for the operator, who asks without an API key", "operator_only")

    def live(self, limit: int = 50) -> dict[str, Any]:
        """Totals since the start of all gateways on the store, and their last turns."""
        if self._tenant is not None:
            return _totals(self._recent(), limit)
        metrics, recent = self._gateway.others.metrics(everyone=True), self._gateway.journal.recent
        before, after = metrics.total("brim_tokens_before_total"), metrics.total("brim_tokens_after_total")
        given, cached = metrics.total("brim_input_tokens_total"), metrics.total("brim_cached_tokens_total")
        errors = [abs(turn.error) for turn in recent if turn.error is not None]
        return {
            "requests": int(metrics.total("brim_requests_total")),
            "running": metrics.running,
            "tokens_before": int(before),
            "tokens_after": int(after),
            "overflows_avoided": int(metrics.total("brim_overflows_avoided_total")),
            "fitted": int(metrics.total("brim_fitted_total")),
            "refits": int(metrics.total("brim_refits_total")),
            "recalls": int(metrics.total("brim_recalls_total")),
            "cache_hit_share": round(cached / given, 4) if given else None,
            "cost_usd": round(metrics.total("brim_cost_usd_total"), 6),
            "saved_usd": round(metrics.total("brim_saved_usd_total"), 6),
            "mean_error": round(sum(errors) / len(errors), 5) if errors else None,
            "over_upper": int(metrics.total("brim_upper_exceeded_total")),
            "faults": metrics.faults(),
            "added_ms_p50": _middle([turn.added_ms for turn in recent]),
            "turns": [turn.as_dict() for turn in islice(reversed(recent), limit)],
        }

    def numbers(self, span: str, model: str = "", client: str = "", tenant: str = "") -> dict[str, Any]:
        """Numbers over a span of time: "15m", "1h", "24h", "7d", "30d", or "" for the one that fits."""
        wanted = {"model": model, "client": client, "tenant": tenant}
        return numbers(self._gateway.journal.history, span, wanted, self.shows)

    def running(self, limit: int = 20) -> list[dict[str, Any]]:
        """The requests in flight, oldest first."""
        found = [
            live.turns[-1]
            for live in islice(self._gateway.fitter.conversations, MOST_LOOKED)
            if self.shows(live.tenant) and live.turns and live.turns[-1].outcome == "running"
        ]
        return [turn.as_dict() for turn in sorted(found, key=lambda turn: turn.at)[:limit]]

    def moments(self, limit: int = 8) -> list[dict[str, Any]]:
        """Recent noteworthy events, newest first, each with its session, turn, kind and description."""
        found = []
        for live in islice(self._gateway.fitter.conversations, MOST_LOOKED // 10):
            if not self.shows(live.tenant):
                continue
            times = {turn.number: turn.at for turn in live.turns}
            for number, told in events(live.turns).items():
                found += [{"session": live.id, "number": number, "at": times[number], **one} for one in told]
        return sorted(found, key=lambda one: -one["at"])[:limit]

    def sessions(self, limit: int = 50, query: str = "") -> list[dict[str, Any]]:
        """The most recently used conversations."""
        wanted = query.casefold()
        found = (
            _summary(live)
            for live in sorted(self._gateway.fitter.conversations, key=lambda live: -live.touched)
            if self.shows(live.tenant) and wanted in f"{live.id} {live.model} {live.client}".casefold()
        )
        return list(islice(found, limit))

    def session(self, id: str) -> dict[str, Any]:
        """One conversation with its turns; NotFound."""
        live = self._live(id)
        told = events(live.turns)
        turns = [
            {**turn.as_dict(), "layers": _layers(turn.made), "events": told.get(turn.number, []), "held": _held(turn)}
            for turn in live.turns
        ]
        archive = [{"handle": handle, "characters": size} for handle, size in live.archive.items()]
        return {**_summary(live), "turns": turns, "archive": archive, "summaries": self._summaries(live)}

    def _summaries(self, live: Live) -> list[dict[str, Any]]:
        """The summaries and recalls that are in a conversation's prompt now."""
        session = self._gateway.fitter.sessions.held(live.id) if live.engaged else None
        return [
            {
                "kind": "recall" if entry.kind == "recall" else "summary",
                "start": entry.start,
                "end": entry.end,
                "tokens": entry.tokens,
                "digest": entry.message.digest.hex()[:16],
                "text": self._gateway.redact(entry.message.text[:LONGEST_TEXT]),
            }
            for entry in (list(session.view.entries) if session is not None else ())
            if entry.kind in ("summary", "model summary", "recall")
        ]

    def turn(self, id: str, number: int) -> dict[str, Any]:
        """One turn: every item with its form and reason, and the messages before and after."""
        turn = self._turn(id, number)
        report = turn.report
        live = self._live(id)
        broken = cache_break_of(next((one for one in live.turns if one.number == number - 1), None), turn)
        return {
            **turn.as_dict(),
            "cache_break": asdict(broken) if broken is not None else None,
            "report": self._shown(report),
            "before": self._messages(turn.original, turn),
            "after": self._messages(turn.sent, turn),
            "events": events(live.turns).get(number, []),
            "answer": self._answer(live, turn),
        }

    def _answer(self, live: Live, turn: GatewayTurn) -> str | None:
        """The model's answer as the next request carries it; None if that is no longer in memory."""
        later = next((one for one in live.turns if one.number == turn.number + 1), None)
        if later is None or turn.original is None or later.original is None:
            return None
        said = later.original.messages[len(turn.original.messages) :]
        texts = [message.text for message in said[:1] if message.role == "assistant" and not message.calls]
        return self._gateway.redact(texts[0][:LONGEST_TEXT]) if texts else None

    def layers(self, id: str, number: int) -> list[dict[str, Any]] | None:
        """The tokens of one turn by layer; None if they are no longer known."""
        return _layers(self._turn(id, number).report)

    def planned_at(self, id: str, number: int, budget: int, policy: str = "") -> dict[str, Any]:
        """The same turn at another budget, by a policy of this name. Raises BudgetTooSmall, NotFound, BadSetting."""
        turn = self._turn(id, number)
        if turn.original is None or turn.found is None:
            raise NotFound(f"the content of turn {number} is not held any more")
        fitted = turn.planned_at(budget, Policy.named(policy) if policy else None)
        return {
            "budget": budget,
            "tokens": fitted.tokens,
            "report": self._shown(fitted.report),
            "after": self._messages(fitted.conversation, turn),
        }

    def archived(self, id: str, handle: str) -> dict[str, Any]:
        """The content behind a handle."""
        text = self._gateway.fitter.archived(self._live(id), handle)
        if text is None:
            raise NotFound(f"nothing is archived under {handle!r}")
        return {"handle": handle, "characters": len(text), "text": self._gateway.redact(text[:LONGEST_TEXT])}

    def models(self) -> list[dict[str, Any]]:
        """The models used or discovered: windows, margins, errors, usage and cost."""
        found: dict[str, list[GatewayTurn]] = {}
        for turn in self._recent():
            if turn.found is not None:
                found.setdefault(turn.model, []).append(turn)
        listed = [_model_row(name, turns) for name, turns in sorted(found.items())]
        known = {row["model"] for row in listed}
        defaults = self._gateway.fitter.last_models.defaults(self._tenant)
        for upstream, names in sorted(self._gateway.discovery.learnt.items()):
            for name in names:
                if name not in known:
                    listed.append(
                        {
                            **_limits(self._gateway.fitter.models.catalog.find(name)),
                            "model": name,
                            "upstream": upstream,
                            "requests": 0,
                        }
                    )
        return [{**row, "default": defaults.get(row["upstream"]) == row["model"]} for row in listed]

    def usage(self, days: int = 30) -> dict[str, Any]:
        """Usage by day and model, from the store if there is one."""
        self._for_operator()
        store = self._gateway.store
        if store is None:
            return {"days": []}
        known = self._usage.get(days)
        if known is None or time.monotonic() - known[0] > USAGE_SECONDS:
            today = int(time.time()) // DAY * DAY
            rows = [asdict(row) for row in store.usage_sums(today - (days - 1) * DAY)]
            self._usage = {days: (time.monotonic(), rows)}
            return {"days": rows}
        return {"days": known[1]}

    def settings(self) -> list[dict[str, Any]]:
        """The settings in force and their origins, without secrets."""
        self._for_operator()
        rows = self._gateway.options.settings.rows()
        return [{"key": key, "value": value, "origin": origin} for key, value, origin in rows]

    def settings_file(self, key: str = "") -> str:
        """The file in which a setting is changed; empty if the gateway was started without files."""
        self._for_operator()
        place = self._gateway.options.settings.place_of(key) if self._gateway.editor is not None else None
        return str(place) if place is not None else ""

    async def change_settings(self, given: Mapping[str, Any]) -> None:
        """Set these keys (None restores the default) in their file and in the running gateway. Raises BadSetting."""
        self._for_operator()
        if self._gateway.editor is None:
            raise BadInput("settings", "this gateway was started without settings files")
        await self._gateway.editor.change(given)

    def status(self) -> dict[str, Any]:
        """The last turn's key numbers, for a status bar."""
        recent, last = self._recent(), self._gateway.fitter.last_models
        turn = recent[-1] if recent else None
        return {
            "turn": turn.as_dict() if turn else None,
            "requests": _requests(self._gateway) if self._tenant is None else len(recent),
            "last_models": last.clients(self._tenant),
            "default_models": last.defaults(self._tenant),
        }

    async def watch(self) -> asyncio.Queue[GatewayTurn | None]:
        return self._gateway.journal.watch()

    def unwatch(self, queue: asyncio.Queue[GatewayTurn | None]) -> None:
        self._gateway.journal.unwatch(queue)

    def _live(self, id: str) -> Live:
        live = self._gateway.fitter.conversations.get(id)
        if live is None or not self.shows(live.tenant):
            raise NotFound(f"there is no session {id[:80]!r}")
        return live

    def _turn(self, id: str, number: int) -> GatewayTurn:
        for turn in self._live(id).turns:
            if turn.number == number:
                return turn
        raise NotFound(f"session {id[:80]!r} has no turn {number}")

    def _shown(self, report: Report | None) -> Any:
        return self._gateway.redact.deep(report.as_dict()) if report is not None else None

    def _messages(self, conversation: Conversation | None, turn: GatewayTurn) -> list[dict[str, Any]] | None:
        if conversation is None:
            return None
        counter = self._gateway.fitter.counter(turn.found, turn.api, None) if turn.found is not None else None
        return messages_of(conversation, self._gateway.redact, counter)


def _held(turn: GatewayTurn) -> bool:
    """Whether a turn's messages are in memory, so that its plan can be shown and replayed."""
    return turn.came is not None or turn.unread is not None


def _requests(gateway: Gateway) -> int:
    return int(gateway.metrics.total("brim_requests_total"))


def _totals(turns: Sequence[GatewayTurn], limit: int) -> dict[str, Any]:
    """Totals of one tenant's last turns, from which nothing about other tenants can be inferred."""
    told = [turn.usage for turn in turns if turn.usage is not None]
    given = sum(usage.input for usage in told)
    errors = [abs(turn.error) for turn in turns if turn.error is not None]
    return {
        "requests": len(turns),
        "running": 0,
        "tokens_before": sum(turn.before for turn in turns),
        "tokens_after": sum(turn.after for turn in turns),
        "overflows_avoided": sum(turn.changed and turn.overflowing for turn in turns),
        "fitted": sum(turn.changed for turn in turns),
        "refits": sum(turn.refits for turn in turns),
        "recalls": sum(turn.recalls for turn in turns),
        "cache_hit_share": round(sum(usage.cached for usage in told) / given, 4) if given else None,
        "cost_usd": round(sum(turn.cost or 0.0 for turn in turns), 6),
        "saved_usd": round(sum(turn.saved or 0.0 for turn in turns), 6),
        "mean_error": round(sum(errors) / len(errors), 5) if errors else None,
        "over_upper": sum(turn.usage is not None and turn.usage.input > turn.upper > 0 for turn in turns),
        "faults": sum(turn.faults for turn in turns),
        "added_ms_p50": _middle([turn.added_ms for turn in turns]),
        "turns": [turn.as_dict() for turn in islice(reversed(turns), limit)],
    }


def _summary(live: Live) -> dict[str, Any]:
    last = live.turns[-1] if live.turns else None
    return {
        "id": live.id,
        "client": live.client,
        "tenant": live.tenant,
        "model": live.model,
        "api": live.api,
        "created": round(live.created, 3),
        "touched": round(live.touched, 3),
        "requests": live.requests,
        "tokens_before": last.before if last else 0,
        "tokens_after": last.after if last else 0,
        "limit": last.limit if last else 0,
        "used": round(last.used, 4) if last else 0.0,
        "level": last.level if last else "ok",
        "archived": last.archived if last else 0,
        "originals": len(live.archive),
    }


def _layers(report: Report | None) -> list[dict[str, Any]] | None:
    return [asdict(use) for use in report.layers] if report else None


def _model_row(name: str, turns: list[GatewayTurn]) -> dict[str, Any]:
    errors = sorted(turn.error for turn in turns if turn.error is not None)
    told = [turn.usage for turn in turns if turn.usage is not None]
    found = turns[-1].found
    assert found is not None
    return {
        **_limits(found),
        "model": name,
        "upstream": turns[-1].upstream,
        "requests": len(turns),
        "input": sum(usage.input for usage in told),
        "output": sum(usage.output for usage in told),
        "cached": sum(usage.cached for usage in told),
        "cost_usd": round(sum(turn.cost or 0.0 for turn in turns), 6),
        "saved_usd": round(sum(turn.saved or 0.0 for turn in turns), 6),
        "error_p50": _middle(errors),
        "error_worst_under": round(min(errors, default=0.0), 5),
        "error_worst_over": round(max(errors, default=0.0), 5),
        "over_upper": sum(turn.usage is not None and turn.usage.input > turn.upper > 0 for turn in turns),
        "crowded": sum(turn.limit > 0 and turn.after >= HIGH * turn.limit for turn in turns),
    }


def _limits(model: Model) -> dict[str, Any]:
    return {
        "window": model.window,
        "max_output": model.max_output,
        "input_limit": model.max_input(),
        "family": model.family,
        "source": model.source,
        "prices": asdict(model.prices) if model.prices else None,
    }


def _middle(values: list[float]) -> float | None:
    return round(sorted(values)[len(values) // 2], 4) if values else None
