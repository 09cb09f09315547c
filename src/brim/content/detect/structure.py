"""Recognizes the structure of lines from any program: aligned columns, templates, heads of records, places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

# Tuned on the odd half of 396 captured command outputs (bench/detection.py).
_SAME_BORDER = 0.7  # share of lines with a column border at a position
_PADDED = 0.4  # share of lines padded with more than one space
_SAME_HEAD = 0.6  # share of lines that begin with a token of one mask
_ROWS = 24  # rows to search for borders
_COLUMNS = 4  # least columns of a table that repeats words in many rows
_FEW_TEMPLATES = 0.5  # distinct templates per line, at most

_DIGITS = re.compile(r"\d+")
_HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{6,}\b")
_WORDS_AT = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_GAPS = re.compile(r"\S {2,}(?=\S)")
_HEAD = re.compile(r"([\w./-]{1,40})(?:[:=])")
_RULE = re.compile(r"[\s|+:=─━═│┃┼┌┬┐├┤└┴┘╭╮╰╯-]{5,}$")
_BARS = frozenset("|│┃║")
_NUMBER = re.compile(r"[-+]?\d[\d.,%/]*[KMGTBs%]?i?B?$")


def is_table(lines: Sequence[str]) -> bool:
    """Whether most lines have columns that begin or end at the same positions, or cells between bars.

    Example: ["PID TTY    TIME", "  1 ?     00:01", " 27 pts/0 00:00"] -> True
    """
    rows = [line.rstrip() for line in lines if not _RULE.match(line)]
    if len(rows) < 3:
        return False
    barred = Counter(sum(map(row.count, _BARS)) for row in rows)
    bars, same = barred.most_common(1)[0]
    if (
        bars
        and same >= 0.7 * len(rows)
        and sum(1 for row in rows if " | " in row or row[0] in _BARS) >= 0.7 * len(rows)
    ):
        return True
    if _right_aligned(rows):
        return True
    padded = sum(1 for row in rows if "  " in row.strip())
    if padded < _PADDED * len(rows):
        return False
    # Two columns have only one border, so it takes a rule below the header or padding nearly everywhere to confirm it.
    ruled = len(rows) < len(lines) or padded >= 0.8 * len(rows)
    return len(borders(rows)) >= (1 if ruled else 2)


def has_padded_columns(lines: Sequence[str]) -> bool:
    """Whether nearly all lines are padded into four columns or more, unlike a log's fixed fields and message."""
    padded = sum(1 for line in lines if len(_GAPS.findall(line.strip())) > 1)
    return padded >= 0.8 * len(lines) and len(borders(lines)) >= _COLUMNS - 1


def _right_aligned(rows: Sequence[str]) -> bool:
    """Whether lines begin with numbers of different lengths that end at the same position."""
    ends = Counter(len(row) - len(row.lstrip()) + len(row.split(None, 1)[0]) for row in rows if row.strip())
    numbers = sum(1 for row in rows if _NUMBER.match(row.lstrip().split(" ", 1)[0]))
    indents = {len(row) - len(row.lstrip()) for row in rows}
    return numbers >= 0.9 * len(rows) and ends.most_common(1)[0][1] >= 0.8 * len(rows) and len(indents) > 1


def is_listed(lines: Sequence[str]) -> bool:
    """Whether lines are single names in sorted order, as `ls` prints them."""
    names = [line.strip() for line in lines]
    alone = sum(1 for name in names if " " not in name and len(name) < 80)
    if len(names) < 6 or alone < 0.95 * len(names):
        return False
    keys = ["".join(filter(str.isalnum, name)).casefold() for name in names]
    rising = sum(1 for one, two in pairwise(keys) if one <= two)
    return rising >= 0.85 * (len(keys) - 1)


def is_measured(lines: Sequence[str]) -> bool:
    """Whether lines have few tokens, one of them always a number, as in lists of sizes, counts and checksums."""
    rows = [line.split() for line in lines]
    size, same = Counter(map(len, rows)).most_common(1)[0]
    if not 2 <= size <= 6 or same < 0.9 * len(rows):
        return False
    rows = [row for row in rows if len(row) == size]
    return any(sum(1 for row in rows if _NUMBER.match(row[at])) >= 0.9 * len(rows) for at in (0, 1, size - 1))


def has_bars_of_keys(lines: Sequence[str]) -> bool:
    """Whether bars separate keys from values: the text left of the bar differs, while a log's source repeats."""
    keys = [line.split("|", 1)[0].strip() for line in lines if "|" in line]
    return len(keys) >= max(5, 0.8 * len(lines)) and len(set(keys)) > 0.4 * len(keys)


def cycles_keys(lines: Sequence[str]) -> bool:
    """Whether keys before a bar repeat in order but never twice in a row, as in records with one field per line."""
    keys = [line.split("|", 1)[0].strip() for line in lines if "|" in line]
    if len(keys) < max(6, 0.7 * len(lines)) or len(set(keys)) < 4:
        return False
    return not any(one == two for one, two in pairwise(keys)) and all(len(key) < 40 for key in keys)


