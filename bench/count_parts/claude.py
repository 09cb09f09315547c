"""Claude counting: exact on documents whose counts the API reported, and its speed beside `ctok`.

The documents are the fixtures of https://github.com/sanderland/ctok, in `DATA/claude/`. The peer is measured
where `pip install ctok` has put it (it asks for Python 3.12 or later); without it the row is left out and said.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from brim.tokens import claude

try:
    from ctok import token_count as peer_count
except ImportError:
    peer_count = None

Row = tuple[str, float, str]

SETS = {"multipl_e": "lang", "rosetta": "id", "udhr": "f"}  # and the name of a document's key
FAMILIES = {"v3": "claude-3", "v4.7": "claude-4.7", "v5": "claude-opus-5"}
PEER_VERSIONS = {"claude-3": "3.0", "claude-4.7": "4.7", "claude-4.8": "4.8"}
ROUNDS = 3
SAMPLE = 120_000  # characters for the comparison: the peer takes a second for them


def rows(data_dir: Path) -> list[Row]:
    """Return (metric, value, bar) for exactness, speed and hard inputs."""
    found = _exact_rows(data_dir / "claude") + _hard_rows()
    sample = _sample(data_dir / "claude")
    if sample:
        found += _speed_rows(sample)
    return found


def documents(folder: Path) -> Iterator[tuple[str, str, dict[str, int]]]:
    """Yield each document as its set, its text and its reported counts by family."""
    for name, key in SETS.items():
        if not (folder / f"{name}.jsonl.gz").is_file():
            print(f"{folder / name}.jsonl.gz is not there: see github.com/sanderland/ctok", file=sys.stderr)
            continue
        counts = json.loads((folder / f"{name}_counts.json").read_text(encoding="utf-8"))
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for document in map(json.loads, lines):
                reported = {FAMILIES[era]: counts[era]["counts"][document[key]] for era in FAMILIES}
                yield name, document["text"], reported


def _exact_rows(folder: Path) -> list[Row]:
    exact = dict.fromkeys(FAMILIES.values(), 0)
    under, total = 0, 0
    for _, text, reported in documents(folder):
        total += 1
        for family, tokens in reported.items():
            counted = claude.count(text, family) + claude.message_frame(family)
            exact[family] += counted == tokens
            under += counted < tokens
    if not total:
        return []
    found: list[Row] = [
        (f"exact on {total:,} documents, {family}, %", 100 * right / total, "= 100") for family, right in exact.items()
    ]
    return [*found, ("documents under-counted", under, "= 0")]


def _sample(folder: Path) -> str:
    texts, size = [], 0
    for number, (_, text, _) in enumerate(documents(folder)):
        if number % 7 == 0 and size < SAMPLE:
            texts.append(text[: SAMPLE // 20])
            size += len(texts[-1])
    return "\n".join(texts)[:SAMPLE]


def _speed_rows(sample: str) -> list[Row]:
    found: list[Row] = []
    for family, version in PEER_VERSIONS.items():
        speeds = {claude.implementation(): _counter(family)}
        if claude.implementation() == "compiled":
            speeds["python, cold"] = _cold_plain(family)
        if peer_count is None:
            print("ctok is not installed: no comparison with it", file=sys.stderr)
        else:
            speeds["ctok"] = lambda text, version=version: peer_count(text, version)
        best = _best_times(speeds, sample)
        found += [(f"{family}, {name}, MB/s", len(sample.encode()) / best[name] / 1e6, "") for name in speeds]
        if "ctok" in best:
            ratio = best["ctok"] / best[claude.implementation()]
            found.append((f"{family}, times as fast as ctok", ratio, ">= 20"))
    return found


def _counter(family: str) -> Callable[[str], int]:
    return lambda text: claude.count(text, family)


def _cold_plain(family: str) -> Callable[[str], int]:
    """The fall-back with nothing in its caches, as on the first text of a process."""
    traits = claude.FAMILIES[family]
    counter = claude.plain_vocabulary(traits.table)

    def count(text: str) -> int:
        counter.forget()
        return counter.count(claude.composed(text), traits.frame_bow, text.startswith(" "))

    return count


def _best_times(counters: dict[str, Callable[[str], int]], text: str) -> dict[str, float]:
    """Take turns, so that a busy machine is busy for all of them."""
    best = dict.fromkeys(counters, float("inf"))
    for counter in counters.values():
        counter("load the tables")
    for _ in range(ROUNDS):
        for name, counter in counters.items():
            started = time.perf_counter()
            counter(text)
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def hard_inputs(size: int = 1_000_000) -> dict[str, str]:
    """A megabyte each of what makes tokenizers slow or makes them fail."""
    rnd = random.Random(11)
    signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return {
        "a": "a" * size,
        "spaces": " " * size,
        "newlines": "\n" * size,
        "dashes": "-" * size,
        "base64": "".join(rnd.choices(base64, k=size)),
        "emoji families": "👨‍👩‍👧‍👦" * (size // 7),
        "random punctuation": "".join(rnd.choices(signs, k=size)),
        "unordered marks": "\u0301\u0316" * (size // 2),
        "lone surrogates": "\ud800" * size,
    }


def _hard_rows() -> list[Row]:
    """The slowest of the hard inputs, in processor time; the fall-back has the longest pieces to try."""
    plain = claude.plain_vocabulary("claude-3")
    slowest = {claude.implementation(): 0.0, "python": 0.0}
    for text in hard_inputs().values():
        for family in claude.FAMILIES:
            claude.count("", family)
            spent = _processor_time(_counter(family), text)
            slowest[claude.implementation()] = max(slowest[claude.implementation()], spent)
        spent = _processor_time(lambda text: plain.count(claude.composed(text), True, False), text)
        slowest["python"] = max(slowest["python"], spent)
    return [(f"slowest megabyte, {name}, s", spent, "<= 2") for name, spent in slowest.items()]


def _processor_time(counter: Callable[[str], int], text: str) -> float:
    started = time.process_time()
    counter(text)
    return time.process_time() - started
