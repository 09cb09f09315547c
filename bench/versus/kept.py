"""What is kept of what matters: values of later calls (M2), evidence of questions (M1), spans of meetings (M5b)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import retained
import values
from peer import PeerProblem, Worker
from summary import TUNED, UNTOUCHED

import brim
from versus.requests import Chat, answerable, mended, size, wrong
from versus.ways import FITS, PLAIN_FITS, WHO, Field, Row, Way, each, in_halves

SHARES = (25, 50)
# The first runs of each set, for all ways: the short ones of the last have few values each.
RUNS = {"tau": 25, "livemcp": 20, "bfcl-long": 80}
EVIDENCE = (5, 10, 25)
LONG = 40  # characters
Case = tuple[Chat, list[str]]  # a request, and the messages that answer its last one


class Stepper:
    """Steps of `values.run` through a worker; counts what an API would refuse."""

    def __init__(self, way: Way, worker: Worker) -> None:
        self._way, self._worker = way, worker
        self.invalid = 0
        self.unanswerable = 0
        self.asked = 0
        self.seconds = 0.0

    def start(self) -> values.Step:
        self._worker.open(self._way.how)
        return self.step

    def step(self, messages: Chat, window: int) -> Chat:
        self.asked += 1
        try:
            answer = self._worker.fit(messages, window)
        except PeerProblem as problem:
            if self._worker.environment.problem:
                raise
            raise brim.BudgetTooSmall(size(messages), window, [(str(problem), 0)]) from None
        self.seconds += answer.seconds
        self.unanswerable += not answerable(messages, answer.messages)
        if wrong(answer.messages):
            self.invalid += 1
            return mended(answer.messages)
        return answer.messages


def value_table(field: Field, data: Path, share: int, runs: Mapping[str, int]) -> list[Row]:
    """M2 in windows of the system prompt and a share of the transcript: a row for each way on each set."""
    rows: list[Row] = []
    for name, file in values.SETS.items():
        if (data / file).exists():
            place = (name, data / file, share / 100, runs.get(name))
            rows += each(field, FITS, lambda way, worker, place=place: _valued(way, worker, *place))  # type: ignore[misc]
    return rows


def _valued(way: Way, worker: Worker, name: str, path: Path, share: float, runs: int | None) -> Row:
    """Both halves of the runs; what later calls need stands there for each, the rest for both together."""
    stepper = Stepper(way, worker)
    some = runs and max(1, runs // 2)
    halves = [values.run(path, share, stepper.start, some, half) for half in (0, 1)]
    steps = max(1, sum(score.steps + score.refused for score in halves))
    row: Row = {"set": name}
    for kind, found in (("tool-only", "tool_only"), ("stale", "stale")):
        for half, score in zip((TUNED, UNTOUCHED), halves, strict=True):
            row[f"{kind} values kept{half}"] = _mean(getattr(score, found))
    return {
        **row,
        "prefix reuse": _share([pair for score in halves for pair in score.prefix]),
        "most it could be": _share([pair for score in halves for pair in score.cap]),
        "steps over": sum(score.over for score in halves) / steps,
        "refused": sum(score.refused for score in halves) / steps,
        "invalid": stepper.invalid / max(1, stepper.asked),
        "newest message lost": stepper.unanswerable / max(1, stepper.asked),
        "values": sum(len(score.tool_only) for score in halves),
        "ms a step": 1e3 * stepper.seconds / max(1, stepper.asked),
    }


def evidence(field: Field, data: Path, chats: int, questions: int) -> list[Row]:
    """M1: the question is the current message of a long chat; are the turns that answer it in the request, verbatim?"""
    path = data / "locomo10_min.jsonl"
    if not path.exists():
        return [{WHO: "no data", "problem": f"no {path.name}: snap-research/locomo publishes it"}]
    lines = path.read_text(encoding="utf-8").splitlines()[:chats]
    return _in_halves(field, lines, lambda some: list(_questions(some, questions)), lambda text: 1)


def spans(field: Field, data: Path, meetings: int) -> list[Row]:
    """M5b: the same for meetings; the share of the characters of the turns that answer a query."""
    path = data / "qmsum_test.jsonl"
    if not path.exists():
        return [{WHO: "no data", "problem": f"no {path.name}: Yale-LILY/QMSum publishes it"}]
    lines = path.read_text(encoding="utf-8").splitlines()[:meetings]
    return _in_halves(field, lines, lambda some: list(_queries(some)), len)


def _in_halves(
    field: Field, lines: list[str], cases: Callable[[Sequence[str]], list[Case]], weigh: Callable[[str], int]
) -> list[Row]:
    """A row a way: chats of odd numbers and of even ones, which rules were not tuned on."""
    read = {tuple(lines[start::2]): cases(lines[start::2]) for start in (0, 1)}

    def measured(way: Way, worker: Worker) -> Row:
        return in_halves(lines, lambda some: _found(way, worker, read[tuple(some)], weigh), ("requests over",))

    return each(field, PLAIN_FITS, measured)


def _questions(lines: Sequence[str], questions: int) -> Iterator[Case]:
    for line in lines:
        talk = json.loads(line)
        messages: list[Any] = retained.chat_of(talk["turns"])
        texts = {turn["id"]: message["content"] for turn, message in zip(talk["turns"], messages, strict=True)}
        asked = [one for one in talk["qa"] if one["cat"] != retained.ADVERSARIAL]
        for one in asked[:: max(1, len(asked) // questions)][:questions]:
            wanted = [texts[turn] for turn in one["ev"] if turn in texts]
            if wanted:
                yield [*messages, {"role": "user", "content": one["q"]}], wanted


def _queries(lines: Sequence[str]) -> Iterator[Case]:
    for line in lines:
        meeting = json.loads(line)
        messages: Chat = [{"role": "user", "content": turn or "…"} for turn in meeting["turns"]]
        for query in meeting["queries"]:
            places = [n for first, last in query["spans"] for n in range(first, last + 1) if n < len(messages)]
            if places:
                yield [*messages, {"role": "user", "content": query["q"]}], [messages[n]["content"] for n in places]


def _found(way: Way, worker: Worker, cases: list[Case], weigh: Callable[[str], int]) -> Row:
    row: Row = {"questions": len(cases)}
    over = 0
    for share in EVIDENCE:
        kept: list[float] = []
        for request, wanted in cases:
            budget = int(share / 100 * size(request[:-1]))
            worker.open(way.how)
            try:
                fitted = worker.fit(request, budget).messages
            except PeerProblem:
                kept.append(0.0)
                continue
            over += size(fitted) > budget
            kept.append(_covered(wanted, fitted, weigh))
        row[f"kept at {share}%"] = _mean(kept)
    return {**row, "requests over": over / (len(EVIDENCE) * max(1, len(cases)))}


def _covered(wanted: list[str], fitted: Chat, weigh: Callable[[str], int]) -> float:
    """The part that stands there as a message, or word for word inside one; short words are no proof inside."""
    have = {str(message.get("content")) for message in fitted}
    every = "\n".join(have)
    found = (text for text in wanted if text in have or (len(text) >= LONG and text in every))
    return sum(map(weigh, found)) / max(1, sum(map(weigh, wanted)))


def _mean(found: Any) -> float | str:
    return sum(found) / len(found) if found else "–"


def _share(pairs: list[tuple[int, int]]) -> float:
    return sum(part for part, _ in pairs) / max(1, sum(whole for _, whole in pairs))
