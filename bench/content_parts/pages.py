"""HTML pages without a hint: size, recall and precision of the article; and the time that shortening takes."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import compact
from compact_parts.html import _grams
from content_parts.halves import Row, count

import brim
from brim.content.detect import detect

try:
    import tiktoken
except ImportError:
    tiktoken = None

_ROUNDS = 7
_runs = 0


def html(data: Path) -> list[Row]:
    """Tokens ÷ those of the page, then the share of four-word runs of the article and of the result that both have.

    In brackets the article's own tokens ÷ those of the page, below which no recall of 1 can go.
    """
    pages = [json.loads(line) for line in (data / "html_articles.jsonl").read_text().splitlines()]
    return [
        Row("HTML size / recall / precision", _page(pages[1::2]), _page(pages[::2]), "–", "<= .026 / >= .975 / >= .95")
    ]


def _page(pages: list[dict[str, str]]) -> str:
    raw = size = own = 0
    recall = precision = 0.0
    for page in pages:
        # A budget that holds any article: what is measured is what the compactor takes for the article.
        whole = count(page["html"])
        # The line that names the page is no part of its article.
        made = re.sub(r"^\[page: .*\n", "", brim.compact(page["html"], min(whole - 1, 20_000)).text)
        raw, size, own = raw + whole, size + count(made), own + count(page["body"])
        wanted, found = _grams(page["body"]), _grams(made)
        shared: int = (wanted & found).total()
        recall += shared / max(1, wanted.total()) / len(pages)
        precision += shared / max(1, found.total()) / len(pages)
    return f"{size / raw:.4f} / {recall:.3f} / {precision:.3f} (article {own / raw:.4f})"


def speed() -> list[Row]:
    """Against the time that tiktoken takes to count the same text: the median kind, and beside it the slowest."""
    if tiktoken is None:
        return [Row("speed against tiktoken", "–", "–", "–", "pip install tiktoken, which this is measured against")]
    encode = tiktoken.get_encoding("o200k_base").encode_ordinary
    detecting: dict[str, float] = {}
    making: dict[str, float] = {}
    growth: dict[str, float] = {}
    for name, make in compact.TEXTS.items():
        if name in ("open brackets", "one key", "one line"):  # tiktoken needs quadratic time for one long word
            continue
        small, large = make(random.Random(5), 100_000), make(random.Random(6), 1_000_000)
        detecting[name] = _best(detect, small) / _best(encode, small)
        making[name] = _best(_made, large, 2) / _best(encode, large, 2)
        half = make(random.Random(6), 500_000)
        growth[name] = _best(_made, large, 2) / _best(_made, half, 2)
    return [
        _row("detect 100 KB ÷ tiktoken's count of it: median kind, slowest", detecting, "<= .1"),
        _row("compact 1 MB ÷ tiktoken's count of it: median kind, slowest", making, "<= 2"),
        _row("compact 1 MB ÷ 0.5 MB: median kind, slowest", growth, "<= 2.6"),
    ]


def _made(text: str) -> None:
    global _runs
    _runs += 1
    brim.compact(f"{text}{' ' * _runs}", 2_000)  # another text each time, or the answer is one that was kept


def _row(metric: str, found: dict[str, float], bar: str) -> Row:
    values = sorted(found.values())
    worst = max(found, key=lambda name: found[name])
    return Row(metric, f"{values[len(values) // 2]:.3f}", f"{values[-1]:.3f} ({worst})", "–", bar)


def _best(run: Callable[[str], object], text: str, rounds: int = _ROUNDS) -> float:
    times = []
    for number in range(rounds):
        given = text + "\n" * number
        begun = time.process_time()
        run(given)
        times.append(time.process_time() - begun)
    return min(times)
