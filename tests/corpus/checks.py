"""What every document must come through: detection, every compactor, decoding, `fit`, and a session.

Compactors are called by themselves, beneath whatever `brim.compact` and `brim.fit` do when one fails.
"""

from __future__ import annotations

import json
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import process_time
from typing import Any

import brim
from brim import content, tokens
from brim.content.code import source
from brim.content.detect import detect, parts
from brim.content.documents import html
from brim.content.json import forms
from brim.content.types import Room

MODEL = "gpt-4o"
# Every compactor sees some of the texts up to this size; otherwise the detected one and a few others do.
SMALL = 4_000
ALL_KINDS = 0.25
OTHERS = 2
# The share of texts that go through `fit` and a session too: both end in the same compactors.
FITTED = 0.3
# A compaction may take ten times the CPU of counting the text. The tokenizer counts 15 KB in a third of a millisecond,
# so on small texts the ratio tells of the interpreter, not of the text: below the floor nothing is slow.
MOST_TIMES = 10.0
FLOOR_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a document showed; `what` names the class, `where` the step."""

    what: str
    where: str
    detail: str
    document: str = ""
    mutation: str = ""


class Case:
    """A text under test: `findings` grows, `steps` counts what ran."""

    def __init__(self, text: str, source: random.Random, measured: bool) -> None:
        self.text = text
        self.source = source
        self.measured = measured
        self.findings: list[Finding] = []
        self.steps = 0
        self.count = tokens.text_counter(MODEL)
        begun = process_time()
        self.tokens = self.count(self.text)
        self.counting = process_time() - begun
        self.budgets = sorted({self.tokens // 3, self.tokens // 20, self.source.randint(0, max(1, self.tokens))})

    def run(self, where: str, work: Callable[[], Any]) -> Any:
        """What `work` returns; an exception is a finding, and None."""
        self.steps += 1
        try:
            return work()
        except Hung:
            raise
        except Exception as error:
            self.findings.append(Finding(f"exception {type(error).__name__}", where, _place(error)))
            return None

    def timed(self, where: str, work: Callable[[], Any]) -> Any:
        """The same, and a finding if it takes more than ten times the CPU of counting."""
        _forget()
        begun = process_time()
        found = self.run(where, work)
        taken = process_time() - begun
        if self.measured and taken > FLOOR_SECONDS and taken > MOST_TIMES * self.counting:
            self._measure_again(where, work)
        return found

    def _measure_again(self, where: str, work: Callable[[], Any]) -> None:
        """Best of three of both, in turn: what only looked slow beside other processes is let go."""
        taken, counting = [], []
        for _ in range(3):
            begun = process_time()
            self.count(self.text)
            _forget()
            counted = process_time()
            self.run(where, work)
            counting.append(counted - begun)
            taken.append(process_time() - counted)
        # The tokenizer remembers words that it has seen: the first count is the honest one.
        times = min(taken) / max(self.counting, *counting)
        if min(taken) > FLOOR_SECONDS and times > MOST_TIMES:
            detail = f"{times:.0f} times counting: {min(taken):.3f} s for {len(self.text):,} characters"
            self.findings.append(Finding("slow", where, detail))

    def expect(self, holds: bool, what: str, where: str, detail: str) -> None:
        if not holds:
            self.findings.append(Finding(what, where, detail))


def _forget() -> None:
    """Let go of what was made of texts before: each step is to take what it takes the first time."""
    for memory in (content._seen, forms._dense, html._known, source._sources):
        memory.clear()


class Hung(BaseException):
    """A document took more CPU than any may; raised from a signal, so that nothing on the way swallows it."""


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/brim/" in frame.filename] or list(frames)
    last = own[-1]
    return f"{last.filename.rsplit('/brim/', 1)[-1]}:{last.lineno} {last.name}: {str(error)[:100]}"


def check(case: Case) -> None:
    """Run everything on one text."""
    kind = case.timed("detect", lambda: detect(case.text))
    covered = case.run("parts", lambda: "".join(case.text[part.start : part.end] for part in parts(case.text)))
    case.expect(covered in (None, case.text), "wrong decode", "parts", "the parts are not the text")
    for other in _kinds(case, kind):
        _check_compactor(case, other)
    _check_compact(case, kind)
    if case.source.random() < FITTED:
        _check_fit(case)
        _check_session(case)


def _kinds(case: Case, kind: str | None) -> list[str]:
    if len(case.text) <= SMALL and case.source.random() < ALL_KINDS:
        return list(content.KINDS)
    return sorted({kind or "text", *case.source.sample(sorted(content.KINDS), OTHERS)})


def _check_compactor(case: Case, kind: str) -> None:
    """The functions of one kind, by themselves."""
    module = content.module_of(kind)
    if hasattr(module, "dense"):
        made = case.timed(f"{kind}.dense", lambda: module.dense(case.text))
        if made is not None:
            _check_decoded(case, made, f"{kind}.dense")
    if hasattr(module, "extract"):
        for budget in case.source.sample(case.budgets, min(2, len(case.budgets))):
            for query in ("", "error in the second file")[: 1 + (budget % 2)]:
                room = Room(budget, case.count, "brim:3f2a9c01", True, query)
                shown = case.timed(f"{kind}.extract", lambda room=room: module.extract(case.text, room))  # type: ignore[misc]
                if shown is not None:
                    _check_size(case, shown, budget, f"{kind}.extract")


def _check_compact(case: Case, kind: str | None) -> None:
    """`brim.compact` without a budget and with several; what is lossless decodes."""
    for budget in (None, *case.budgets):
        made = case.timed("compact", lambda budget=budget: brim.compact(case.text, budget, model=MODEL))  # type: ignore[misc]
        if made is None:
            continue
        if budget is not None:
            _check_size(case, made.text, budget, "compact")
        if made.fidelity == "lossless" and made.text != case.text:
            _check_decoded(case, made.text, f"compact {made.kind}")
        # Lists of records and source code are told apart by more than detection, whatever else their words are.
        known = (kind, "text", "records", "code")
        case.expect(kind is None or made.kind in known, "wrong kind", "compact", f"{made.kind}, not {kind}")


def _check_size(case: Case, text: str, budget: int, where: str) -> None:
    size = case.count(text)
    case.expect(size <= budget, "over budget", where, f"{size} tokens in {budget}")


def _check_decoded(case: Case, made: str, where: str) -> None:
    decoded = case.run(f"decode {where}", lambda: brim.decode(made))
    if isinstance(decoded, str) and decoded == case.text:
        return
    try:
        same = _same(decoded, _value(case.text))
    except (ValueError, RecursionError):
        same = False  # the original has no value, so no form of it can be right
    case.expect(same, "wrong decode", where, f"{made[:60]!r} for {case.text[:60]!r}")


def _value(text: str) -> Any:
    """The JSON value of a text, or the list of the values of its lines."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def _same(one: Any, other: Any) -> bool:
    """Equal with 1, 1.0 and True told apart and keys in order; a stack of its own, as values may be deep."""
    pairs = [(one, other)]
    while pairs:
        mine, theirs = pairs.pop()
        if type(mine) is not type(theirs):
            return False
        if isinstance(mine, dict):
            if list(mine) != list(theirs):
                return False
            pairs.extend((mine[key], theirs[key]) for key in mine)
        elif isinstance(mine, list):
            if len(mine) != len(theirs):
                return False
            pairs.extend(zip(mine, theirs, strict=True))
        elif isinstance(mine, float):
            if repr(mine) != repr(theirs):
                return False
        elif mine != theirs:
            return False
    return True


