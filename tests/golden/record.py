"""What Brim sends for fixed requests, as digests: a change that must not change behaviour is held against them.

Only the public API is used, so that the same file runs before and after modules move.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import brim
from tests.conversations import MAKERS, MODELS
from tests.golden import contents, gateway
from tests.golden.runs import RUNS, SYSTEM

POLICIES = ("agent", "rolling", "concise", "layered")
SHARES = (0.15, 0.4, 0.75, 1.2)
# Rolling and layered have windows of their own, in which the longest runs would never be shortened twice.
SETTINGS: dict[str, dict[str, int]] = {
    "rolling": {"max_prompt_tokens": 1_000_000},
    "layered": {"total_budget": 1_000_000},
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"{name} it", "parameters": {"type": "object"}}}
    for name in ("search", "read_file", "run", "fetch")
]
# On a busy machine a fit that takes too long is planned otherwise: what is sent must not depend on that.
UNTIMED: dict[str, None] = {"fit_timeout": None}
Case = tuple[str, Any]


def digest(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
    return hashlib.sha256(raw).hexdigest()[:16]


def told(work: Callable[[], Any]) -> Any:
    """What a call gives, or its refusal: that is part of the behaviour too."""
    try:
        return work()
    except brim.BrimError as problem:
        return f"{type(problem).__name__}: {problem}"


def sent(fitted: brim.Fitted) -> Any:
    body = fitted.body
    return [body.decode() if isinstance(body, bytes) else body, fitted.tokens, str(fitted.report)]


def requests() -> Iterator[tuple[str, str, dict[str, Any], str]]:
    sample = json.loads(files("brim").joinpath("testing/data/sample.json").read_bytes())
    yield "sample", "openai_chat", sample, sample["model"]
    for name, turns in RUNS.items():
        for api, make in MAKERS.items():
            yield name, api, make(turns, SYSTEM), MODELS[api][0]
    yield "chat without instructions", "anthropic", MAKERS["anthropic"](RUNS["chat"], None), MODELS["anthropic"][0]


def counts() -> Iterator[Case]:
    for name, api, body, _ in requests():
        for model in MODELS[api]:
            yield (
                f"count/{name}/{api}/{model}",
                told(lambda body=body, api=api, model=model: _counted(body, api, model)),
            )


def _counted(body: Any, api: str, model: str) -> list[Any]:
    found = brim.count(body, model=model, api=api)
    return [int(found), str(found)]


def fits() -> Iterator[Case]:
    for name, api, body, model in requests():
        whole = int(brim.count(body, model=model, api=api))
        raw = json.dumps(body, ensure_ascii=False).encode()
        for policy in POLICIES:
            chosen = brim.Policy.named(policy, SETTINGS.get(policy, {}))
            for share in SHARES[:2] if name.endswith("long") else SHARES:
                budget = int(whole * share)
                yield (
                    f"fit/{name}/{api}/{policy}/{share}",
                    told(
                        lambda raw=raw, model=model, api=api, chosen=chosen, budget=budget: sent(
                            brim.fit(raw, model=model, api=api, policy=chosen, budget=budget, **UNTIMED)
                        )
                    ),
                )


def arguments() -> Iterator[Case]:
    """What stands beside a request: context, carried context, tools, a recall tool; lists, texts and defaults."""
    body = MAKERS["openai_chat"](RUNS["agent"], SYSTEM)
    rng = random.Random(9)
    context = [brim.Attachment(contents.document(rng), "notes.md"), contents.log(rng)]
    for policy in POLICIES:
        for budget in (3_000, 12_000):
            given = {"model": "gpt-4o", "policy": policy, "budget": budget}
            beside = {"context": context, "carried": [contents.rows(rng)], "tools": TOOLS}
            yield f"beside/{policy}/{budget}", told(lambda g=given, b=beside: sent(brim.fit(body, **g, **b, **UNTIMED)))
            yield (
                f"list/{policy}/{budget}",
                told(lambda g=given: sent(brim.fit(body["messages"], recall=True, **g, **UNTIMED))),
            )
        yield f"default/{policy}", told(lambda p=policy: sent(brim.fit(body, policy=p, **UNTIMED)))
    yield "refused", told(lambda: sent(brim.fit(body, budget=60, **UNTIMED)))
    yield "refused, budget", told(lambda: sent(brim.fit(body, budget=-1)))
    fitted = brim.fit(body, budget=9_000, **UNTIMED)
    yield "at", [sent(fitted.at(budget)) for budget in (4_000, 6_000)]
    yield "archived", sorted(fitted.archive.items())


def compacted() -> Iterator[Case]:
    for kind, make in contents.KINDS.items():
        for seed in range(4):
            text = make(random.Random(seed))
            for tokens in (None, 40, 200, 800):
                yield f"compact/{kind}/{seed}/{tokens}", told(lambda text=text, tokens=tokens: _compacted(text, tokens))


def _compacted(text: str, tokens: int | None) -> list[Any]:
    archive: dict[str, str] = {}
    found = brim.compact(text, tokens, archive=archive, query="billing and refunds of jörg")
    return [found.text, found.tokens, found.fidelity, found.kind, sorted(archive)]


def _conversed(session: brim.Session, turns: list[Any], api: str, reopen: Callable[[], brim.Session] | None) -> Any:
    """Let Brim hold the conversation; after every tenth message it is loaded again from its store."""
    found = []
    messages = MAKERS[api](turns, None)
    listed = messages.get("messages") or messages.get("contents") or messages.get("input")
    for number, message in enumerate(listed):
        if reopen is not None and number % 10 == 9:
            session = reopen()
        found.append(told(lambda m=message, s=session: sent(s.say(m))))
    return found


def _followed(session: brim.Session, turns: list[Any], api: str, reopen: Callable[[], brim.Session] | None) -> Any:
    """Send the whole history with every turn, as most clients do."""
    found = []
    for number in range(1, len(turns) + 1):
        if turns[number - 1]["kind"] == "assistant":
            continue
        if reopen is not None and number % 7 == 6:
            session = reopen()
        body = json.dumps(MAKERS[api](turns[:number], SYSTEM)).encode()
        found.append(told(lambda b=body, s=session: sent(s.fit(b))))
        session.record(1_000 + 37 * number)
    return found


def sessions() -> Iterator[Case]:
    held = {
        "agent": RUNS["agent"],
        "coding": RUNS["coding"][:20],
        "chat": RUNS["chat"],
        "pastes": RUNS["chat with pastes"],
    }
    for name, turns in held.items():
        for api in MAKERS:
            for policy in POLICIES if (api, name) in (("openai_chat", "agent"), ("anthropic", "chat")) else ("agent",):
                for budget in (4_000, 16_000) if policy == "agent" else (4_000,):
                    for way in (_conversed, _followed):
                        stored = (budget == 4_000) == (way is _conversed)
                        label = f"session/{name}/{api}/{policy}/{budget}/{way.__name__}{'/stored' if stored else ''}"
                        yield label, _session(way, turns, api, policy, budget, stored)


def _session(way: Any, turns: list[Any], api: str, policy: str, budget: int, stored: bool) -> Any:
    given: dict[str, Any] = {
        "model": MODELS[api][0],
        "budget": budget,
        "policy": policy,
        "api": api,
        "system": SYSTEM,
        **UNTIMED,
    }
    if not stored:
        return way(brim.Session(**given, id="golden"), turns, api, None)
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "brim.sqlite")
        made = brim.Session(**given, id="golden", store=store)
        return way(made, turns, api, lambda: brim.Session.load("golden", store=store, **UNTIMED))


def everything() -> dict[str, str]:
    """Every case by its name, with the digest of what was sent."""
    return {
        name: digest(value)
        for part in (counts, fits, arguments, compacted, sessions, gateway.cases)
        for name, value in part()
    }
