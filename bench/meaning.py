"""Meaning: is what a model needs still in the request? First request, user's words, newest result, values, fill.

    python bench/meaning.py --data DIR [--only tau,livemcp] [--share 25,50] [--way fit,session,drop] [--most N]

`drop` is a session that lets its oldest steps go at the same places; `--compact-to .3` moves these for both.

Runs with odd numbers are for tuning, even ones for reporting; both are printed. The window is the system prompt and a
share of the rest of the transcript; only requests that exceed it count.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from values import SETS, contents, leaves

import brim
from brim.errors import BrimError, BudgetTooSmall

MODEL = "gpt-4o"
# Up to this share of the room what the user wrote stays whole.
USER_SHARE = 0.4
COMPACT_TO = 0.6
NAMES = ("first", "words", "newest", "values", "fill", "prefix", "cost", "compactions")
Messages = list[dict[str, Any]]


def tokens(messages: Any) -> int:
    return brim.count(messages, model=MODEL).tokens if messages else 0


def text(message: dict[str, Any]) -> str:
    found = message.get("content") or ""
    if isinstance(found, list):
        found = " ".join(part.get("text", "") for part in found if isinstance(part, dict))
    return str(found)


def whole_in(shown: str, original: str) -> bool:
    """Whether nothing of a result is lost: the same text, or one that decodes to the same value."""
    if shown == original:
        return True
    try:
        return bool(brim.decode(shown) == json.loads(original))
    except (BrimError, ValueError):
        return False


class Tally:
    """Means by name, for each half of a set."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = defaultdict(list)

    def add(self, name: str, value: float) -> None:
        self.found[name].append(float(value))

    def mean(self, name: str) -> float:
        return sum(self.found[name]) / len(self.found[name])

    def row(self) -> str:
        names = (
            "first",
            "words",
            "newest",
            "values",
            "stale",
            "fill",
            "prefix",
            "cost",
            "over",
            "refused",
            "compactions",
        )
        means = {name: sum(found) / len(found) for name, found in self.found.items() if found}
        return "  ".join(f"{name} {means[name]:.3f}" if name in means else f"{name}   –  " for name in names)


def protected(context: Messages, room: int) -> int:
    """What of the user's words has to stay beside the newest step."""
    users = [message for message in context if message["role"] == "user"]
    return min(tokens(users), int(USER_SHARE * room))


def step_size(context: Messages) -> int:
    """The tokens of the newest step, from the last message of the model on, and of a summary's head."""
    start = max(number for number, message in enumerate(context) if message["role"] == "assistant")
    return tokens(context[start:]) + 24


def judge_request(tally: Tally, context: Messages, sent: Messages, budget: int, fixed: int) -> None:
    """What of a request is still there when it has been fitted."""
    users = [text(m).strip() for m in context if m["role"] == "user" and text(m).strip()]
    shown = "\n".join(contents(message) for message in sent)
    room = budget - fixed
    before = users[:-1]
    if before and tokens([m for m in context if m["role"] == "user"]) <= USER_SHARE * room:
        kept = sum(len(said) for said in before if said in shown)
        tally.add("words", kept / sum(map(len, before)))
        tally.add("first", users[0] in shown)
    newest = context[-1]
    if newest["role"] == "tool" and fixed + protected(context, room) + step_size(context) <= budget:
        tally.add("newest", whole_in(text(sent[-1]), text(newest)))
    tally.add("fill", min(1.0, tokens(sent) / budget))  # what is over is refused
    tally.add("over", tokens(sent) > budget)


def judge_call(tally: Tally, context: Messages, sent: Messages, call: dict[str, Any]) -> None:
    """Which literals of a call, known only from results, are still in the request."""
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        return
    results = [contents(message) for message in context if message["role"] == "tool"]
    others = "\n".join(contents(message) for message in context if message["role"] not in ("tool", "system"))
    shown = "\n".join(contents(message) for message in sent)
    for value in dict.fromkeys(leaves(arguments)):
        places = [number for number, result in enumerate(results) if value in result]
        if places and value not in others:
            tally.add("values", value in shown)
            if len(results) - places[-1] > 3:
                tally.add("stale", value in shown)


