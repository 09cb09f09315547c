"""Recognizes the output of any test runner: counts of passed and failed tests, a status per test, expectations.

Example: "Tests: 12, Assertions: 11, Failures: 1." or "3 passed, 1 failed" or "[  PASSED  ] 11 tests."
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_OUTCOME = (
    r"(?:passed|passing|passes|pass|failed|failing|failures?|fails?|fail|skipped|skips|pending|todo|excluded|errored)"
)
_THING = (
    r"(?:tests?|test (?:cases?|suites?|files?)|specs?|examples?|assertions?|asserts?|checks?|scenarios?|suites?|steps?)"
)
# A line without any of these says nothing about a test; this check skips most lines.
_HINTS = (
    *(
        "pass",
        "fail",
        "test",
        "skip",
        "assert",
        "expect",
        "spec",
        "exampl",
        "scenario",
        "check",
        "suite",
        "step",
        "pend",
    ),
    *(
        "todo",
        "actual",
        "got",
        "receiv",
        "which is",
        "with diff",
        "left",
        "right",
        "want",
        "ok",
        "error",
        "..",
        "✓",
        "✔",
    ),
    *("✗", "✘", "×", "✖", "√", "○", "↓"),
)
# A count of outcomes or tests, with the number before or after the word.
_COUNT = re.compile(
    rf"(?P<one>\d+) ?(?:%|\(.{{1,12}}\))? ?(?:{_THING} )?(?:are |were |have )?(?P<what>{_OUTCOME}|{_THING})\b"
    rf"|\b(?P<what2>{_OUTCOME}|{_THING}(?: run)?)(?: ?[:=|-] ?| +)(?P<two>\d+)\b",
    re.I,
)
_DIGIT = re.compile(r"\d")
_ALONE = re.compile(
    rf"\W*(?:Ran|Running|Found|Run|OK|Completed|Executed)?\W*\d+(?:/\d+)? (?:of \d+ )?{_THING}\b.{{0,80}}$"
    r"|\W*(?:FAILED|OK|PASSED) \(.{3,60}\)$|\d+\.\.\d+$|TAP version \d+$|(?:Failed|Failing) tests?:$|Failures:$"
    r"|There (?:was|were) \d+ (?:failures?|errors?):|\*+ ?\d+ failures? (?:is|are) detected|\*+Test Failed\*+ ",
    re.I,
)
# The status of one test, before or after its name.
_BEFORE = re.compile(
    r"[\s|[({-]*(?:not ok|ok|OK|PASS(?:ED)?|FAIL(?:ED|URE)?|SKIP(?:PED)?|ERROR|XFAIL|✓|✔|✗|✘|×|✖|√|○|↓)"
    r"(?=[\s\])}:.✕]|$)[\s\])}:.]*\s?\S"
)
_AFTER = re.compile(
    r"(?:\.{2,}|\s\.\.\.|\s\|| -|:|\t|\s{2}|=| \()\s*\**(?:ok|passed|failed|fail|pass|error|skip(?:ped)?)\b.{0,40}$",
    re.I,
)
_SHORT = 48  # characters of a line that only counts one outcome
_END = 80  # characters at the end of a line to search for its status
_BAD = re.compile(r"not ok|FAIL|ERROR|✗|✘|×|✖", re.I)
_PROGRESS = re.compile(r"\s*(?:[.EFsSxXIPRUN*✓]{4,}|[.EFsSxXI*]{2,}\s+\[?\s*\d+)")
_EXPECTED = re.compile(
    r"^\W*(?:Failed )?expect(?:ed|ing|s)?\b(?! to be)"
    r"(?:.{0,200}\b(?:got|was|actual|received|to (?:eq|be|equal))\b|\s*[:(<]|\s*$)"
    r"|AssertionError|\b(?:assert(?:ion)?|check)s? (?:failed|`)"
    r"|\bASSERT\b|Failure/Error:|Failed asserting|\bhas failed\b"
    r"|^\W*(?:Actual|Received|Got|Which is|With diff)\b ?(?:value)?:?\s*\S{0,60}$|^\s+(?:left|right|got|want): "
    r"|\b(?:expected|actual)\b.{1,120}\b(?:but was|but got|got|!=|is not)\b",
    re.I,
)


def is_test_run(lines: Sequence[str]) -> bool:
    """Whether lines look like a test run: at least two of a verdict, statuses, a progress line and expectations."""
    low = [line.lower() for line in lines]
    joined = "\n".join(low)
    hints = [hint for hint in _HINTS if hint in joined]
    told = [line for line, found in zip(lines, low, strict=True) if any(map(found.__contains__, hints))]
    verdicts = max(map(_verdict, told), default=0)
    # A summary with a line for each outcome is one verdict.
    verdicts = max(verdicts, 2 * (len({one for line in told if len(line) < _SHORT for one in _outcomes(line)}) > 1))
    statuses = [line for line in told if _BEFORE.match(line) or _AFTER.search(line[-_END:])]
    share = len(statuses) / max(1, len(lines))
    progress = any(_PROGRESS.match(line) for line in lines)
    expected = any(_EXPECTED.search(line) for line in told)
    score = verdicts + progress + expected
    score += 2 if share >= 0.25 and len(statuses) >= 3 else int(len(statuses) >= 2)
    # A verdict or many statuses are required, because logs and prose mention expected errors too.
    return score >= 3 and (verdicts > 0 or (share >= 0.25 and any(map(_BAD.search, statuses)) and len(statuses) >= 3))


def _verdict(line: str) -> int:
    """3 for a line that counts tests and their outcomes, 2 for one that counts less, else 0."""
    if len(line) > 220:
        return 0
    if not _DIGIT.search(line):
        return 2 if _ALONE.match(line) else 0
    found = _outcomes(line)
    return 3 if len(found) > 2 else 2 if len(found) == 2 or _ALONE.match(line) else 0


def _outcomes(line: str) -> set[str]:
    return {(match["what"] or match["what2"]).lower()[:4] for match in _COUNT.finditer(line)}
