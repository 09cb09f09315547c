"""What sessions hold: the ceiling, the prefix, what later calls need, and their speed.

    python bench/memory.py --data DIR [--json FILE] [--full] [--only chat,values,evidence,turn,stream,store]

Without --full the slow rows are measured on samples. Sets that are not in DIR are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import retained
import values
from memory_parts import chat, store, stream

import brim
from brim import apis, models
from brim.tokens.counter import Counter

Row = tuple[str, str, str]
CAPS = {"tau": (0.88, 0.08), "livemcp": (0.93, 0.15), "bfcl-long": (0.93, 0.05)}
AT_HALF = {"tau": 0.97, "livemcp": 0.97, "bfcl-long": 0.96}
EVIDENCE = {5: 0.87, 10: 0.92, 25: 0.955}


def chat_rows(data: Path, full: bool) -> Iterator[Row]:
    for seed in range(7, 10 if full else 8):
        found = chat.simulate(chat.tool_chat(seed))
        name = f"40-turn tool chat {seed} ({found.raw:,} tokens), budget {chat.BUDGET:,}"
        yield f"{name}: turns over", str(found.over), "0"
        yield f"{name}: tokens in the common prefix", f"{found.hits:.1%}", "≥ 86%"
        yield f"{name}: cost units", f"{found.cost:,.0f}", "≤ 110,000"
        yield (
            f"{name}: codes gone for good ({found.gone} of {len(chat.tool_chat(seed).codes)} one recall away)",
            str(len(found.lost)),
            "0",
        )
        yield f"{name}: compactions", str(found.compactions), ""


def value_rows(data: Path, full: bool) -> Iterator[Row]:
    for name, file in values.SETS.items():
        if not (data / file).exists():
            yield f"retained values, {name}", f"no {file}", ""
            continue
        for share in (25, 50):
            score = values.run(data / file, share / 100, values.by_session, None if full else 40)
            label = f"retained values, {name} at {share}%"
            least, below = CAPS.get(name, (0.0, 0.0))  # two of the sets have no bars: nothing was tuned on them
            wanted = least if share == 25 else AT_HALF.get(name, 0.0)
            yield f"{label}: tool-only ({len(score.tool_only)})", f"{_mean(score.tool_only):.3f}", _bar(wanted)
            if share == 25:
                yield f"{label}: stale ({len(score.stale)})", f"{_mean(score.stale):.3f}", _bar(0.85 if least else 0.0)
                cap, prefix = _share(score.cap), _share(score.prefix)
                bar = f"≥ {cap - below:.3f}" if below else ""
                yield f"{label}: prefix, {cap:.3f} sending everything", f"{prefix:.3f}", bar
            yield f"{label}: steps over, of {score.steps} ({score.refused} refused)", str(score.over), "0"


def _bar(least: float) -> str:
    return f"≥ {least}" if least else ""


def evidence_rows(data: Path, full: bool) -> Iterator[Row]:
    path = data / "locomo10_min.jsonl"
    if not path.exists():
        yield "retained evidence", f"no {path.name}", ""
        return
    for share, wanted in EVIDENCE.items():
        for way, ask in (("all sent at once", _at_once), ("said turn by turn", _by_turns)):
            found = _evidence(path, share / 100, 1 if full else 3, ask)
            yield f"retained evidence with recall at {share}%, {way}", f"{found:.3f}", f"≥ {wanted}"


Ask = Callable[[dict[str, str]], brim.Fitted]


def _at_once(messages: list[dict[str, str]], budget: int) -> Ask:
    """A client that sends the whole chat with its first request."""
    return lambda question: brim.Session(model="gpt-4o", budget=budget, fit_timeout=None).fit([*messages, question])


def _by_turns(messages: list[dict[str, str]], budget: int) -> Ask:
    """A session that was there for the whole chat; each question is asked of a fork of it."""
    session = brim.Session(model="gpt-4o", budget=budget, fit_timeout=None)
    for end, following in enumerate([*messages[1:], None], 1):
        if following is None or following["role"] == "assistant":
            session.fit(messages[:end])
    return lambda question: session.fork(len(messages)).fit([*messages, question])


def _evidence(path: Path, share: float, every: int, ask: Callable[[list[dict[str, str]], int], Ask]) -> float:
    """A chat, then a question: are the turns that answer it in what is sent?"""
    counter = Counter(models.find("gpt-4o"), "openai_chat")
    kept: list[float] = []
    for line in path.read_text().splitlines():
        talk = json.loads(line)
        messages = retained.chat_of(talk["turns"])
        texts = {turn["id"]: message["content"] for turn, message in zip(talk["turns"], messages, strict=True)}
        answer = ask(messages, int(share * counter.total(apis.parse(messages))))
        asked = [one for one in talk["qa"] if one["cat"] != retained.ADVERSARIAL]
        for question in asked[::every]:  # kinds of questions stand together: the first of them are no sample
            evidence = [texts[turn] for turn in question["ev"] if turn in texts]
            if evidence:
                fitted = answer({"role": "user", "content": question["q"]})
                have = "\n".join(message["content"] for message in fitted.messages)
                kept.append(sum(text in have for text in evidence) / len(evidence))
    return _mean(kept)


def turn_rows(data: Path, full: bool) -> Iterator[Row]:
    said = stream.one_more_turn()
    for size, turn in said.items():
        yield from _timed(f"say, {size:,} messages", turn, 5, ".2f")
    short, long = (turn.processor for turn in said.values())
    yield "say, longer ÷ shorter", f"{long / short:.2f}", "≤ 1.5"
    for kind, turn in stream.sent_again().items():
        yield from _timed(f"10,000 messages again as {kind}", turn, 40, ".1f")


def stream_rows(data: Path, full: bool) -> Iterator[Row]:
    path = data / stream.FILE
    if not path.exists():
        yield "stream", f"no {path.name}", ""
        return
    found = stream.replays(path, None if full else 150)
    turns = [stream.Turn.best(rounds) for rounds in zip(*(one.turns for one in found), strict=True)]
    name = f"stream of {len(turns):,} turns, {found[0].tokens:,} tokens, at {stream.WINDOW:,}"
    yield f"{name}: turns over", str(max(one.over for one in found)), "0"
    median = 1e3 * stream.Turn.median(turns).processor
    slowest = stream.Turn(max(turn.processor for turn in turns), max(turn.clock for turn in turns))
    yield from _timed(f"{name}: slowest turn, best of {len(found)} rounds (median {median:.1f})", slowest, 50, ".0f")
    yield f"{name}: memory, MB", f"{max(one.megabytes for one in found):.0f}", "≤ 300"
    yield f"{name}: compactions", str(found[0].compactions), ""


def _timed(name: str, turn: stream.Turn, most: int, form: str) -> Iterator[Row]:
    """What a turn took of the processor against its bar; beside it the clock, which tells of the machine's load too."""
    yield f"{name}, ms of processor", f"{1e3 * turn.processor:{form}}", f"≤ {most}"
    yield f"{name}, ms by the clock, other load included", f"{1e3 * turn.clock:{form}}", ""


def store_rows(data: Path, full: bool) -> Iterator[Row]:
    yield from store.rows(data) if full else store.rows(data, sessions=100)


PARTS: dict[str, Callable[[Path, bool], Iterator[Row]]] = {
    "chat": chat_rows,
    "values": value_rows,
    "evidence": evidence_rows,
    "turn": turn_rows,
    "stream": stream_rows,
    "store": store_rows,
}


def _mean(found: list[bool] | list[float]) -> float:
    return sum(found) / len(found) if found else 0.0


def _share(pairs: list[tuple[int, int]]) -> float:
    return sum(part for part, _ in pairs) / max(1, sum(whole for _, whole in pairs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of measurement data")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--full", action="store_true", help="whole sets instead of samples")
    parser.add_argument("--only", default=",".join(PARTS))
    given = parser.parse_args()
    rows: list[Row] = []
    for part in given.only.split(","):
        for row in PARTS[part](given.data, given.full):
            rows.append(row)
            print(f"{row[0]:<96} {row[1]:>12}  {row[2]}", flush=True)
    if given.json:
        named = [dict(zip(("metric", "value", "bar"), row, strict=True)) for row in rows]
        given.json.write_text(json.dumps(named, indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
