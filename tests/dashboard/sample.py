"""Dashboard data in memory, made by really fitting a few growing conversations: for tests and for pictures."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import brim
from brim import settings
from brim.apis import Usage
from brim.conversation import Conversation
from brim.counting import count
from brim.dashboard.data import ViewValues
from brim.errors import NotFound
from brim.fitting import Fitted
from brim.gateway.admin.messages import messages_of
from brim.gateway.admin.numbers import numbers
from brim.gateway.observe.history import History
from brim.gateway.observe.turns import GatewayTurn
from brim.models import Model, find
from brim.tokens.counter import Counter

START = 1_790_000_000.0
HOSTILE = "<script>alert('x')</script>"
SYSTEM = "You are a careful release engineer. Answer from the tool results. " + "Name files and builds exactly. " * 90

SUMMARIES = [
    {
        "kind": "summary",
        "start": 1,
        "end": 14,
        "tokens": 212,
        "digest": "62ada855c0ffee00",
        "text": "[13 earlier messages archived]\nasked:\n- Which builds failed?\ndone, do not redo:\n- list_builds",
    },
    {
        "kind": "recall",
        "start": 40,
        "end": 40,
        "tokens": 96,
        "digest": "1f00ba4400aa55cc",
        "text": "[Brim recalls earlier messages that this is about]\nuser: Which builds of release-2 failed?",
    },
]


class Sample:
    """What a gateway would know after some work; `content` is the setting gateway.log_content.

    With `sticky`, turns are fitted by a session, as the gateway does it; without, each by itself.
    """

    def __init__(
        self, *, content: bool = False, turns: int = 14, budget: int = 6_000, start: float = START, sticky: bool = False
    ) -> None:
        self.loaded = settings.load(env={}, gateway={"log_content": content, "port": 9_000})
        self.start = start
        self.sticky = sticky
        self.found: dict[str, dict[str, Any]] = {}
        self.originals: dict[tuple[str, int], Fitted] = {}
        self.archive = {"brim:5ca1ab1e": f"an original\n{HOSTILE}"}
        self.last: list[dict[str, Any]] = []
        self._run("claude-code.3fa91c02", "claude-cli", find("claude-sonnet-4-5"), turns, budget, 1)
        self._run(f"b7{'0' * 30}", f"agent {HOSTILE}", find("gpt-4o"), max(2, turns // 3), budget * 2, 2)

    def _run(self, id: str, client: str, model: Model, turns: int, budget: int, seed: int) -> None:
        """Let a conversation grow: each turn a question, a call, a result, an answer and a question."""
        chance = random.Random(seed)
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        rows: list[dict[str, Any]] = []
        session = brim.Session(model=model, budget=budget, api="openai_chat") if self.sticky else None
        for number in range(1, turns + 1):
            messages += exchange(chance, number)
            body = {"model": model.name, "messages": list(messages)}
            fitted = session.fit(body) if session else brim.fit(body, model=model, budget=budget)
            self.originals[id, number] = fitted
            self.archive |= fitted.archive
            rows.append(self._row(id, client, model, number, messages, fitted))
            self.last.append(rows[-1])
        self.found[id] = {
            "id": id,
            "client": client,
            "model": model.name,
            "turns": rows,
            "summaries": SUMMARIES,
            "archive": [{"handle": handle, "characters": len(text)} for handle, text in self.archive.items()],
        }

    def _row(
        self, id: str, client: str, model: Model, number: int, messages: Sequence[Any], fitted: Fitted
    ) -> dict[str, Any]:
        report = fitted.report
        before = count(list(messages), model=model, api="openai_chat").tokens
        actual = round(fitted.tokens / (1 + 0.004 * (number % 5) - 0.004))
        cached = round(actual * 0.8) if number > 1 else 0
        used = fitted.tokens / report.limit
        return {
            "id": f"r{number}",
            "number": number,
            "session": id,
            "at": self.start + 47 * number,
            "api": "openai_chat",
            "model": model.name,
            "upstream": model.provider,
            "client": client,
            "streamed": True,
            "tokens_before": before,
            "tokens_after": fitted.tokens,
            "upper": report.upper,
            "limit": report.limit,
            "window": model.window,
            "used": round(used, 4),
            "level": report.level,
            "archived": report.archived,
            "changed": before != fitted.tokens,
            "would_have_overflowed": before > report.limit,
            "refits": 0,
            "recalls": int(number == 9),
            "status": 200,
            "outcome": "done",
            "note": "",
            "added_ms": 0.8 + number / 10,
            "total_ms": 1_400.0,
            "usage": {"input": actual, "output": 180, "cached": cached, "written": actual - cached},
            "error": round(fitted.tokens / actual - 1, 5),
            "cost_usd": 0.0012 * number,
            "saved_usd": 0.002 * (number - 4),
            "layers": [asdict(layer) for layer in report.layers],
            "events": [{"kind": "compaction", "told": f"compacted {HOSTILE}"}] if number == 9 else [],
            "recalled": 0,
            "answer": "The build for commit 0005a failed." if number > 2 else None,
            "messages": list(messages),
        }

    def live(self, limit: int = 50) -> ViewValues:
        rows = self.last
        given = sum(row["usage"]["input"] for row in rows)
        errors = [abs(row["error"]) for row in rows]
        return {
            "requests": len(rows),
            "running": 1,
            "tokens_before": sum(row["tokens_before"] for row in rows),
            "tokens_after": sum(row["tokens_after"] for row in rows),
            "overflows_avoided": sum(row["would_have_overflowed"] for row in rows),
            "fitted": sum(row["changed"] for row in rows),
            "refits": 1,
            "recalls": 1,
            "cache_hit_share": sum(row["usage"]["cached"] for row in rows) / given if given else None,
            "cost_usd": sum(row["cost_usd"] for row in rows),
            "saved_usd": sum(row["saved_usd"] for row in rows),
            "mean_error": sum(errors) / len(errors) if errors else None,
            "over_upper": 0,
            "added_ms_p50": 1.3 if rows else None,
            "turns": rows[::-1][:limit],
        }

    def numbers(self, span: str, model: str = "", client: str = "", tenant: str = "") -> ViewValues:
        history = History(None, "")
        for row in self.last:
            history.add(turn_of(row))
        wanted = {"model": model, "client": client, "tenant": tenant}
        now = max((row["at"] for row in self.last), default=self.start)
        return numbers(history, span, wanted, lambda _: True, now)

    def running(self, limit: int = 20) -> Sequence[ViewValues]:
        return [{**self.last[-1], "outcome": "running"}] if self.last else []

    def moments(self, limit: int = 8) -> Sequence[ViewValues]:
        return [
            {"session": row["session"], "number": row["number"], "at": row["at"], **event}
            for row in reversed(self.last)
            for event in row.get("events", ())
        ][:limit]

    def sessions(self, limit: int = 50, query: str = "") -> Sequence[ViewValues]:
        rows = [self._summary(found) for found in self.found.values()]
        return [row for row in rows if query in f"{row['id']} {row['model']} {row['client']}"][:limit]

    def _summary(self, found: dict[str, Any]) -> dict[str, Any]:
        last = found["turns"][-1]
        copied = {
            key: last[key] for key in ("tokens_before", "tokens_after", "limit", "used", "level", "archived", "api")
        }
        times = {"created": self.start, "touched": last["at"], "requests": len(found["turns"])}
        return {**copied, **times, "id": found["id"], "client": found["client"], "model": found["model"]}

    def session(self, id: str) -> ViewValues:
        if id not in self.found:
            raise NotFound(f"there is no session {id!r}")
        found = self.found[id]
        return {**self._summary(found), **{key: found[key] for key in ("turns", "archive", "summaries")}}

    def _turn(self, id: str, number: int) -> dict[str, Any]:
        for row in self.session(id)["turns"]:
            if row["number"] == number:
                return dict(row)
        raise NotFound(f"session {id!r} has no turn {number}")

    def turn(self, id: str, number: int) -> ViewValues:
        row, fitted = self._turn(id, number), self.originals[id, number]
        whole = brim.fit(row["messages"], model=row["model"], budget=10_000_000)
        report = fitted.report.as_dict()
        return {
            **row,
            "report": report,
            "before": shown(whole.conversation, row["model"]),
            "after": shown(fitted.conversation, row["model"]),
        }

    def layers(self, id: str, number: int) -> Sequence[ViewValues]:
        return [asdict(layer) for layer in self.originals[id, number].report.layers]

    def planned_at(self, id: str, number: int, budget: int, policy: str = "") -> ViewValues:
        row = self._turn(id, number)
        fitted = brim.fit(row["messages"], model=row["model"], budget=budget, policy=policy or None)
        told = {"budget": budget, "tokens": fitted.tokens, "report": fitted.report.as_dict()}
        return {**told, "after": shown(fitted.conversation, row["model"])}

    def archived(self, id: str, handle: str) -> ViewValues:
        if handle not in self.archive:
            raise NotFound(f"nothing is archived under {handle!r}")
        return {"handle": handle, "characters": len(self.archive[handle]), "text": self.archive[handle]}

    def models(self) -> Sequence[ViewValues]:
        return [self._model(found["model"], found["turns"]) for found in self.found.values()]

    def _model(self, name: str, rows: Sequence[ViewValues]) -> ViewValues:
        model = find(name)
        return {
            "model": name,
            "upstream": model.provider,
            "window": model.window,
            "max_output": model.max_output,
            "input_limit": model.max_input(),
            "family": model.family,
            "source": model.source,
            "prices": asdict(model.prices) if model.prices else None,
            "requests": len(rows),
            "input": sum(row["usage"]["input"] for row in rows),
            "output": sum(row["usage"]["output"] for row in rows),
            "cached": sum(row["usage"]["cached"] for row in rows),
            "cost_usd": sum(row["cost_usd"] for row in rows),
            "saved_usd": sum(row["saved_usd"] for row in rows),
        }

    def usage(self, days: int = 30) -> ViewValues:
        counted = {"requests": 31, "failed": 1, "estimated": 200_000, "actual_in": 198_000, "actual_out": 9_000}
        return {"days": [{"day": "2026-09-21", "model": "gpt-4o", "cached": 120_000, **counted}]}

    def settings_file(self, key: str = "") -> str:
        return "/srv/brim.toml"

    async def change_settings(self, given: Mapping[str, Any]) -> None:
        switch = {"log_content": self.loaded.gateway.log_content, "port": 9_000}
        self.loaded = settings.load(env={}, gateway=switch, **given)

    def settings(self) -> Sequence[ViewValues]:
        return [{"key": key, "value": value, "origin": origin} for key, value, origin in self.loaded.rows()]


def shown(conversation: Conversation, model: str) -> list[dict[str, Any]]:
    """Messages as the gateway shows them."""
    return messages_of(conversation, str, Counter(find(model), conversation.api))


def turn_of(row: ViewValues) -> GatewayTurn:
    """The turn that a row tells of."""
    given = {name: row[name] for name in ("id", "number", "session", "at", "api", "model", "upstream", "client")}
    sizes = {"before": row["tokens_before"], "after": row["tokens_after"], "limit": row["limit"]}
    ended = {"changed": row["changed"], "outcome": row["outcome"], "status": row["status"], "upper": row["upper"]}
    money = {"usage": Usage(**row["usage"]), "cost": row["cost_usd"], "saved": row["saved_usd"]}
    return GatewayTurn(**given, **sizes, **ended, **money, added_ms=row["added_ms"])


def exchange(chance: random.Random, number: int) -> list[dict[str, Any]]:
    """A question, a tool call, its result and an answer."""
    call = f"call_{number:02}"
    arguments = json.dumps({"pipeline": f"release-{number}", "limit": 20})
    builds = [
        {
            "id": chance.randrange(10_000, 99_999),
            "branch": chance.choice(["main", "next", "hotfix/login"]),
            "status": chance.choice(["passed", "passed", "failed", "running"]),
            "commit": f"{chance.getrandbits(64):016x}",
            "log_url": f"https://ci.example.org/builds/{chance.randrange(10_000)}/log",
        }
        for _ in range(12)
    ]
    steps = [f"12:00:{n:02} worker-{n % 4} step {n} took {chance.randrange(900)} ms" for n in range(30)]
    result = "\n".join(steps) if number % 3 == 0 else json.dumps(builds)
    function = {"name": "list_builds", "arguments": arguments}
    return [
        {"role": "user", "content": f"Which builds of release-{number} failed, and why? {HOSTILE} Keep it short."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call, "content": result},
        {"role": "assistant", "content": f"Build {builds[0]['id']} failed on {builds[0]['branch']}; it was retried."},
        {"role": "user", "content": f"Compare with this list of build {builds[1]['id']}:\n" + "\n".join(steps[:12])},
    ]
