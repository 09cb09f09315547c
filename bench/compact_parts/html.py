"""HTML (M6): tokens of the Markdown ÷ tokens of the page, 4-gram recall and precision of the article's body."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import splintr

from brim.content.documents import html, html_scan

_TOKENIZER = splintr.Tokenizer.from_pretrained("o200k_base")
_WORD = re.compile(r"\w+")


def _count(text: str) -> int:
    return len(_TOKENIZER.encode(text))


def _grams(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return Counter(tuple(words[at : at + 4]) for at in range(len(words) - 3))


def rows(data_dir: Path) -> list[tuple[str, str, str]]:
    """With the extra installed, then the built-in scan alone, then what the bodies themselves take."""
    path = data_dir / "html_articles.jsonl"
    if not path.exists():
        return [("HTML (M6)", f"no {path.name}: scrapinghub/article-extraction-benchmark publishes it", "")]
    pages = [json.loads(line) for line in path.read_text().splitlines()]
    raw = sum(_count(page["html"]) for page in pages)
    body = sum(_count(page["body"]) for page in pages) / raw
    bar = "≤ .022 / ≥ .98 / ≥ .93"
    return [
        _measured("HTML (M6) size / recall / precision", html.markdown, pages, raw, bar),
        _measured("HTML, built-in scan", html_scan.markdown, pages, raw, ""),
        ("HTML, the bodies alone ÷ raw", f"{body:.4f}", "the least that recall 1 can take"),
    ]


def _measured(
    name: str, make: Callable[[str], str], pages: list[dict[str, str]], raw: int, bar: str
) -> tuple[str, str, str]:
    start = time.perf_counter()
    results = [make(page["html"]) for page in pages]
    seconds = time.perf_counter() - start
    recall = precision = 0.0
    for page, result in zip(pages, results, strict=True):
        wanted, found = _grams(page["body"]), _grams(result)
        shared = (wanted & found).total()
        recall += shared / max(1, wanted.total()) / len(pages)
        precision += shared / max(1, found.total()) / len(pages)
    size = sum(_count(result) for result in results) / raw
    return name, f"{size:.4f} / {recall:.3f} / {precision:.3f} ({seconds / len(pages) * 1e3:.1f} ms a page)", bar