def ways(budget: int, fixed: int, to: float) -> dict[str, Callable[[Messages], Messages]]:
    """How a request can be brought within a budget; no time limit, so that a busy machine measures the same."""
    policy = brim.Policy.agent(compact_to=to)
    session = brim.Session(model=MODEL, budget=budget, policy=policy, fit_timeout=None)
    oldest = Oldest(budget, fixed + int(to * (budget - fixed)))
    return {
        "fit": lambda context: brim.fit(context, model=MODEL, budget=budget, fit_timeout=None).messages,
        "session": lambda context: session.fit(context).messages,
        "drop": oldest.fit,
    }


class Oldest:
    """A session that lets its oldest steps go: down to a target whenever it is over its budget."""

    def __init__(self, budget: int, target: int) -> None:
        self.budget, self.target = budget, target
        self.start = 0

    def fit(self, context: Messages) -> Messages:
        system = [message for message in context if message["role"] == "system"][:1]
        rest = context[len(system) :]
        if tokens(system + rest[self.start :]) > self.budget:
            starts = [number for number, message in enumerate(rest) if message["role"] != "tool"]
            for start in starts:
                if start > self.start and tokens(system + rest[start:]) <= self.target:
                    break
            self.start = start
        return system + rest[self.start :]


def common(before: Messages, after: Messages) -> tuple[int, int]:
    first, second = (json.dumps(messages) for messages in (before, after))
    same = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return same, len(second)


def run(messages: Messages, share: float, way: str, tally: Tally, to: float = COMPACT_TO) -> None:
    system = [message for message in messages if message["role"] == "system"][:1]
    fixed = tokens(system)
    budget = fixed + int(share * (tokens(messages) - fixed))
    if budget - fixed < 200:
        return
    make, before = ways(budget, fixed, to)[way], []
    for end, message in enumerate(messages):
        context = messages[:end]
        if message["role"] != "assistant" or not context or context[-1]["role"] not in ("user", "tool"):
            continue
        full = tokens(context) > budget
        try:
            sent = make(context)
        except BudgetTooSmall:
            tally.add("refused", 1)
            continue
        if full:
            tally.add("refused", 0)
            judge_request(tally, context, sent, budget, fixed)
            same, size = common(before, sent)
            tally.add("prefix", same / size)
            # In tokens of fresh input: what a cache holds costs a tenth.
            tally.add("cost", tokens(sent) * (1 - 0.9 * same / size) / budget)
            tally.add("compactions", same < 0.98 * len(json.dumps(before)))
            for call in message.get("tool_calls") or ():
                judge_call(tally, context, sent, call)
        before = sent


def rows(data: Path, name: str, share: int, most: int | None = None) -> list[dict[str, str]]:
    """The table of a set at a share: a row for each way and half."""
    lines, found = (data / SETS[name]).read_text().splitlines()[:most], []
    for way in ("fit", "session", "drop"):
        for half in ("odd", "even"):
            tally = Tally()
            for number, line in enumerate(lines, 1):
                if (number % 2 == 1) == (half == "odd"):
                    run(json.loads(line)["messages"], share / 100, way, tally)
            kind = "tuned" if half == "odd" else "untouched"
            means = {each: f"{tally.mean(each):.3f}" if tally.found[each] else "–" for each in NAMES}
            found.append({"way": way, "half": kind, **means})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="tau,livemcp,bfcl-long")
    parser.add_argument("--share", default="25,50")
    parser.add_argument("--way", default="fit,session")
    parser.add_argument("--most", type=int)
    parser.add_argument("--half", choices=("odd", "even"))
    parser.add_argument("--compact-to", type=float, default=COMPACT_TO)
    given = parser.parse_args()
    for name in given.only.split(","):
        lines = (given.data / SETS[name]).read_text().splitlines()[: given.most]
        for share in given.share.split(","):
            for way in given.way.split(","):
                for half in [given.half] if given.half else ["odd", "even"]:
                    tally = Tally()
                    for number, line in enumerate(lines, 1):
                        if (number % 2 == 1) == (half == "odd"):
                            run(json.loads(line)["messages"], int(share) / 100, way, tally, given.compact_to)
                    kind = "tuned" if half == "odd" else "untouched"
                    print(f"{name:10} {share}% {way:8} {kind:10} {tally.row()}", flush=True)


if __name__ == "__main__":
    main()
