"""Retained values (M2): what later tool calls need, is it still in the fitted request?

    python bench/values.py --data DIR [--session] [--share 25,50] [--only tau] [--half 0|1]

A request is sent before every message of the model. Where that message calls a tool, the literal arguments that occur
in the earlier context are looked up in the request that Brim would have sent. `tool-only` values occur only in tool
results; `stale` ones were last seen more than three results ago; `bound` ones stand next to their key or in its column.
The window is the system prompt and a share of the final
transcript; only steps that exceed it count. `prefix` is the share of characters in common with the step before, `cap`
what sending everything would have.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import brim
from brim import apis, models
from brim.tokens.counter import Counter

SETS = {
    "tau": "tau_airline_gpt4o.jsonl",
    "livemcp": "livemcp_sonnet4.jsonl",
    "bfcl-long": "bfcl_long_context_replay.jsonl",
    "bfcl-base": "bfcl_base_replay.jsonl",
    "trail": "trail_agent_convs.jsonl",
}
DEFAULT = "tau,livemcp,bfcl-long"
QUOTED = re.compile(r"""'([^'\n]{3,200})'|"([^"\n]{3,200})\"""")
Step = Callable[[list[dict[str, Any]], int], list[dict[str, Any]]]


@dataclass
class Score:
    tool_only: list[bool] = field(default_factory=list)
    stale: list[bool] = field(default_factory=list)
    every: list[bool] = field(default_factory=list)
    bound: list[bool] = field(default_factory=list)
    prefix: list[tuple[int, int]] = field(default_factory=list)
    cap: list[tuple[int, int]] = field(default_factory=list)
    steps: int = 0
    over: int = 0
    refused: int = 0

    def row(self, name: str) -> str:
        def mean(found: list[bool]) -> str:
            return f"{sum(found) / len(found):.3f}" if found else "  –  "

        def share(pairs: list[tuple[int, int]]) -> str:
            return f"{sum(a for a, _ in pairs) / max(1, sum(b for _, b in pairs)):.3f}"

        return (
            f"{name:18} tool-only {mean(self.tool_only)} ({len(self.tool_only)})"
            f"  stale {mean(self.stale)} ({len(self.stale)})"
            f"  all {mean(self.every)}  bound {mean(self.bound)}  prefix {share(self.prefix)} cap {share(self.cap)}"
            f"  over {self.over}/{self.steps} refused {self.refused}"
        )


def leaves(value: Any) -> Iterator[str]:
    """The literals of call arguments: ids, paths, e-mails, quoted SQL or shell literals."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, (int, float)):
        if len(str(value)) >= 3:
            yield str(value)
    else:
        text = str(value)
        if 3 <= len(text) <= 120 and "\n" not in text and len(text.split()) <= 4:
            yield text
        elif len(text) > 20:
            for match in QUOTED.finditer(text):
                yield match.group(1) or match.group(2)


def contents(message: dict[str, Any]) -> str:
    found = message.get("content") or ""
    if isinstance(found, list):
        found = "\n".join(block.get("text", "") for block in found if isinstance(block, dict))
    for call in message.get("tool_calls") or ():
        found += "\n" + call["function"]["name"] + " " + call["function"]["arguments"]
    return found


def keys_of(text: str, value: str) -> set[str]:
    """The keys under which a value stands in a JSON text."""
    try:
        tree = json.loads(text)
    except ValueError:
        return set()
    found: set[str] = set()

    def walk(node: Any, key: str) -> None:
        if isinstance(node, dict):
            for name, inner in node.items():
                if name == value:
                    found.add(key)
                walk(inner, name)
        elif isinstance(node, list):
            for inner in node:
                walk(inner, key)
        elif str(node) == value:
            found.add(key)

    walk(tree, "")
    return found - {""}


def is_bound(fitted: list[str], value: str, keys: set[str]) -> bool:
    """Whether the value stands near one of its keys: on its line, or in a table whose header names the key."""
    for text in fitted:
        at = text.find(value)
        while at >= 0:
            line_start = text.rfind("\n", 0, at) + 1
            near = text[max(line_start, at - 300) : at]
            head = text[:line_start]
            if any(key in near for key in keys) or any(
                re.search(rf"(?<!\w){re.escape(key)}(?!\w)", head) for key in keys
            ):
                return True
            at = text.find(value, at + 1)
    return False


def messages_of(line: str) -> list[dict[str, Any]]:
    """One run. What a tool said without a call that asked for it stands as a user's message: no API takes it else."""
    found = json.loads(line)["messages"]
    for message in found:
        if message["role"] == "tool" and not message.get("tool_call_id"):
            message["role"] = "user"
            del message["tool_call_id"]
    return list(found)


