"""How well the index ranks old content: evidence (M1), golden chunks (M5a), spans (M5b), and how fast.

    python bench/rank.py --data DIR [--embed] [--half 0|1]

Sets: LoCoMo (snap-research/locomo), QMSum (Yale-LILY/QMSum), the code set of anthropics/claude-cookbooks.
Each share is the mean over questions of the part of the wanted entries that is in the packed set; budgets
are in o200k tokens. `--half` measures every other conversation, meeting or query only.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import splintr

from brim.relevance import Embedder, Index, quick_scores
from brim.relevance.sentence_model import SentenceModel

SHARES = (0.05, 0.1, 0.25)
MULTI_HOP, ADVERSARIAL = 1, 5
Tokens = Callable[[str], int]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds the sets")
    parser.add_argument("--embed", action="store_true", help="blend in the vectors of the extra `embeddings`")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every other conversation")
    options = parser.parse_args()
    tokenizer = splintr.Tokenizer.from_pretrained("o200k_base")
    embedder = cached_embedder() if options.embed else None

    def count(text: str) -> int:
        return len(tokenizer.encode(text))

    for name, measure in (
        ("locomo10_min.jsonl", evidence),
        ("qmsum_test.jsonl", spans),
        ("coderag_chunks.jsonl", chunks),
    ):
        if (options.data / name).exists():
            measure(options.data, count, options.half, embedder)
        else:
            print(f"{name} is not in {options.data}; the docstring says where the set is published")
    if (options.data / "locomo10_min.jsonl").exists():
        found_without_index(options.data)
    speed()
    return 0


def cached_embedder() -> Embedder:
    model = SentenceModel()
    made: dict[str, Any] = {}

    def embed(texts: list[str], /) -> Sequence[Sequence[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in made]
        if new:
            made.update(zip(new, model(new), strict=True))
        return [made[text] for text in texts]

    return embed


def read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def chosen(items: Sequence[Any], half: int | None) -> Sequence[Any]:
    return items if half is None else items[half::2]


def kept(wanted: Sequence[int], packed: Sequence[int]) -> float:
    return len(set(wanted) & set(packed)) / len(set(wanted))


def row(name: str, columns: Sequence[Sequence[float]]) -> None:
    print(f"{name:44s}", "  ".join(f"{sum(values) / max(1, len(values)):.3f}" for values in columns), flush=True)


def evidence(data: Path, count: Tokens, half: int | None, embedder: Embedder | None) -> None:
    """M1, in the three ways in which a chat may be handed over."""
    chats = list(chosen(list(read(data / "locomo10_min.jsonl")), half))
    ways: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "speaker, date and session given": lambda turn: {
            "text": turn["text"],
            "speaker": turn["speaker"],
            "when": turn["date"],
            "session": turn["session"],
        },
        "'Speaker: text', role, date given": lambda turn: {
            "text": f"{turn['speaker']}: {turn['text']}",
            "speaker": "user",
            "when": turn["date"],
        },
        "'Speaker: text' only": lambda turn: {"text": f"{turn['speaker']}: {turn['text']}"},
    }
    print("\nM1 retained evidence at 5 / 10 / 25 %")
    for name, way in ways.items():
        shares: list[list[float]] = [[] for _ in SHARES]
        whole: list[list[float]] = [[] for _ in SHARES]
        for chat in chats:
            index, total = Index(), 0
            place = {turn["id"]: number for number, turn in enumerate(chat["turns"])}
            for turn in chat["turns"]:
                entry = way(turn)
                total += (size := count(entry["text"]))
                index.add(**entry, tokens=size)
            for asked in chat["qa"]:
                wanted = [place[turn] for turn in asked["ev"] if turn in place]
                if asked["cat"] == ADVERSARIAL or not wanted:
                    continue
                for at, share in enumerate(SHARES):
                    part = kept(wanted, index.pack(asked["q"], int(total * share), embedder))
                    shares[at].append(part)
                    if asked["cat"] == MULTI_HOP:
                        whole[at].append(part == 1.0)
        row(name, shares)
        row("    multi-hop, all evidence", whole)


def spans(data: Path, count: Tokens, half: int | None, embedder: Embedder | None) -> None:
    shares: list[list[float]] = [[] for _ in SHARES]
    for meeting in chosen(list(read(data / "qmsum_test.jsonl")), half):
        index, total = Index(), 0
        for turn in meeting["turns"]:
            total += (size := count(turn))
            index.add(turn, tokens=size)
        for asked in meeting["queries"]:
            wanted = [n for first, last in asked["spans"] for n in range(int(first), int(last) + 1) if n < len(index)]
            for at, share in enumerate(SHARES if wanted else ()):
                shares[at].append(kept(wanted, index.pack(asked["q"], int(total * share), embedder)))
    print("\nM5b retained spans at 5 / 10 / 25 %")
    row("meetings", shares)


def chunks(data: Path, count: Tokens, half: int | None, embedder: Embedder | None) -> None:
    index = Index()
    for chunk in read(data / "coderag_chunks.jsonl"):
        index.add(chunk["text"], session=chunk["doc"], tokens=count(chunk["text"]))
    budgets = (1_000, 2_000, 4_000, 8_000)
    asked = chosen(list(read(data / "coderag_queries.jsonl")), half)
    shares = [[kept(one["gold"], index.pack(one["q"], budget, embedder)) for one in asked] for budget in budgets]
    print("\nM5a golden chunks at 1k / 2k / 4k / 8k tokens")
    row("code", shares)


def found_without_index(data: Path) -> None:
    """How much of the evidence `quick_scores` ranks among the first tenth of the turns, and `Index` does."""
    quick: list[float] = []
    full: list[float] = []
    for chat in read(data / "locomo10_min.jsonl"):
        texts = [f"{turn['speaker']}: {turn['text']}" for turn in chat["turns"]]
        place = {turn["id"]: number for number, turn in enumerate(chat["turns"])}
        index = Index()
        for text in texts:
            index.add(text)
        for asked in chat["qa"]:
            wanted = [place[turn] for turn in asked["ev"] if turn in place]
            if asked["cat"] == ADVERSARIAL or not wanted:
                continue
            for scores, shares in ((quick_scores(texts, asked["q"]), quick), (index.score(asked["q"]), full)):
                first = sorted(range(len(texts)), key=scores.__getitem__, reverse=True)[: len(texts) // 10]
                shares.append(kept(wanted, first))
    print("\nevidence in the first tenth of the turns: unindexed / indexed")
    row("'Speaker: text' only", [quick, full])


def speed() -> None:
    """10,000 made-up messages of 400 characters, words as skewed as in language; the best of five rounds."""
    draw = random.Random(7)
    letters = "etaoinsrhldcumfpgwybvk"
    vocabulary = ["".join(draw.choices(letters, k=draw.randint(3, 9))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 8) for rank in range(len(vocabulary))))
    texts = [" ".join(draw.choices(vocabulary, cum_weights=weights, k=58)) for _ in range(10_000)]
    query = " ".join(vocabulary[rank] for rank in (30, 60, 150, 400, 900, 2_000, 4_000, 9_000))
    begun = time.process_time()
    index = Index()
    for text in texts:
        index.add(text, tokens=100)
    built = time.process_time() - begun
    best = dict.fromkeys(("pack", "quick", "add"), 9e9)
    for _ in range(5):
        begun = time.process_time()
        index.pack(query, 100_000)
        best["pack"] = min(best["pack"], time.process_time() - begun)
        begun = time.process_time()
        quick_scores(texts, query)
        best["quick"] = min(best["quick"], time.process_time() - begun)
        begun = time.process_time()
        for text in texts[:100]:
            index.add(text, tokens=100)
        best["add"] = min(best["add"], (time.process_time() - begun) / 100)
    print(
        f"\n10,000 messages, {sum(map(len, texts)) / 1e6:.1f} MB: index {built * 1e3:.0f} ms, score and pack "
        f"{best['pack'] * 1e3:.1f} ms, append {best['add'] * 1e6:.0f} µs, unindexed {best['quick'] * 1e3:.0f} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
