"""A result of two halves: what was looked at while rules were written (odd), and what is only measured (even)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import NamedTuple

import brim
from brim.tokens import text_counter

count = text_counter("gpt-4o")
Cut = Callable[[str, int], str]


class Row(NamedTuple):
    """A metric on both halves, and on the even half by head and tail alone where that has a meaning."""

    metric: str
    odd: str
    even: str
    plain: str
    bar: str


class Case(NamedTuple):
    """A text, the share of what it says that is left after a cut, and how many things that are."""

    text: str
    room: int
    kept: Callable[[str], tuple[int, int]]
    name: str = ""


def by_brim(text: str, room: int) -> str:
    return brim.compact(text, room).text


def head_and_tail(text: str, room: int) -> str:
    """Whole lines from both ends in turn, as much as fits: what a tool does that knows nothing of the text."""
    lines = text.split("\n")
    head: list[str] = []
    tail: list[str] = []
    left = room - 2
    first, last = 0, len(lines) - 1
    while first <= last:
        line = lines[first] if len(head) <= len(tail) else lines[last]
        left -= count(line + "\n")
        if left < 0:
            break
        if len(head) <= len(tail):
            head.append(line)
            first += 1
        else:
            tail.insert(0, line)
            last -= 1
    return "\n".join([*head, "…", *tail])


def share(cases: Iterable[Case], cut: Cut, pooled: bool = False, least: float = 0.0, told: bool = False) -> str:
    """The mean over texts of what each keeps, or of all things together, and how many texts were over their room."""
    found: list[tuple[int, int]] = []
    over = 0
    for case in cases:
        made = cut(case.text, case.room)
        over += count(made) > case.room
        kept, whole = case.kept(made)
        if whole:
            found.append((kept, whole))
            if told and kept < least * whole:
                print(f"    {case.name}: {kept} of {whole}")
    if not found:
        return "–"
    value = sum(k for k, _ in found) / sum(w for _, w in found) if pooled else mean(k / w for k, w in found)
    return f"{value:.3f}" + (f" ({over} over)" if over else "")


def halves(metric: str, cases: Sequence[Case], bar: str, pooled: bool = False, told: bool = False) -> Row:
    """A metric on the odd cases and on the even ones."""
    odd, even = cases[1::2], cases[::2]
    least = 0.97 if told else 0.0
    return Row(
        metric,
        share(odd, by_brim, pooled, least, told),
        share(even, by_brim, pooled),
        share(even, head_and_tail, pooled),
        bar,
    )
