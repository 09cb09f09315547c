"""Do standing instructions and calls that were made outlive the compactions of a long session?

    python bench/standing.py [--budgets 1000,2000,4000,8000] [--turns 57]

Instructions: a chat without tools in which the user says early, in one of many wordings, what holds for good; counted
are the requests that still have those words. Calls: an agent deploys once, early, and goes on reading files; counted
are the requests that still name the command. Wordings with odd numbers are for tuning, even ones for reporting.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from typing import Any

import brim

MODEL = "gpt-4o"
TOLD = (
    "Do not edit files under migrations/.",
    "Never touch anything in the vendor folder.",
    "Always answer in German, please.",
    "From now on use metric units only.",
    "Keep in mind that I am on Python 3.9, so no match statements.",
    "Please write all dates as YYYY-MM-DD.",
    "I want every function to have a docstring.",
    "The tests must stay green after each step.",
    "No emojis in your answers.",
    "My name is Ada, and I use they/them pronouns.",
    "Leave the public API as it is.",
    "Stick to the standard library: we can't add dependencies.",
    "For the rest of this chat, keep answers under three sentences.",
    "Whatever happens, the file config/prod.yaml stays untouched.",
    "Ask before you run anything that deletes data.",
    "Use tabs, not spaces.",
    "You are not allowed to push to main.",
    "Only suggest changes; I apply them myself.",
    "We support Windows as well, so paths have to work there.",
    "All amounts are in euros unless I say otherwise.",
)
TOPICS = "the parser, the cache, retries, the upload form, logging, the date picker, search, billing".split(", ")
WORDS = (
    "the queue drains slowly when two workers share a lock and the timeout is short so one of them waits for the other "
    "while requests pile up behind it and the caller sees an error that says little about the cause"
).split()


def prose(draw: random.Random, size: int) -> str:
    return " ".join(draw.choice(WORDS) for _ in range(size)).capitalize() + "."


def chat_requests(number: int, turns: int) -> Iterator[list[dict[str, Any]]]:
    """The requests of a chat that is told something in its second turn."""
    draw, messages = random.Random(number), []
    for turn in range(turns + 2):
        topic = draw.choice(TOPICS)
        asked = f"Turn {turn}: what would you change in {topic}? {prose(draw, draw.randint(10, 120))}"
        messages.append({"role": "user", "content": TOLD[number] if turn == 1 else asked})
        if turn > 1:
            yield list(messages)
        messages.append({"role": "assistant", "content": f"About {topic}: {prose(draw, draw.randint(60, 200))}"})


COMMANDS = ("deploy.sh prod-7", "terraform apply -auto-approve", "git push origin release/2.4", "psql -f drop_old.sql")


def agent_requests(number: int, turns: int) -> Iterator[list[dict[str, Any]]]:
    """The requests of an agent that runs a command in its second step and reads files from then on."""
    draw = random.Random(100 + number)
    command = COMMANDS[number % len(COMMANDS)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Bring the service up to date and see what is odd."}]
    for turn in range(turns + 2):
        name, arguments = ("run", {"command": command}) if turn == 1 else ("read_file", {"path": f"src/part_{turn}.py"})
        call = {"id": f"c{turn}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        lines = [f"{draw.choice(WORDS)}_{n} = {draw.choice(WORDS)}({n}, {draw.random():.3f})" for n in range(40)]
        result = "exit code 0: 3 hosts updated" if turn == 1 else "\n".join(lines)
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": result})
        if turn > 1:
            yield list(messages)


def kept(requests: Iterator[list[dict[str, Any]]], words: str, budget: int) -> tuple[int, int]:
    """In how many requests of a session some words stand, of how many there are."""
    session, found, every = brim.Session(model=MODEL, budget=budget, fit_timeout=None), 0, 0
    for messages in requests:
        sent = json.dumps(session.fit(messages).messages, ensure_ascii=False)
        found, every = found + (words in sent), every + 1
    return found, every


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", default="1000,2000,4000,8000")
    parser.add_argument("--turns", type=int, default=57)
    parser.add_argument("--show", action="store_true", help="name what was lost")
    given = parser.parse_args()
    for budget in map(int, given.budgets.split(",")):
        for half, start in (("tuned", 1), ("untouched", 0)):
            told = {n: kept(chat_requests(n, given.turns), TOLD[n], budget) for n in range(start, len(TOLD), 2)}
            calls = {
                n: kept(agent_requests(n, given.turns), COMMANDS[n], budget) for n in range(start, len(COMMANDS), 2)
            }
            for what, rows in (("instructions", told), ("calls made", calls)):
                found, every = (sum(column) for column in zip(*rows.values(), strict=True))
                print(f"{half:10} {budget:>6} tokens, {what:13} {found / every:.3f}  ({found} of {every} requests)")
            if given.show:
                print([TOLD[n] for n, (found, every) in told.items() if found < every])


if __name__ == "__main__":
    main()
