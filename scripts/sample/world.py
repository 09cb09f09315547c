"""The made-up shop of the sample run: its orders, payments, log, code and what the tools say about them."""

from __future__ import annotations

import csv
import difflib
import io
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
START = datetime(2026, 3, 9, 6, 0, tzinfo=UTC)
SYSTEM = (HERE / "system.txt").read_text(encoding="utf-8").strip()
BEFORE = (HERE / "webhooks.txt").read_text(encoding="utf-8")
NAMES = (
    "Aino Virta|Bram de Wit|Carla Souza|Dele Adeyemi|Edith Kowal|Farid Haddad|Greta Lind|Hugo Marchetti|Ines Duarte|"
    "Jonas Weiss|Katya Orlova|Liam Byrne|Mei Tan|Nadia Rahal|Oskar Nygaard|Priya Menon|Quentin Roy|Rosa Ibarra"
).split("|")
GOODS = (
    ("BLK-050", "Snatch block 50 mm", 7450),
    ("RPE-012", "Halyard rope 12 mm, per metre", 395),
    ("JKT-110", "Offshore jacket", 28900),
    ("LMP-021", "Masthead LED lamp", 11800),
    ("ANC-010", "Plough anchor 10 kg", 16500),
    ("CHT-007", "Chart set, North Sea", 8900),
    ("WNC-030", "Winch handle, floating", 5600),
)

# What this morning's deploy did: shipping became a line of its own, and the comparison did not follow.
DEPLOYED = BEFORE.replace("event.amount != order.total or", "event.amount != order.goods_total or").replace(
    "event.amount, order.total)", "event.amount, order.goods_total)"
)
FIXED = DEPLOYED.replace("order.goods_total", "order.goods_total + order.shipping_total")
FILE = "services/checkout/harbor/webhooks.py"
URGENT, WORN_OUT = 20417, 20409


class Run:
    """The messages so far, and the made-up world that the tools look into."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        self.random = random.Random(URGENT)
        self.orders = [self._order(20401 + number) for number in range(34)]

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def says(self, text: str) -> None:
        self.messages.append({"role": "assistant", "content": text})

    def calls(self, name: str, arguments: dict[str, Any], result: Any, text: str | None = None) -> None:
        """A tool call and its result."""
        number = f"call_{len(self.messages):03d}{self.random.randrange(16**6):06x}"
        called = {"name": name, "arguments": json.dumps(arguments)}
        self.messages.append(
            {
                "role": "assistant",
                "content": text,
                "tool_calls": [{"id": number, "type": "function", "function": called}],
            }
        )
        shown = result if isinstance(result, str) else json.dumps(result)
        self.messages.append({"role": "tool", "tool_call_id": number, "content": shown})

    def _order(self, number: int) -> dict[str, Any]:
        pick = self.random
        name = pick.choice(NAMES)
        lines = []
        for sku, title, price in pick.sample(GOODS, pick.choice((1, 1, 2, 3))):
            quantity = pick.choice((1, 1, 2, 4))
            lines.append({"sku": sku, "title": title, "quantity": quantity, "unit_price": price})
        goods = sum(line["quantity"] * line["unit_price"] for line in lines)
        shipping = pick.choice((0, 490, 990))
        if number == URGENT:
            sku, title, goods = GOODS[4]
            lines, shipping = [{"sku": sku, "title": title, "quantity": 1, "unit_price": goods}], 990
        at = START + timedelta(minutes=5 * (number - 20400), seconds=pick.randrange(60))
        reference = f"{name.split()[0].lower()}.{number}"
        return {
            "number": f"HB-{number}",
            "url": f"https://harbor.example/api/orders/HB-{number}",
            "status": "pending",
            "created_at": at.isoformat().replace("+00:00", "Z"),
            "customer": {"id": f"cus_{pick.randrange(16**8):08x}", "name": name, "email": f"{reference}@mail.example"},
            "lines": lines,
            "goods_total": goods,
            "shipping_total": shipping,
            "currency": "EUR",
            "payment": {
                "id": f"pay_{pick.randrange(16**10):010x}",
                "url": f"https://api.quaypay.example/v1/payments/HB-{number}",
                "status": "captured" if shipping else pick.choice(("authorised", "captured")),
                "method": pick.choice(("card", "card", "ideal", "sepa_debit")),
            },
            "notes": None,
            "gift": False,
        }

    @property
    def stuck(self) -> list[dict[str, Any]]:
        """The orders that were paid with shipping and stayed pending."""
        return [order for order in self.orders if order["shipping_total"]]

    @property
    def by_urgency(self) -> list[dict[str, Any]]:
        return sorted(self.stuck, key=lambda order: order["number"] != f"HB-{URGENT}")

    def stamp(self, minutes: float) -> str:
        return (START + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def log_of(run: Run, lines: int) -> str:
    """The log of checkout around the deploy."""
    pick, out = run.random, []
    for number in range(lines):
        at = run.stamp(30 + number * 0.35 + pick.random() * 0.2)
        order = pick.choice(run.orders)
        chance = pick.random()
        if chance < 0.62:
            path, took = pick.choice(("/cart", "/checkout", "/webhooks/quaypay", "/health")), pick.randrange(4, 180)
            out.append(f"{at} INFO  checkout.http worker={pick.randrange(1, 9)} POST {path} 200 {took}ms")
        elif chance < 0.78:
            out.append(
                f"{at} INFO  checkout.webhooks event=evt_{pick.randrange(16**8):08x} type=payment.authorised ignored"
            )
        elif chance < 0.9 and order["shipping_total"]:
            paid = order["goods_total"] + order["shipping_total"]
            what = f"amount mismatch {paid} != {order['goods_total']}"
            out.append(
                f"{at} ERROR checkout.webhooks event=evt_{pick.randrange(16**8):08x} order={order['number']} {what}"
            )
        elif chance < 0.97:
            out.append(f"{at} DEBUG checkout.pool connections={pick.randrange(3, 20)} waiting=0")
        else:
            queue, took = pick.randrange(40, 90), pick.randrange(20, 90) / 10
            out.append(f"{at} WARN  checkout.mailer queue={queue} slow: {took}s")
    return "\n".join(out)


def event_export(run: Run) -> str:
    """The provider's own list of events, as somebody would paste it."""
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    write(
        (
            "event_id",
            "created",
            "type",
            "payment",
            "merchant_reference",
            "amount",
            "currency",
            "attempts",
            "last_status",
        )
    )
    for order in run.orders:
        total = order["goods_total"] + order["shipping_total"]
        at = datetime.fromisoformat(order["created_at"].replace("Z", "+00:00"))
        for kind in ("payment.created", "payment.authorised", "payment.captured"):
            if kind == "payment.captured" and order["payment"]["status"] != "captured":
                continue
            at += timedelta(seconds=run.random.randrange(2, 40))
            attempts = 6 if kind == "payment.captured" and order["number"] == f"HB-{WORN_OUT}" else 1
            event, status = f"evt_{run.random.randrange(16**8):08x}", 200
            when = at.isoformat().replace("+00:00", "Z")
            write((event, when, kind, order["payment"]["id"], order["number"], total, "EUR", attempts, status))
    return text.getvalue()


