"""The coding agent: a small made-up repository and a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.gateway.demo.story import Step, Story

INSTRUCTIONS = (
    "You are a coding agent in the repository of a shop. Read files before you change them, run the tests, and say "
    "what you found with file and line."
)
# Path, the constant that the file defines, its value, and the topic of its functions.
_FILES = (
    ("payments/retry.py", "RETRY_LIMIT", "7", ("schedule", "attempt", "backoff", "give_up", "resume")),
    ("payments/refund.py", "ROUNDING", "'half-even'", ("refund", "split_lines", "credit_note", "reverse", "void")),
    ("payments/ledger.py", "LEDGER_VERSION", "12", ("post", "balance", "reconcile", "close_day", "export")),
    ("orders/cart.py", "MAX_LINES", "250", ("add_line", "merge", "price", "apply_coupon", "lock")),
    ("orders/shipping.py", "CUTOFF_HOUR", "16", ("quote", "label", "pick_carrier", "track", "reroute")),
    ("orders/returns.py", "RETURN_DAYS", "45", ("open_return", "inspect", "restock", "approve", "reject")),
    ("mail/templates.py", "SENDER", "'desk@shop.example'", ("render", "subject", "footer", "localise", "preview")),
    ("mail/queue.py", "BATCH_SIZE", "80", ("push", "drain", "requeue", "dead_letter", "stats")),
    ("api/limits.py", "BURST", "35", ("allow", "remaining", "reset_at", "penalise", "forgive")),
    ("api/auth.py", "TOKEN_MINUTES", "20", ("issue", "verify", "revoke", "rotate", "audit")),
)
_CASES = ("rounds_half_even", "keeps_currency", "posts_once", "is_idempotent", "reports_totals", "closes_the_day")


def source(path: str) -> str:
    """The source of one file of the repository."""
    found = next((row for row in _FILES if row[0] == path), None)
    if found is None:
        return f"error: {path} does not exist"
    _, constant, value, names = found
    topic = path.partition("/")[2].removesuffix(".py")
    parts = [f'"""What the shop does about {topic}."""', "from decimal import Decimal", "", f"{constant} = {value}", ""]
    for place, name in enumerate(names, 1):
        parts += [
            "",
            f"def {name}(order, amount: Decimal, *, actor: str, dry_run: bool = False) -> dict:",
            f'    """{name.replace("_", " ").capitalize()} for one order, and say what was done."""',
            f"    if amount <= 0 or order.state in {{'closed', 'void-{place}'}}:",
            f"        return {{'step': '{topic}.{name}', 'done': False, 'reason': 'nothing to {name}'}}",
            f"    lines = [line for line in order.lines if line.kind == '{topic}-{place}' and line.open]",
            "    due = sum((line.amount for line in lines), Decimal(0))",
            "    for line in lines:",
            f"        line.note = f'{{actor}} did {name} on {{order.id}}'",
            "        if not dry_run:",
            f"            order.journal.append(('{topic}.{name}', line.id, line.amount))",
            f"    return {{'step': '{topic}.{name}', 'done': True, 'due': due, 'limit': {constant}}}",
        ]
    return "\n".join(parts)


def test_run(number: int) -> str:
    """The test runner's output: one failure among many dots."""
    failing = _CASES[number % len(_CASES)]
    passed = [
        f"tests/test_{row[0].split('/')[1]}::test_{name}_{case} PASSED"
        for row in _FILES[:4]
        for name in row[3]
        for case in _CASES[:3]
    ]
    return "\n".join(
        [
            f"run {number}: collected {len(passed) + 1} items",
            *passed,
            f"tests/test_refund.py::test_refund_{failing} FAILED",
            f"E   AssertionError: run {number} expected {number * 3}.25 and got {number * 3}.26 in refund()",
            f"1 failed, {len(passed)} passed in {number + 2}.31s",
        ]
    )


def answer(name: str, given: Mapping[str, Any]) -> str:
    """The result of one of the agent's tools."""
    if name == "run_tests":
        return test_run(int(given.get("run", 1)))
    return source(str(given.get("path", "")))


def _steps() -> list[Step]:
    steps = [
        Step("We lose a cent on some refunds. Find out why. Never touch payments/ledger.py: it is audited."),
        Step("Run the tests: run 1.", "run_tests", {"run": 1}),
    ]
    for place, (path, constant, value, _) in enumerate(_FILES, 2):
        steps.append(Step(f"Read {path} and say what matters.", "read_file", {"path": path}))
        if place % 2:
            steps.append(Step(f"Run the tests again: run {place}.", "run_tests", {"run": place}))
        if path == "orders/returns.py":
            steps.append(Step("What is RETRY_LIMIT in payments/retry.py set to?", expected="7"))
        if path == "api/limits.py":
            steps.append(Step("Which file must you never touch, and why?", expected="payments/ledger.py"))
        if path == "api/auth.py":
            steps.append(Step(f"And {constant}, what is it set to?", expected=value))
            steps.append(Step("Which test FAILED in run 1?", expected=f"test_refund_{_CASES[1]}"))
    return steps


STORY = Story(
    name="coding-agent",
    client="coding-agent/2.3",
    api="anthropic",
    model="claude-sonnet-4-5",
    instructions=INSTRUCTIONS,
    tools={"read_file": "Read a file of the repository", "run_tests": "Run all tests"},
    argument="path",
    steps=tuple(_steps()),
    answer=answer,
)
