"""Recognizes a log, however it is laid out: lines repeat the words of other lines while fields differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from brim.content.detect.structure import has_moving_head

# Consecutive words of a sentence, with one space between them, or a value between two spaces.
_RUN = re.compile(r"[^\s|,;]+(?: [^\s|,;]+)+")
_HEAD = re.compile(r"^\s*[\d:.\[\]-]+\s+")
_COMMENT = re.compile(r"\s*(?:#(?!\d)|//|\*|--|;) ?")
_COLUMNS = frozenset("\t|,;")
_WORD = re.compile(r"[(\"'\[<]?([A-Za-z][A-Za-z'-]+)[.,:;!?)\"'\]>]*$")
_CODE_ENDS = frozenset(";{}(,\\[")
# Least shares of lines with words, of those whose words occur in other lines, and of lines with a value. Measured on
# the odd formats that scripts/capture-commands --unseen writes and the odd files that it captures.
_SAYING, _AGAIN, _VALUED = 0.6, 0.55, 0.4


def repeats_phrases(lines: Sequence[str]) -> bool:
    """Example: ["a1> lifted crate 7 in 31 ms", "b2> lifted crate 9 in 4 ms", …] -> True"""
    if len(lines) < 5 or sum(1 for line in lines if any(map(str.isdigit, line))) < _VALUED * len(lines):
        return False
    if len(set(lines)) < 0.5 * len(lines):
        return False
    if sum(1 for line in lines if line.rstrip()[-1:] in _CODE_ENDS) > 0.25 * len(lines) and not has_moving_head(lines):
        return False
    # Plans and trees have many depths of indentation; a log continues a record at one.
    depths = Counter(len(line) - len(line.lstrip()) for line in lines)
    if max(depths.values()) < 0.5 * len(lines):
        return False
    said = [pairs for line in lines if not _COMMENT.match(line) and (pairs := set(_pairs(line)))]
    if len(said) < _SAYING * len(lines):
        return False
    times = Counter(pair for pairs in said for pair in pairs)
    again = sum(1 for pairs in said if 2 * sum(times[pair] > 1 for pair in pairs) >= len(pairs))
    return again >= _AGAIN * len(said)


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    """Neighbouring words of each run of words; values between them are skipped.

    The start of a line counts as a pair, unless the line has columns, where words are cells.
    """
    rest = _HEAD.sub("", line).strip()
    in_columns = not _COLUMNS.isdisjoint(rest) or "  " in rest
    for number, run in enumerate(_RUN.findall(rest)):
        words = [match[1].lower() for token in run.split(" ") if (match := _WORD.match(token))]
        if words and number == 0 and not in_columns:
            yield "", words[0]
        yield from pairwise(words)