def diff_of(before: str, after: str, path: str = FILE) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
    return f"diff --git a/{path} b/{path}\n" + "\n".join(lines) + "\n"


def test_output(run: Run, failing: bool) -> str:
    """What pytest prints."""
    names = ("webhooks", "orders", "totals", "refunds", "signatures", "mailer", "pool", "cart")
    out = [
        "============================= test session starts ==============================",
        "collected 149 items",
        "",
    ]
    for number, name in enumerate(names):
        dots = "." * run.random.randrange(9, 28)
        bad = "F" if failing and name == "webhooks" else ""
        out.append(f"tests/test_{name}.py {dots}{bad}".ljust(72) + f"[{(number + 1) * 100 // len(names):3d}%]")
    if failing:
        out += [
            "",
            "=================================== FAILURES ===================================",
            "________________ test_a_captured_payment_with_shipping_is_paid _________________",
            "",
            "    def test_a_captured_payment_with_shipping_is_paid():",
            "        order = an_order(goods_total=16500, shipping_total=990)",
            '        event = an_event("payment.captured", amount=17490)',
            '>       assert apply(order, event) == "paid"',
            "E       AssertionError: assert 'mismatch' == 'paid'",
            "E         - paid",
            "E         + mismatch",
            "",
            "tests/test_webhooks.py:88: AssertionError",
            "------------------------------ Captured log call -------------------------------",
            "ERROR    checkout.webhooks:webhooks.py:61 event=evt_test order=HB-1 amount mismatch 17490 != 16500",
            "=========================== short test summary info ============================",
            "FAILED tests/test_webhooks.py::test_a_captured_payment_with_shipping_is_paid",
            "======================== 1 failed, 148 passed in 9.31s =========================",
        ]
    else:
        out += ["", "============================= 149 passed in 9.12s =============================="]
    return "\n".join(out)


def page() -> str:
    """A page of the provider's documentation, with all that a page brings along."""
    links = "".join(
        f'<li class="nav__item"><a href="/docs/{n}" data-track="nav-{n}">Chapter {n}</a></li>' for n in range(40)
    )
    return (
        "<!doctype html><html><head><title>Webhook retries · Quaypay Docs</title>"
        '<link rel="stylesheet" href="/assets/app.9f31c.css"><script>window.dataLayer=window.dataLayer||[];'
        "function track(name,value){dataLayer.push({event:name,value:value,time:Date.now()})}</script></head><body>"
        f'<nav class="nav"><ul>{links}</ul></nav><main><h1>Webhook retries</h1>'
        "<p>An event counts as delivered when your endpoint answers with a status of 2xx within 10 seconds.</p>"
        "<p>Any other answer is retried after 1, 5, 30 and 120 minutes, then every 6 hours, for 24 hours in all. "
        "An event that was answered with 200 is never sent again by itself.</p><h2>Sending events again</h2>"
        "<p>Use <code>POST /v1/events/{id}/resend</code>. Each event can be resent 5 times. Resent events keep "
        "their id, so your endpoint must apply each id once.</p><table><tr><th>Header</th><th>Meaning</th></tr>"
        "<tr><td>Quaypay-Signature</td><td>HMAC-SHA256 of the raw body</td></tr>"
        "<tr><td>Quaypay-Attempt</td><td>1 for the first delivery</td></tr></table></main>"
        f'<footer class="footer"><ul>{links}</ul><p>© Quaypay. Imprint. Privacy. Cookies.</p></footer></body></html>'
    )


def payment(order: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A payment as the provider's API shows it."""
    total, number = order["goods_total"] + order["shipping_total"], order["payment"]["id"]
    base = f"https://api.quaypay.example/v1/payments/{number}"
    return {
        "object": "payment",
        "id": number,
        "merchant_reference": order["number"],
        "amount": total,
        "amount_captured": total if order["payment"]["status"] == "captured" else 0,
        "amount_refunded": 0,
        "currency": "EUR",
        "status": order["payment"]["status"],
        "method": {"type": order["payment"]["method"], "country": "NL", "three_d_secure": True},
        "risk": {"score": 12, "level": "normal", "review": None},
        "links": {"self": base, "capture": f"{base}/capture", "refund": f"{base}/refund", "events": f"{base}/events"},
        "livemode": True,
        "metadata": {},
        **more,
    }
