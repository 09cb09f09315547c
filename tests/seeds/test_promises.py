"""Promises that hold for any request: nothing is lost, and nothing is asked of a network."""

from __future__ import annotations

import hashlib
import json
import re
import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim import Policy

MARK = re.compile(r"\b[0-9a-f]{12}\b")
POLICIES = [Policy.agent(), Policy.rolling(), Policy.concise(history_chars=3_000, summary_chars=500), Policy.layered()]


def mark(*place: int) -> str:
    """Twelve hexadecimal digits that stand nowhere else."""
    return hashlib.sha256(repr(place).encode()).hexdigest()[:12]


def content(kind: str, number: int, lines: int) -> str:
    """A text of a kind, with a mark in every line."""
    marks = [mark(number, line) for line in range(lines)]
    if kind == "json":
        return json.dumps([{"id": one, "state": "open", "owner": f"user{n % 3}"} for n, one in enumerate(marks)])
    if kind == "log":
        return "\n".join(f"2026-03-09T06:30:{n % 60:02}Z INFO checkout event={one} done" for n, one in enumerate(marks))
    if kind == "csv":
        return "id,amount\n" + "\n".join(f"{one},{n * 7}" for n, one in enumerate(marks))
    if kind == "code":
        return "\n".join(f"def f_{n}(x):\n    return x + 0x{n}  # {one}" for n, one in enumerate(marks))
    return "\n\n".join(f"The ship with the number {one} left the harbour at noon." for one in marks)


Turn = tuple[str, int]
TURNS = st.lists(
    st.tuples(st.sampled_from(["json", "log", "csv", "code", "prose"]), st.integers(1, 60)), min_size=1, max_size=12
)


def chat(turns: list[Turn]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a clerk."}]
    for n, (kind, lines) in enumerate(turns):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": json.dumps({"n": n})}}
        messages += [
            {"role": "user", "content": f"Question {n} on {mark(n, -1)}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": content(kind, n, lines)},
            {"role": "assistant", "content": f"Answer {n}: {mark(n, -2)}."},
        ]
    return [*messages, {"role": "user", "content": "What now?"}]


@settings(max_examples=60)
@given(TURNS, st.integers(150, 4_000), st.sampled_from(POLICIES))
def test_whatever_leaves_the_request_is_in_the_archive(turns: list[Turn], budget: int, policy: Policy) -> None:
    messages = chat(turns)
    try:
        fitted = brim.fit(messages, model="gpt-4o", budget=budget, policy=policy)
    except brim.BudgetTooSmall:
        return
    there = json.dumps(fitted.messages) + "\n".join(fitted.archive.values())
    assert set(MARK.findall(json.dumps(messages))) <= set(MARK.findall(there.replace("\\n", "\n")))


def test_nothing_is_asked_of_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    messages = chat([("json", 60), ("log", 60), ("code", 60), ("prose", 60)])
    for policy in POLICIES:
        assert brim.fit(messages, model="claude-sonnet-4-5", budget=1_000, policy=policy).tokens <= 1_000
    session = brim.Session(model="gemini-2.5-pro", budget=1_000)
    for n in range(12):
        session.say(f"Question {n}: " + content("prose", n, 10))
    assert brim.compact(content("log", 1, 500), 200).tokens <= 200
