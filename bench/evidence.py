"""Evidence: what `brim.fit` keeps of what answers a question, in long chats (M1) and meetings (M5b), with its bars.

The others are in versus/kept.py, on a sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import memory
import retained
import table

LOCOMO = {5: ">= 0.86", 10: ">= 0.91", 25: ">= 0.95"}
QMSUM = {5: ">= 0.33", 10: ">= 0.48", 25: ">= 0.68"}


def chats(path: Path, most: int | None) -> Iterator[table.Row]:
    for share, bar in LOCOMO.items():
        found = retained.locomo(path, share / 100, most)
        yield f"retained evidence (M1) at {share}%, {found['questions']:.0f} questions", found["recall"], bar
        yield f"multi-hop with all evidence at {share}%", found["multi-hop all"], ">= 0.5" if share == 10 else ""


def meetings(path: Path, most: int | None) -> Iterator[table.Row]:
    for share, bar in QMSUM.items():
        found = retained.qmsum(path, share / 100, most)
        yield f"retained spans (M5b) at {share}%, {found['queries']:.0f} queries", found["spans"], bar


def sessions(data: Path) -> Iterator[table.Row]:
    for metric, value, bar in memory.PARTS["evidence"](data, False):
        yield f"{metric}, every third question", value, bar


def parts(data: Path, quick: bool) -> dict[str, table.Part]:
    """What is measured, by name: whole sets of `fit`, and of sessions every third question."""
    return {
        "chats": lambda: chats(data / "locomo10_min.jsonl", 1 if quick else None),
        "meetings": lambda: meetings(data / "qmsum_test.jsonl", 2 if quick else None),
        **({} if quick else {"sessions": lambda: sessions(data)}),
    }
