"""Six ordinary shapes of request at 8,000 tokens, and how much of a budget is used: Brim and the others."""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peer import PeerProblem, Worker

from versus.requests import Chat, size, wrong
from versus.ways import FITS, Field, Row, Way, each

# The shapes are the tests' own: what they hold to is what is measured here.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
from tests.conversations import MAKERS
from tests.shapes import Shape, shapes

BUDGET = 8_000
BUDGETS = (2_000, 4_000, 8_000, 16_000)
RUNS = ("tau_airline_gpt4o.jsonl", "livemcp_sonnet4.jsonl", "bfcl_long_context_replay.jsonl", "trail_agent_convs.jsonl")


@dataclass
class Tally:
    held: int = 0
    over: int = 0
    invalid: int = 0
    lost: int = 0
    refused: int = 0
    fills: list[float] = field(default_factory=list)


def chat_of(shape: Shape) -> Chat:
    messages: Chat = MAKERS["openai_chat"](shape.turns, shape.system)["messages"]
    return messages


def six(field: Field) -> list[Row]:
    """A shape is held if the request is within the budget, valid, and has its system text and last instruction."""
    return each(field, FITS, _six)


def _six(way: Way, worker: Worker) -> Row:
    tally = Tally()
    for shape in shapes().values():
        worker.open(way.how)
        try:
            fitted = worker.fit(chat_of(shape), BUDGET).messages
        except PeerProblem:
            tally.refused += 1
            continue
        over, invalid, lost = size(fitted) > BUDGET, bool(wrong(fitted)), _lost(shape, fitted)
        tally.over += over
        tally.invalid += invalid
        tally.lost += lost
        tally.held += not (over or invalid or lost)
    return {
        "held, of 6": tally.held,
        "over the budget": tally.over,
        "invalid": tally.invalid,
        "system text or instruction lost": tally.lost,
        "refused": tally.refused,
    }


def _lost(shape: Shape, fitted: Chat) -> bool:
    system = json.dumps([message for message in fitted if message["role"] == "system"], ensure_ascii=False)
    said = json.dumps([message for message in fitted if message["role"] == "user"], ensure_ascii=False)
    return shape.system not in system or shape.instruction not in said


def fill(field: Field, data: Path, chats: int) -> list[Row]:
    """How full the budget gets where there is more than it holds: agent runs and the shapes, four budgets."""
    every = [chat_of(shape) for shape in shapes().values()]
    for file in RUNS:
        if (data / file).exists():
            lines = (data / file).read_text(encoding="utf-8").splitlines()
            every += [json.loads(line)["messages"] for line in lines[:: max(1, len(lines) // chats)][:chats]]
    cases = [(messages, budget) for messages in every for budget in BUDGETS if size(messages) > 1.2 * budget]
    return each(field, FITS, lambda way, worker: _fill(way, worker, cases))


def _fill(way: Way, worker: Worker, cases: list[tuple[Chat, int]]) -> Row:
    tally = Tally()
    for messages, budget in cases:
        worker.open(way.how)
        try:
            used = size(worker.fit(messages, budget).messages) / budget
        except PeerProblem:
            tally.refused += 1
            continue
        tally.over += used > 1
        if used <= 1:
            tally.fills.append(used)
    mean: Any = statistics.mean(tally.fills) if tally.fills else "–"
    return {
        "requests": len(cases),
        "over the budget": tally.over / len(cases),
        "refused": tally.refused / len(cases),
        "budget used, mean of those within": mean,
    }
