"""Compares the messages before and after: pairs of messages, and the lines of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

SentMessage = Mapping[str, Any]
Status = Literal["same", "changed", "removed", "added", "gap"]
CONTEXT = 2
MOST_LINES = 300
LONGEST_LINE = 1_200
# Beyond this many comparisons, one text is shown as replaced by the other. Digests rarely repeat, which
# makes comparing them far cheaper than lines.
MOST_WORK, MOST_DIGESTS = 100_000, 20_000_000
# Messages without calls differ only by role, which identifies them only within short runs.
SHORT_RUN = 40


@dataclass(frozen=True, slots=True)
class Pair:
    """A message before and after, either of which may be None. `at` is its number before, or where it was added."""

    status: Status
    before: SentMessage | None
    after: SentMessage | None
    at: int


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line on each side; a gap has the number of omitted lines on the left."""

    status: Status
    left: str = ""
    right: str = ""


def pairs(before: Sequence[SentMessage], after: Sequence[SentMessage]) -> list[Pair]:
    """Pair up messages: first those with equal digests, then those in between with the same role and calls."""
    found: list[Pair] = []
    digests = [_digest(one) for one in before], [_digest(one) for one in after]
    for tag, a, b, c, d in _opcodes(*digests, MOST_DIGESTS):
        if tag == "equal":
            found += [Pair("same", before[a + n], after[c + n], a + n) for n in range(b - a)]
        else:
            found += _between(before[a:b], after[c:d], a)
    return found


def _between(before: Sequence[SentMessage], after: Sequence[SentMessage], at: int) -> list[Pair]:
    found: list[Pair] = []
    short = max(len(before), len(after)) <= SHORT_RUN
    kinds = [
        [_kind(one) or (str(one["role"]) if short else f"{side} {n}") for n, one in enumerate(messages)]
        for side, messages in (("before", before), ("after", after))
    ]
    for tag, a, b, c, d in _opcodes(kinds[0], kinds[1], MOST_DIGESTS):
        if tag == "equal":
            found += [Pair("changed", before[a + n], after[c + n], at + a + n) for n in range(b - a)]
            continue
        found += [Pair("removed", before[n], None, at + n) for n in range(a, b)]
        found += [Pair("added", None, after[n], at + b) for n in range(c, d)]
    return found


def _digest(message: SentMessage) -> str:
    return f"{message['role']} {message['digest']}"


def _kind(message: SentMessage) -> str:
    """Example: a result of call_7 -> "tool [] ['call_7']"; a message without calls -> "" """
    calls, answers = message.get("calls"), message.get("answers")
    return f"{message['role']} {calls} {answers}" if calls or answers else ""


def lines(before: str, after: str, most: int = MOST_LINES) -> list[DiffLine]:
    """The changed lines of two texts with two lines of context, up to a maximum.

    Example: lines("a\\nb", "a\\nc") -> [Line("same", "a", "a"), Line("changed", "b", "c")]
    """
    left, right = before.splitlines(), after.splitlines()
    found: list[DiffLine] = []
    for tag, a, b, c, d in _opcodes(left, right):
        if tag == "equal":
            found += _same(left[a:b], first=a == 0, last=b == len(left))
            continue
        both = min(b - a, d - c)
        found += [DiffLine("changed", _cut(left[a + n]), _cut(right[c + n])) for n in range(both)]
        found += [DiffLine("removed", _cut(line)) for line in left[a + both : b]]
        found += [DiffLine("added", "", _cut(line)) for line in right[c + both : d]]
    if len(found) > most:
        found[most:] = [DiffLine("gap", f"{len(found) - most:,} more lines")]
    return found


def _same(shared: Sequence[str], first: bool, last: bool) -> list[DiffLine]:
    """Unchanged lines, without those far from any change."""
    head, tail = 0 if first else CONTEXT, 0 if last else CONTEXT
    if len(shared) <= head + tail + 1:
        return [DiffLine("same", _cut(line), _cut(line)) for line in shared]
    kept = [DiffLine("same", _cut(line), _cut(line)) for line in (*shared[:head], *shared[len(shared) - tail :])]
    kept.insert(head, DiffLine("gap", f"{len(shared) - head - tail:,} lines the same"))
    return kept


def _cut(line: str) -> str:
    """Example: a line of 5,000 characters -> its first 1,200 and "… 3,800 more characters" """
    over = len(line) - LONGEST_LINE
    return line if over <= 0 else f"{line[:LONGEST_LINE]} … {over:,} more characters"


def _opcodes(a: Sequence[str], b: Sequence[str], most: int = MOST_WORK) -> list[tuple[str, int, int, int, int]]:
    """difflib's opcodes, with common start and end removed first and the work bounded."""
    size = min(len(a), len(b))
    head = next((n for n in range(size) if a[n] != b[n]), size)
    tail = next((n for n in range(size - head) if a[-1 - n] != b[-1 - n]), size - head)
    i, j = len(a) - tail, len(b) - tail
    found = [("equal", 0, head, 0, head)] if head else []
    if (i - head) * (j - head) > most:
        found.append(("replace", head, i, head, j))
    elif i > head or j > head:
        inner = SequenceMatcher(None, a[head:i], b[head:j], autojunk=False).get_opcodes()
        found += [(tag, head + p, head + q, head + r, head + s) for tag, p, q, r, s in inner]
    if tail:
        found.append(("equal", i, len(a), j, len(b)))
    return found