def messages(text: str, turns: int = 1) -> list[dict[str, Any]]:
    """A conversation in which a tool gave the text, and work went on."""
    said: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a careful engineer."},
        {"role": "user", "content": "Find out why the second file fails."},
    ]
    for turn in range(turns):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/file_{turn}.txt"})}
        said += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{turn}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{turn}", "content": text if turn == 0 else f"{turn}: {text[-400:]}"},
        ]
    return [*said, {"role": "assistant", "content": "I have read it."}, {"role": "user", "content": "Go on, please."}]


def _check_fit(case: Case) -> None:
    budget = max(400, case.tokens // 3)
    fitted = case.run("fit", lambda: _fit_or_refuse(case.text, budget))
    if fitted is not None:
        size = brim.count(fitted.messages, model=MODEL).tokens
        case.expect(size <= budget, "over budget", "fit", f"{size} tokens in {budget}")


def _fit_or_refuse(text: str, budget: int) -> Any:
    # What must stay here is small: a refusal is as wrong as any other exception.
    return brim.fit(messages(text), model=MODEL, budget=budget)


def _check_session(case: Case) -> None:
    """Three turns; the document is there from the first."""
    budget = max(600, case.tokens // 2)
    session = brim.Session(model=MODEL, budget=budget)
    for turns in (1, 2, 4):
        fitted = case.run("session", lambda turns=turns: session.fit(messages(case.text, turns)))  # type: ignore[misc]
        if fitted is not None:
            size = brim.count(fitted.messages, model=MODEL).tokens
            case.expect(size <= budget, "over budget", "session", f"{size} tokens in {budget}")


def findings_of(text: str, name: str, mutation: str, seed: int, measured: bool = True) -> tuple[list[Finding], int]:
    """What one text shows, named after its document and mutation, and how many steps ran."""
    case = Case(text, random.Random(f"{seed}/{name}/{mutation}/checks"), measured)
    check(case)
    return [replace(finding, document=name, mutation=mutation) for finding in case.findings], case.steps
