"""The steps that `score.py` judges: requests before recorded messages of the model, made in several ways.

    python bench/judge/steps.py --data DIR --set tau [--share 25] [--runs 20] [--half even] > steps.jsonl

Of each run with at most 7,500 tokens: its last step and one at two thirds. The window is the system prompt and a
share of the rest. `last` is the newest steps that fit; `users` all messages of the user, then the newest steps. Runs
with odd numbers are for tuning, even ones for reporting. `--name` goes before the names of Brim's ways: run this file
with another edition's Python to compare with it. `--only cut,ends`: the whole chat, with every tool result shortened to
a quarter by its compactor, or to as much of both its ends.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import brim

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from content_parts.halves import by_brim, head_and_tail

MODEL = "gpt-4o"
SETS = {
    "tau": "tau_airline_gpt4o.jsonl",
    "livemcp": "livemcp_sonnet4.jsonl",
    "bfcl-long": "bfcl_long_context_replay.jsonl",
    "bfcl": "bfcl_base_replay.jsonl",
}
# Tokens of a run: below there is nothing to leave out, above the judge cannot read all of it.
LEAST, MOST = 2_000, 7_500
LEAST_RESULT = 120
Messages = list[dict[str, Any]]


def content(message: dict[str, Any]) -> str:
    found = message.get("content") or ""
    if isinstance(found, list):
        found = "\n".join(part.get("text", "") for part in found if isinstance(part, dict))
    return str(found)


def shown(message: dict[str, Any]) -> str:
    calls = [
        f"<tool_call>{call['function']['name']} {call['function']['arguments']}</tool_call>"
        for call in message.get("tool_calls") or ()
    ]
    return "\n".join(filter(None, [content(message), *calls]))


def prompt(messages: Messages) -> str:
    said = [f"<|im_start|>{message['role']}\n{shown(message)}<|im_end|>\n" for message in messages]
    return "".join(said) + "<|im_start|>assistant\n"


def size(messages: Messages) -> int:
    return brim.count(messages, model=MODEL).tokens if messages else 0


def steps_of(messages: Messages) -> list[Messages]:
    """Messages in steps: a call and its results stay together."""
    found: list[Messages] = []
    for message in messages:
        if message["role"] == "tool" and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def kept(system: Messages, steps: Sequence[Messages], order: Sequence[int], budget: int, *, stop: bool) -> Messages:
    """The steps in this order of preference that fit; with `stop`, none after the first that does not."""
    chosen: set[int] = set()
    for number in order:
        tried = [message for at, step in enumerate(steps) if at in chosen or at == number for message in step]
        if size(system + tried) <= budget:
            chosen.add(number)
        elif stop:
            break
    return system + [message for at, step in enumerate(steps) if at in chosen for message in step]


def cut(messages: Messages, shorten: Callable[[str, int], str]) -> Messages:
    """The messages with every tool result shortened to a quarter; results of a few lines stay."""
    made = []
    for message in messages:
        said = content(message) if message["role"] == "tool" else ""
        tokens = brim.count(said, model=MODEL).tokens if said else 0
        made.append({**message, "content": shorten(said, tokens // 4)} if tokens > LEAST_RESULT else message)
    return made


def by_session(messages: Messages, end: int, budget: int) -> Messages:
    """What a session sends that was asked before every message of the model."""
    session, sent = brim.Session(model=MODEL, budget=budget, fit_timeout=None), messages[:end]
    for number in range(1, end + 1):
        if messages[number]["role"] == "assistant" and messages[number - 1]["role"] in ("user", "tool"):
            sent = list(session.fit(messages[:number]).messages)
    return sent


def ways(messages: Messages, end: int, share: float, only: Sequence[str], name: str) -> dict[str, str]:
    """The prompts of one step by the way they are made."""
    context = messages[:end]
    system = [message for message in context if message["role"] == "system"][:1]
    steps = steps_of(context[len(system) :])
    budget = size(system) + int(share * (size(context) - size(system)))
    newest = list(range(len(steps)))[::-1]
    users = [number for number in newest if steps[number][0]["role"] == "user"]
    others = [number for number in newest if number not in users]
    made = {
        "full": lambda: context,
        "none": lambda: system + steps[-1],
        "last": lambda: kept(system, steps, newest, budget, stop=True),
        "users": lambda: kept(system, steps, [newest[0], *users, *others], budget, stop=False),
        "fit": lambda: list(brim.fit(context, model=MODEL, budget=budget, fit_timeout=None).messages),
        "session": lambda: by_session(messages, end, budget),
        "cut": lambda: cut(context, by_brim),
        "ends": lambda: cut(context, head_and_tail),
    }
    return {f"{name}{way}" if way in ("fit", "session") else way: prompt(made[way]()) for way in only}


def rows(path: Path, share: float, runs: int, half: str, only: Sequence[str], name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        messages = json.loads(line)["messages"]
        ends = [
            at
            for at, message in enumerate(messages)
            if at > 4 and message["role"] == "assistant" and shown(message).strip() not in ("", "Done.")
        ]
        if (number % 2 == 1) != (half == "odd") or len(ends) < 4 or not LEAST <= size(messages) <= MOST:
            continue
        for end in (ends[len(ends) * 2 // 3], ends[-1]):
            try:
                made = ways(messages, end, share, only, name)
            except brim.BudgetTooSmall:
                continue
            kind = "tool" if messages[end].get("tool_calls") else "text"
            yield {"run": number, "end": end, "kind": kind, "cont": shown(messages[end]), "ctx": made}
        runs -= 1
        if not runs:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, default="tau")
    parser.add_argument("--share", type=int, default=25)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--half", choices=("odd", "even"), default="even")
    parser.add_argument("--only", default="full,none,last,users,fit,session")
    parser.add_argument("--name", default="")
    given = parser.parse_args()
    path = given.data / SETS[given.set]
    for row in rows(path, given.share / 100, given.runs, given.half, given.only.split(","), given.name):
        print(json.dumps({"set": given.set, "share": given.share, **row}))


if __name__ == "__main__":
    main()