def steps_of(messages: list[dict[str, Any]]) -> Iterator[int]:
    """Where a request was sent: before every message of the model, whether it calls a tool or answers."""
    for number, message in enumerate(messages):
        if message["role"] == "assistant" and number:
            yield number


def common(a: str, b: str) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def judge(score: Score, messages: list[dict[str, Any]], number: int, fitted: list[dict[str, Any]]) -> None:
    earlier = [(message["role"], contents(message)) for message in messages[:number] if message["role"] != "system"]
    results = [n for n, (role, _) in enumerate(earlier) if role == "tool"]
    have = [contents(message) for message in fitted]
    blob = "\n".join(have)
    for call in messages[number].get("tool_calls") or ():
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            continue
        for value in set(leaves(arguments)):
            places = [n for n, (_, text) in enumerate(earlier) if value in text]
            if not places:
                continue
            kept = value in blob
            score.every.append(kept)
            if not all(earlier[n][0] == "tool" for n in places):
                continue
            score.tool_only.append(kept)
            if len([n for n in results if n > places[-1]]) > 3:
                score.stale.append(kept)
            keys = set().union(*(keys_of(earlier[n][1], value) for n in places))
            if kept and keys:
                score.bound.append(is_bound(have, value, keys))


def run(
    path: Path, share: float, make_step: Callable[[], Step], most: int | None = None, half: int | None = None
) -> Score:
    """Replay the runs of a set; `half` takes the even- (0) or the odd-numbered (1) ones, to tune on one only."""
    counter = Counter(models.find("gpt-4o"), "openai_chat")
    score = Score()
    lines = path.read_text().splitlines()
    for line in (lines if half is None else lines[half::2])[:most]:
        messages = messages_of(line)
        whole = apis.parse(messages)
        sizes = [counter.message(message) for message in whole.messages]
        system = sum(size for size, message in zip(sizes, whole.messages, strict=True) if message.role == "system")
        window = counter.head(whole) + system + int(share * (sum(sizes) - system))
        step = make_step()
        sent = full = ""
        for number in steps_of(messages):
            total = counter.head(whole) + sum(sizes[:number])
            try:
                fitted = step(messages[:number], window)
            except brim.BudgetTooSmall:
                score.refused += 1
                continue
            text = json.dumps(fitted, ensure_ascii=False)[:-1]
            everything = json.dumps(messages[:number], ensure_ascii=False)[:-1]
            if sent and total > window:
                score.prefix.append((common(sent, text), len(text)))
                score.cap.append((common(full, everything), len(everything)))
            sent, full = text, everything
            if total <= window:
                continue
            score.steps += 1
            score.over += counter.total(apis.parse(fitted)) > window
            judge(score, messages, number, fitted)
    return score


def by_fit() -> Step:
    return lambda messages, window: brim.fit(messages, model="gpt-4o", budget=window, fit_timeout=None).messages


def by_session() -> Step:
    session: list[brim.Session] = []

    def step(messages: list[dict[str, Any]], window: int) -> list[dict[str, Any]]:
        if not session:
            session.append(brim.Session(model="gpt-4o", budget=window, fit_timeout=None))
        return session[0].fit(messages).messages

    return step


def drop_oldest() -> Step:
    """The baseline: the oldest groups go until it fits."""
    counter = Counter(models.find("gpt-4o"), "openai_chat")

    def step(messages: list[dict[str, Any]], window: int) -> list[dict[str, Any]]:
        head = [message for message in messages if message["role"] == "system"]
        rest = [message for message in messages if message["role"] != "system"]
        while rest:
            if rest[0]["role"] != "tool" and counter.total(apis.parse(head + rest)) <= window:
                return head + rest
            rest = rest[1:]
            while rest and rest[0]["role"] == "tool":
                rest = rest[1:]
        return head

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--session", action="store_true")
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--share", default="25,50")
    parser.add_argument("--only", default=DEFAULT)
    parser.add_argument("--most", type=int)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only the even- or the odd-numbered runs")
    given = parser.parse_args()
    make = drop_oldest if given.baseline else by_session if given.session else by_fit
    for name in given.only.split(","):
        for share in given.share.split(","):
            score = run(given.data / SETS[name], int(share) / 100, make, given.most, given.half)
            print(score.row(f"{name} {share}%"), flush=True)


if __name__ == "__main__":
    main()
