"""Detection of each format without the signs that only it has: what a rule that was written with it in sight adds.

A pattern of `content/detect/` is a list of alternatives. Those that match lines of one format only are its own; they
are taken out while its texts are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import mean
from types import ModuleType

from content_parts.halves import Row

from brim.content import content_kind
from brim.content.detect import command_patterns, line_patterns, test_shape
from brim.content.detect.by_content import Sample

MODULES: tuple[ModuleType, ...] = (line_patterns, command_patterns, test_shape)
FILES = 2  # of each format, whose sampled lines say which alternatives it has
NEVER = re.compile(r"(?!)")
Text = tuple[str, str, str]


def row(texts: Sequence[Text], bar: str) -> Row:
    """The mean over formats, odd ones and even ones, each told without its own signs."""
    by_format: dict[str, list[tuple[str, str]]] = {}
    for form, wanted, text in texts:
        by_format.setdefault(form, []).append((wanted, text))
    lines = {
        form: [line for _, text in found[:FILES] for line in Sample(text).lines] for form, found in by_format.items()
    }
    own = own_signs(lines)
    right: dict[bool, list[float]] = {True: [], False: []}
    for number, (form, found) in enumerate(by_format.items()):
        before = [(module, name, getattr(module, name)) for module, name, _ in own.get(form, ())]
        for module, name, pattern in own.get(form, ()):
            setattr(module, name, pattern)
        right[bool(number % 2)].append(mean(content_kind(text, None).kind in wanted.split() for wanted, text in found))
        for module, name, pattern in before:
            setattr(module, name, pattern)
    metric = f"detection of each of {len(by_format)} formats without its own signs ({len(own)} have some)"
    return Row(metric, f"{mean(right[True]):.3f}", f"{mean(right[False]):.3f}", "–", bar)


def own_signs(lines: dict[str, list[str]]) -> dict[str, list[tuple[ModuleType, str, re.Pattern[str]]]]:
    """For each format the patterns as they are without the alternatives that match no other format's lines."""
    found: dict[str, list[tuple[ModuleType, str, re.Pattern[str]]]] = {}
    for module in MODULES:
        for name, pattern in [(name, one) for name, one in vars(module).items() if isinstance(one, re.Pattern)]:
            each = list(alternatives(pattern.pattern))
            having = [formats_with(re.compile(one, pattern.flags), lines) for one in each]
            for form in {next(iter(forms)) for forms in having if len(forms) == 1}:
                rest = [one for one, forms in zip(each, having, strict=True) if forms != {form}]
                left = re.compile("|".join(rest), pattern.flags) if rest else NEVER
                found.setdefault(form, []).append((module, name, left))
    return found


def formats_with(pattern: re.Pattern[str], lines: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    for form, sampled in lines.items():
        if any(map(pattern.match, sampled)):
            found.add(form)
            if len(found) > 1:  # a shared sign, of whichever formats
                break
    return found


def alternatives(pattern: str) -> Iterator[str]:
    """Example: "a(b|c)|d" -> "a(b|c)", "d" """
    depth, start, at, listed = 0, 0, 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif listed:
            listed = sign != "]"
        elif sign == "[":
            listed = True
            at += 1 + (pattern[at + 1] == "^")  # a bracket that comes first belongs to the list
        elif sign == "|" and not depth:
            yield pattern[start:at]
            start = at + 1
        else:
            depth += (sign == "(") - (sign == ")")
        at += 1
    yield pattern[start:]
