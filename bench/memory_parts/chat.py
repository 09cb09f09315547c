"""A tool chat of 40 turns: is it always within its budget, how much of it is in the cache, is all of it still there?

Every turn a user asks for something, one or two tools answer with JSON or a log in which a code stands, the model
answers, and now and then the user comes back to a code from long ago. One request is sent before each answer of the
model. Cached tokens, those in the common prefix with the request before, cost a tenth.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field
from typing import Any

import brim
from brim import apis, models
from brim.tokens.counter import Counter

TURNS, BUDGET = 40, 20_000
CACHED = 0.1
SERVICES = "billing search gateway auth ledger mailer indexer scheduler".split()
LEVELS = "INFO INFO INFO INFO DEBUG WARN".split()
VERBS = "accepted replayed stored skipped forwarded merged expired".split()
TOPICS = "invoices shipments refunds deployments incidents accounts tickets reservations".split()


@dataclass
class Chat:
    """The messages, and the codes that stand in them with the turn that first named each."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    requests: list[int] = field(default_factory=list)  # how many messages each request has


def tool_chat(seed: int = 7, turns: int = TURNS) -> Chat:
    """The same chat for the same seed: about 144,000 tokens."""
    rng = random.Random(seed)
    chat = Chat([{"role": "system", "content": "You are the operations assistant of a shop. " + "Be exact. " * 40}])
    for turn in range(turns):
        topic = TOPICS[turn % len(TOPICS)]
        asked = f"Turn {turn}: look at the {topic} of last night and tell me what is wrong."
        old = [code for code, first in chat.codes.items() if first < turn - 8]
        if turn % 4 == 3 and old:
            asked += f" And what was it with {rng.choice(old)} again?"
        chat.messages.append({"role": "user", "content": asked})
        for step in range(1 + turn % 2):
            chat.requests.append(len(chat.messages))
            name = "list_records" if (turn + step) % 3 else "read_log"
            call = {"id": f"call_{turn}_{step}", "type": "function"}
            arguments = json.dumps({"topic": topic, "page": turn, "limit": 60})
            call["function"] = {"name": name, "arguments": arguments}  # type: ignore[assignment]
            chat.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            code = f"{topic[:3].upper()}-{rng.randrange(10**5, 10**6)}"
            chat.codes[code] = turn
            made = _records(rng, code) if name == "list_records" else _log(rng, code)
            chat.messages.append({"role": "tool", "tool_call_id": call["id"], "content": made})
        chat.requests.append(len(chat.messages))
        chat.messages.append({"role": "assistant", "content": _answer(rng, topic)})
    return chat


def _records(rng: random.Random, code: str) -> str:
    rows = [
        {
            "id": rng.randrange(10**6, 10**7),
            "status": rng.choice(["ok", "ok", "ok", "late"]),
            "amount": round(rng.uniform(5, 900), 2),
            "customer": {"name": f"Customer {rng.randrange(900)}", "country": rng.choice(["DE", "FR", "US"])},
            "updated_at": f"2026-0{rng.randrange(1, 10)}-{rng.randrange(10, 29)}T0{rng.randrange(10)}:14:00Z",
        }
        for _ in range(42)
    ]
    rows[rng.randrange(len(rows))] |= {"status": "failed", "reference": code}
    return json.dumps({"records": rows, "total": 3_400, "next_page": None})


def _log(rng: random.Random, code: str) -> str:
    lines = []
    for number in range(80):
        second = f"03:{number // 2:02}:{rng.randrange(60):02}.{rng.randrange(1000):03}"
        service, verb = rng.choice(SERVICES), rng.choice(VERBS)
        lines.append(f"2026-11-15T{second}Z {rng.choice(LEVELS)} {service} {verb} job {rng.randrange(10**4)} in 12 ms")
    at = rng.randrange(len(lines))
    lines[at] = f"2026-11-15T03:59:01.000Z ERROR {rng.choice(SERVICES)} request {code} failed: upstream timed out"
    return "\n".join(lines)


def _answer(rng: random.Random, topic: str) -> str:
    return (
        f"The {topic} look healthy except for one that failed. I would look at {rng.choice(SERVICES)} first, since it "
        f"{rng.choice(VERBS)} most of the late ones. Shall I open a ticket for it?"
    )


@dataclass
class Result:
    raw: int = 0
    sent: int = 0
    cached: int = 0
    over: int = 0
    requests: int = 0
    compactions: int = 0
    lost: list[str] = field(default_factory=list)
    gone: int = 0
    slowest: float = 0.0

    @property
    def hits(self) -> float:
        return self.cached / max(1, self.sent)

    @property
    def cost(self) -> float:
        return self.cached * CACHED + self.sent - self.cached


def simulate(chat: Chat, budget: int = BUDGET, every: bool = False, compact_to: float | None = None) -> Result:
    """Replay a chat, one fit a turn (or one a request of the model with `every`)."""
    counter = Counter(models.find("gpt-4o"), "openai_chat")
    policy = None if compact_to is None else brim.Policy.agent(compact_to=compact_to)
    session = brim.Session(model="gpt-4o", budget=budget, policy=policy, fit_timeout=None)
    result = Result(raw=counter.total(apis.parse(chat.messages)))
    before: tuple[Any, ...] = ()
    lengths = chat.requests if every else [n for n in chat.requests if _last_of_turn(chat, n)]
    for length in lengths:
        began = time.perf_counter()
        fitted = session.fit(chat.messages[:length])
        result.slowest = max(result.slowest, time.perf_counter() - began)
        sizes = [counter.message(message) for message in fitted.conversation.messages]
        head = counter.head(fitted.conversation)
        same = 0
        for ours, theirs in zip(before, fitted.conversation.messages, strict=False):
            if ours.raw != theirs.raw:
                break
            same += 1
        result.requests += 1
        result.sent += head + sum(sizes)
        result.cached += (head if same else 0) + sum(sizes[:same])
        result.over += counter.total(apis.parse(fitted.messages)) > budget
        before = fitted.conversation.messages
    result.compactions = session.compactions
    _look_for_codes(chat, session, before, result)
    return result


def _last_of_turn(chat: Chat, length: int) -> bool:
    return "tool_calls" not in chat.messages[length]


def _look_for_codes(chat: Chat, session: brim.Session, sent: tuple[Any, ...], result: Result) -> None:
    """A code is present, or in what one recall (by a handle that is shown, or by its name) brings back."""
    shown = "\n".join(message.text for message in sent)
    for code in chat.codes:
        if code in shown:
            continue
        result.gone += 1
        if not any(code in text for _, text in session.search(code)):
            result.lost.append(code)
