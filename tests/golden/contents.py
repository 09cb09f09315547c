"""Tool results of every kind, made from a seed: the same bytes on every machine and with every hash seed."""

from __future__ import annotations

import base64
import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

SOURCES = tuple(sorted(Path(__file__).parent.glob("sources/*")))
NAMES = "anna bo carla dmitri ēva farid grace hiro inés jörg".split()
TOPICS = "billing search login export webhooks invoices refunds shipping quotas alerts".split()
PLAIN = (
    "the order was shipped late because its address was wrong and nobody asked the customer before it left the depot"
).split()


def sentence(rng: random.Random, words: int = 14) -> str:
    said = [rng.choice(PLAIN) for _ in range(words)]
    said[rng.randrange(words)] = f"{rng.choice(TOPICS)}-{rng.randrange(1000, 9999)}"
    return " ".join(said).capitalize() + "."


def rows(rng: random.Random) -> str:
    found = [
        {
            "id": f"T-{rng.randrange(10_000, 99_999)}",
            "owner": rng.choice(NAMES),
            "topic": rng.choice(TOPICS),
            "open": rng.random() < 0.4,
            "amount": round(rng.uniform(1, 900), 2),
            "notes": [sentence(rng, 6)] if rng.random() < 0.3 else [],
        }
        for _ in range(rng.randrange(5, 60))
    ]
    return json.dumps({"items": found, "next": None}, indent=rng.choice([None, 2]), ensure_ascii=False)


def nested(rng: random.Random) -> str:
    def level(depth: int) -> object:
        if depth == 0:
            return rng.choice([rng.randrange(10**6), sentence(rng, 5), None, True, rng.random()])
        return {f"{rng.choice(TOPICS)}_{n}": level(depth - 1) for n in range(rng.randrange(1, 5))}

    return json.dumps({"config": level(4), "version": rng.randrange(9)})


def table(rng: random.Random) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["date", "customer", "topic", "amount"])
    for _ in range(rng.randrange(10, 80)):
        day = f"2025-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        writer.writerow([day, rng.choice(NAMES), rng.choice(TOPICS), f"{rng.uniform(5, 5000):.2f}"])
    return out.getvalue()


def log(rng: random.Random) -> str:
    lines = []
    for second in range(rng.randrange(20, 150)):
        level = rng.choices(["INFO", "DEBUG", "WARN", "ERROR"], [12, 6, 2, 1])[0]
        what = f"{rng.choice(TOPICS)}: request {rng.randrange(10**6):06x} took {rng.randrange(2, 900)} ms"
        lines.append(f"2025-11-02T10:{second // 60:02}:{second % 60:02}.{rng.randrange(999):03}Z {level:5} {what}")
        if level == "ERROR":
            lines += ['  File "/srv/app/jobs.py", line 88, in run', "TimeoutError: no answer in 30 s"]
    return "\n".join(lines)


def tests(rng: random.Random) -> str:
    lines = [
        "============================= test session starts =============================",
        "collected 48 items",
        "",
    ]
    lines += [f"tests/test_{rng.choice(TOPICS)}.py::test_{n} PASSED [{n * 2}%]" for n in range(40)]
    name = f"test_{rng.choice(TOPICS)}_{rng.randrange(99)}"
    lines += ["", "=== FAILURES ===", f"____ {name} ____", "    def check():", ">       assert total == 4"]
    lines += ["E       assert 5 == 4", "", f"tests/test_app.py:{rng.randrange(9, 300)}: AssertionError"]
    return "\n".join([*lines, f"FAILED tests/test_app.py::{name} - assert 5 == 4", "1 failed, 47 passed in 3.21s"])


def diff(rng: random.Random) -> str:
    lines = []
    for _ in range(rng.randrange(1, 5)):
        path = f"src/{rng.choice(TOPICS)}/{rng.choice(NAMES)}.py"
        lines += [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}", "@@ -10,9 +10,9 @@ def run():"]
        lines += [f"{rng.choice([' ', ' ', '-', '+'])}    {sentence(rng, 6)}" for _ in range(rng.randrange(9, 25))]
    return "\n".join(lines)


def page(rng: random.Random) -> str:
    body = "".join(
        f"<h2>{rng.choice(TOPICS).title()} {n}</h2>"
        f"<p>{sentence(rng)} {sentence(rng)}</p><ul><li>{sentence(rng, 5)}</li></ul>"
        for n in range(rng.randrange(3, 12))
    )
    return (
        f"<html><head><title>Help</title><style>p{{color:red}}</style></head><body><nav>Home</nav>{body}</body></html>"
    )


def document(rng: random.Random) -> str:
    parts = [f"# {rng.choice(TOPICS).title()}"]
    for n in range(rng.randrange(3, 9)):
        parts += [f"## {n}. {rng.choice(NAMES).title()}", sentence(rng) + " " + sentence(rng), f"- {sentence(rng, 5)}"]
        parts += ["| name | value |", "|---|---|", f"| {rng.choice(TOPICS)} | {rng.randrange(999)} |"]
    return "\n\n".join(parts)


def prose(rng: random.Random) -> str:
    return "\n\n".join(" ".join(sentence(rng) for _ in range(5)) for _ in range(rng.randrange(2, 10)))


def listing(rng: random.Random) -> str:
    lines = ["."]
    for topic in TOPICS:
        lines.append(f"├── {topic}")
        lines += [f"│   ├── {rng.choice(NAMES)}_{n}.py" for n in range(rng.randrange(2, 9))]
    return "\n".join(lines)


def snapshot(rng: random.Random) -> str:
    lines = ["- main:"]
    for number in range(rng.randrange(10, 60)):
        kind = rng.choice(["button", "link", "textbox", "row", "heading"])
        lines.append(f'  - {kind} "{rng.choice(TOPICS)} {number}" [ref=e{rng.randrange(1000)}]')
    return "\n".join(lines)


def trace(rng: random.Random) -> str:
    lines = ["Traceback (most recent call last):"]
    for _ in range(rng.randrange(4, 20)):
        lines += [
            f'  File "/srv/{rng.choice(TOPICS)}.py", line {rng.randrange(900)}, in {rng.choice(NAMES)}',
            "    go()",
        ]
    return "\n".join([*lines, f"ValueError: {sentence(rng, 6)}"])


def elements(rng: random.Random) -> str:
    return "\n".join(
        f'<document index="{n}"><source>{rng.choice(TOPICS)}.md</source><content>{prose(rng)}</content></document>'
        for n in range(rng.randrange(1, 4))
    )


def repeats(rng: random.Random) -> str:
    return "\n".join(f"retrying {rng.choice(TOPICS[:2])} …" for _ in range(rng.randrange(30, 120)))


def binary(rng: random.Random) -> str:
    return "data:application/octet-stream;base64," + base64.b64encode(rng.randbytes(rng.randrange(300, 3000))).decode()


def foreign(rng: random.Random) -> str:
    return "".join(
        rng.choice("日本語のテキスト、注文は発送されました。🎉 Ελλάδα привет ") for _ in range(rng.randrange(100, 900))
    )


def source(rng: random.Random) -> str:
    return rng.choice(SOURCES).read_text(encoding="utf-8")


KINDS: dict[str, Callable[[random.Random], str]] = {
    one.__name__: one
    for one in (
        rows,
        nested,
        table,
        log,
        tests,
        diff,
        page,
        document,
        prose,
        listing,
        snapshot,
        trace,
        elements,
        repeats,
        binary,
        foreign,
        source,
    )
}