def borders(rows: Sequence[str]) -> list[int]:
    """Where columns begin (left-aligned) or end (right-aligned) in most rows, after the indentation."""
    begins: Counter[int] = Counter()
    ends: Counter[int] = Counter()
    for row in rows[:_ROWS]:
        words = [word.span() for word in _WORDS_AT.finditer(row)]
        begins.update(start for start, _ in words[1:])
        ends.update(end for _, end in words[:-1])
    least = _SAME_BORDER * min(_ROWS, len(rows))
    found = sorted(
        {at for at, times in begins.items() if times >= least} | {at for at, t in ends.items() if t >= least}
    )
    # A column that begins one position after another ends has the same border.
    return [at for number, at in enumerate(found) if number == 0 or at - found[number - 1] > 1]


def has_stamps(lines: Sequence[str]) -> bool:
    """Whether most lines begin with numbers separated by colons and other signs: a time, its parts in any order."""
    heads = [re.split(r"[\s|,]", line.lstrip("[(<\"'"), maxsplit=1)[0][:40] for line in lines]
    stamps = sum(1 for head in heads if head.count(":") >= 2 and len(_DIGITS.findall(head)) >= 3)
    return stamps >= _SAME_HEAD * len(lines)


def has_moving_head(lines: Sequence[str]) -> bool:
    """Whether most lines begin with tokens of one mask whose digits differ, followed by text, as in logs.

    Example: ["20171223-22:15:29:606|Step|…", "20171223-22:15:30:117|Step|…"] -> True
    """
    masks: Counter[str] = Counter()
    values: set[str] = set()
    said = 0
    for line in lines:
        head = re.split(r"[\s|,]", line.lstrip("[(<\"'"), maxsplit=1)[0][:40]
        if not any(map(str.isdigit, head)):
            continue
        masks[_DIGITS.sub("0", head)] += 1
        values.add(head)
        said += len(_WORD.findall(line)) >= 2
    if not masks or said < _SAME_HEAD * len(lines):
        return False
    mask, same = masks.most_common(1)[0]
    # A bare number at the start says little; a stamp has parts ("0-0:0:0", "0.0", "==0==").
    return same >= _SAME_HEAD * len(lines) and len(mask) > 2 and len(values) > 1


def repeats_heads(lines: Sequence[str]) -> bool:
    """Whether lines begin with few distinct words before `:` or `=`, some twice in a row: sources of a log, not keys.

    Example: ["web: GET /a", "web: GET /b", "db: 3 rows"] -> True
    """
    heads = [_DIGITS.sub("0", found[1]) for line in lines if (found := _HEAD.match(line))]
    if len(heads) < 0.9 * len(lines) or len(heads) < 5 or len(set(heads)) > 0.4 * len(heads):
        return False
    return any(one == two for one, two in pairwise(heads)) and sum(map(len, map(str.split, lines))) >= 3 * len(lines)


def is_of_blocks(lines: Sequence[str]) -> bool:
    """Whether keys at the margin end in a colon and everything else is indented below them, as in lock files."""
    told = [line for line in lines if line[0] != "#"]
    keys = [line for line in told if not line[0].isspace()]
    if len(keys) < 4 or not 0.1 * len(told) <= len(keys) <= 0.5 * len(told):
        return False
    inside = [line for line in told if line[0].isspace()]
    short = sum(1 for line in inside if len(line.split()) <= 3)
    return all(key.rstrip()[-1] == ":" for key in keys) and short >= 0.8 * len(inside)


def has_few_templates(lines: Sequence[str]) -> bool:
    """Whether lines follow few templates with varying numbers and contain words: a log without time stamps."""
    masked = Counter(template(line) for line in lines)
    telling = [line for line in lines if any(map(str.isdigit, line)) and len(line.split()) >= 4]
    if len(telling) < 0.8 * len(lines) or len(lines) < 5:
        return False
    often = sum(times for times in masked.values() if times > 1)
    return len(masked) <= _FEW_TEMPLATES * len(lines) and often >= 0.6 * len(lines)


def template(line: str) -> str:
    """A line with its numbers and hashes masked. Example: "took 31 ms" -> "took 0 ms" """
    return _DIGITS.sub("0", _HEX.sub("0", line)).strip()


def shares_prefix(lines: Sequence[str]) -> bool:
    """Whether most lines begin with the same tag, such as `==123==`, `[info]` or `npm http`."""
    heads = Counter(line.lstrip().split(None, 1)[0] for line in lines if line.strip())
    head, times = heads.most_common(1)[0]
    return times >= 0.8 * len(lines) and len(head) > 3 and not head[0].isalpha() and not head[-1].isalpha()
