"""The support desk: its tools' answers and its user's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brim.gateway.demo.story import Step, Story

INSTRUCTIONS = (
    "You are the assistant of a shop's support desk. Use the tools to look at orders and payment logs. Be brief, and "
    "answer only from what the tools or the user said."
)
_CITIES = ("Berlin", "Lagos", "Osaka", "Quito", "Oslo", "Pune", "Lima", "Turin")
_STATES = ("open", "packed", "shipped", "delivered", "returned")
_REASONS = (
    "the card issuer did not answer",
    "the card has expired",
    "the address check failed",
    "the wallet is empty",
    "the bank asked for a second factor",
)
PAGES = 24


def orders(page: int) -> str:
    """A page of orders as an API returns it."""
    rows = [
        {
            "id": f"ORD-{page:03d}{number:02d}",
            "customer": {"id": 4_000 + page * 7 + number, "city": _CITIES[(page + number) % len(_CITIES)]},
            "status": _STATES[(page * 3 + number) % len(_STATES)],
            "total": f"{(page * 37 + number * 113) % 900 + 20}.50",
            "url": f"https://shop.example/api/orders/ORD-{page:03d}{number:02d}",
            "note": None if number % 4 else "fragile: call before delivery",
        }
        for number in range(14)
    ]
    return json.dumps({"orders": rows, "page": page, "next": f"https://shop.example/api/orders?page={page + 1}"})


def code(page: int) -> int:
    """The code with which the payment of a page failed."""
    return 4_100 + page * 37


def log_lines(page: int) -> str:
    """A payment log with one line that matters."""
    day = f"2026-03-{page:02d}"
    lines = [f"{day}T10:{n:02d}:17Z INFO worker-{n % 4} settled batch {page * 60 + n}" for n in range(60)]
    reason = _REASONS[page % len(_REASONS)]
    lines[41] = f"{day}T10:41:17Z ERROR worker-1 payment for ORD-{page:03d}07 failed: {reason} (code {code(page)})"
    return "\n".join(lines)


def answer(name: str, given: Mapping[str, Any]) -> str:
    """The result of one of the desk's tools."""
    page = int(given.get("page", 1))
    return log_lines(page) if name == "read_log" else orders(page)


def _steps() -> list[Step]:
    said: dict[int, list[Step]] = {
        2: [Step("Remember: Amara Okafor (ORD-00204) wants store credit, not a refund.", expected="store credit")],
        10: [Step("Which city does ORD-00411 go to?", expected=_CITIES[(4 + 11) % len(_CITIES)])],
        14: [Step("Why did the payment for ORD-00307 fail, and with which code?", expected=str(code(3)))],
        18: [Step("What did Amara Okafor want for ORD-00204?", expected="store credit")],
        21: [Step("And the payment for ORD-00907: which code did it fail with?", expected=str(code(9)))],
        24: [Step("Last one: what is the total of ORD-01105?", expected=f"{(11 * 37 + 5 * 113) % 900 + 20}.50")],
    }
    steps: list[Step] = []
    for page in range(1, PAGES + 1):
        if page % 3 == 0:
            steps.append(Step(f"Read the payment log of page {page}: did anything fail?", "read_log", {"page": page}))
        else:
            steps.append(Step(f"Which orders on page {page} still need work?", "list_orders", {"page": page}))
        steps += said.get(page, [])
    return steps


STORY = Story(
    name="support-desk",
    client="support-agent/1.0",
    api="openai_chat",
    model="gpt-4o-mini",
    instructions=INSTRUCTIONS,
    tools={"list_orders": "List a page of orders", "read_log": "Read the payment log of a page"},
    argument="page",
    steps=tuple(_steps()),
    answer=answer,
)
