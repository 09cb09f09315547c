"""Test and build output: keeps failures, their reasons and the verdict; passed tests are dropped first.

Knows the formats of pytest, unittest and Django, jest, vitest and mocha, TAP, go test, cargo, JUnit and Maven,
and of the compilers and build tools whose diagnostics name a file and a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from brim.content import line_groups
from brim.content.line_packing import Tier, head_and_tail, matching, pack, worth_a_look
from brim.content.selection import fits, least, plural
from brim.content.types import Room

dense = line_groups.dense
decode = line_groups.decode

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
# If a line for each failing test takes more of the room than the first share, they are grouped by file and class; if
# the groups take more than the second share, they would leave no room for the reasons.
_GROUP_FROM, _GROUPED = 0.6, 0.8
_IN_CLASS = re.compile(r"(\S+) \(([\w.]+)\)")
# A line without any of these, in lower case, is irrelevant; this check skips most lines.
_HINTS = (
    "fail", "err", "exception", "panic", "assert", "warning", "expected", "received", "actual", "left:", "right:",
    "passed", "tests", "ran ", "✕", "✗", "×", "●", "not ok", "fatal", "undefined reference", "exit", "interrupt",
    ".py:", "_test.go:", "caused by", "  at ", "\tat ", "file \"", "raise", "timed out", "timeout", "killed", "abort",
)  # fmt: skip
_VERDICT = re.compile(
    r"=+ .*\b\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected|warnings?)\b.* =+$"
    r"|!+ .* !+$|Ran \d+ tests? in |FAILED \((?:failures|errors|unexpected)|Test(?:s|\sSuites|\s+Files):?\s+\d"
    r"|\s*Tests:?\s+\d+ (?:failed|passed)|\s*\d+ (?:passing|failing|pending)\b|test result: "
    r"|(?:FAIL|ok)\t\S+|FAIL$|# (?:pass|fail|tests) +\d|(?:\[\w+\] )?Tests run: \d|BUILD (?:FAILED|FAILURE|SUCCESS)"
    r"|make(?:\[\d+\])?: \*\*\*|npm (?:ERR!|error) (?:code|errno|Exit|Lifecycle|Test)|Found \d+ errors?"
    r"|error: (?:could not compile|aborting due to|build failed|test failed)|\d+ errors? generated|ninja: build stopped"
    r"|collect2: error|Command failed|(?:Process|Command|Script).{0,60} exit(?:ed)? (?:with )?(?:code|status)"
    r"|.{0,80}\bexit(?:ed with)? (?:code|status) [1-9]|FAILURE: |Execution failed for task"
)
_FAILING = re.compile(
    r"(?:FAILED|ERROR|FAIL|XPASS\(strict\)|FAILURE)(?: +|: ?)(?!\()(?P<id>\S.{0,400}?)"
    r"(?: - .*| \[\s*\d+%\]| \(\d[\d.]* ?m?s\))?$"
    r"|(?P<id2>\S.{0,400}?) (?:FAILED|ERROR|FAIL)(?: +\[\s*\d+%\])?$"
    r"|(?P<id3>\w+ \([\w.]+\)(?: \[.*\])?)(?: \.\.\. )(?:FAIL|ERROR|unexpected success)"
    r"|\s*--- FAIL: (?P<id4>\S+)|test (?P<id5>\S+)(?: - .*?)? \.\.\. FAILED|\s*not ok \d+ -? ?(?P<id6>.+)"
    r"|\s*[✕✗✖×] (?P<id7>\S.*?)(?: \(\d+ ?m?s\)| \d+ms)?$|\s*● (?P<id8>\S.{0,300})|\s*\d+\) (?P<id9>\S.{0,300})"
    r"|\[ERROR\] +(?P<id10>[\w.$]+(?::\d+|\.\w+:\d+).*)|---- (?P<id11>\S+) stdout ----|\[ *FAILED *\] (?P<id12>[\w./]+)"
    r"|_+ (?P<id13>ERROR (?:collecting|at \w+ of) .{1,300}?) _+$|_+ (?P<id14>\S+\.py:\w+) _+$|(?P<id15>test_\w+) [FE]$"
)
_EXCEPTION = re.compile(
    r"(?:E\s+|>\s+|\s*(?:Uncaught |Unhandled |Caused by: |Exception in thread \"[^\"]*\" ))?\s{0,12}"
    r"(?:[A-Za-z_][\w$]{0,80}[.:]{1,2}){0,12}[A-Za-z_]\w{0,80}(?:Error|Exception|Exit|Interrupt|Failure|Failed|Timeout|Fault)"
    r"(?:\[\w+\])?(?: \[\w+\])?(?::.*|\s*\(.*\))?$"
    r"|E\s+(?:\w+\.){0,9}\w*Warning: "
    r"|panic: |thread '.{0,120}' panicked at|fatal error: |Segmentation fault|E\s+(?:Failed|assert)\b"
)
_DIAGNOSTIC = re.compile(
    r"(?:[A-Za-z]:)?[^\s:()]{1,300}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):? ?-? ?(?:fatal )?(?:error|Error)\b"
    r"|error(?:\[\w+\])?: |ERROR in |.{0,200}undefined reference to|ld: |npm (?:ERR!|error) |\s+\d+:\d+ +error +"
    r"|e: |FATAL|fatal: |\[ERROR\] |ERROR:? "
)
_DETAIL = re.compile(
    r"E  |\s*(?:Expected|Received|Actual|expected|actual|received|got|want|left|right|Diff)\b ?(?:value)?:"
    r"|\s+\w+_test\.go:\d+:"
    r"|\s*[-+] \S|\s*assert|\s+AssertionError|.{0,200}assertion (?:failed|`)|\s*--> \S+:\d+|\s*= (?:note|help):"
)
_TITLED = re.compile(r"_{2,} (\S.{0,300}?) _{2,}$")
_PLACE = re.compile(
    r"\S+\.\w+:\d+: (?:\w+(?:Error|Exception)|in \w)?|  File \".{1,400}\", line \d+|>  |\s+at .{1,300}:\d+"
    r"|.{0,200}\b\w+Warning: |(?:FAIL|ERROR): |\s*warning:|.{0,200}: warning:"
)
# Blank lines, rules and passed tests.
_DULL = re.compile(r"^[\s=_*.-]*$|^PASSED |\b(?:ok|PASSED|OK)(?: +\[\s*\d+%\])?$|^--- PASS|✓|✔")
_RARE_WORDS = ("FAILED", "FAIL:", "Error:", "error:", "ERROR", "Exception", "panic", "✕", "not ok")


@dataclass(slots=True)
class Findings:
    """Line numbers by the information in a line, without repetitions."""

    verdicts: list[int] = field(default_factory=list)
    failing: list[int] = field(default_factory=list)
    titles: list[int] = field(default_factory=list)
    exceptions: list[int] = field(default_factory=list)
    diagnostics: list[int] = field(default_factory=list)
    details: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


def extract(text: str, room: Room) -> str:
    """Verdicts, exception lines and failing ids first, then assertion details, places, and the lines around them.

    Example: a pytest run of 86 tests -> "E   IndexError: …\\n…\\nFAILED tests/a.py::test_b\\n…\\n== 1 failed … =="
    """
    if fits(text, room):
        return text
    if room.tokens < 8:
        return least(room, f"{text.count(chr(10)) + 1:,} lines")
    plain = _ANSI.sub("", text) if "\x1b[" in text else text
    lines = plain.split("\n")
    found = classify(lines, worth_a_look(plain, lines, _RARE_WORDS))
    _shorten_reasons(lines, found.failing, room)
    head = f"[test output, {plural(len(lines), 'line')}{', colour codes removed' if plain is not text else ''}]"
    failing: Sequence[int] = found.failing
    grouped = ""
    if sum(room.count(lines[index]) + 2 for index in failing) > _GROUP_FROM * room.tokens:
        by_owner = _by_owner(lines, failing)
        if room.count(by_owner) <= _GROUPED * room.tokens:
            head, failing, grouped = f"{head}\n{by_owner}", (), by_owner
    tiers = [
        matching(lines, room, 0.25),
        Tier(reversed(found.verdicts), 0.15),
        Tier(found.exceptions, 0.3),
        Tier(found.diagnostics, 0.25),
        Tier(failing, 1.0),
        # Without a summary, failures are only named in their titles.
        Tier(found.titles, 1.0 if not grouped and len(failing) < len(found.titles) else 0.1),
        Tier([*found.exceptions, *found.diagnostics], 1.0),
        Tier(found.details, 0.5),
        Tier(found.places, 0.5),
        Tier(_around(found, lines), 0.6),
        Tier(_after(found.places, lines), 0.3),
        Tier([index for index in head_and_tail(lines, room.tokens) if not _DULL.search(lines[index][:400])]),
        Tier(head_and_tail(lines, room.tokens)),
    ]
    return pack(lines, tiers, room, head=head, gap="", head_share=_GROUPED + 0.1 if grouped else 0.25)


def _by_owner(lines: Sequence[str], failing: Sequence[int]) -> str:
    """Failing tests by file and class.

    Example: "FAILED a.py::B::test_one - …", "FAILED a.py::B::test_two" -> "a.py::B: test_one, test_two"
    """
    owners: dict[str, dict[str, None]] = {}
    for index in failing:
        match = _FAILING.match(lines[index][:600].rstrip(" …"))
        name = (match.group(match.lastgroup or 0) or "").strip() if match else ""
        if inside := _IN_CLASS.fullmatch(name):
            owner, short = inside[2], inside[1]
        else:
            owner, _, short = name.rpartition("::")
        if short:
            owners.setdefault(owner, {}).setdefault(short)
    said = (f"{owner}: {', '.join(names)}" if owner else "\n".join(names) for owner, names in owners.items())
    return "\n".join(["[failing]", *said])


def classify(lines: Sequence[str], indices: Iterable[int]) -> Findings:
    """Sort lines by their information, skipping repeated ids, exceptions and details."""
    found = Findings()
    seen: set[str] = set()
    for index in indices:
        line = lines[index]
        low = line[:400].lower()
        if not low or not (low.startswith(("e  ", ">  ", "__", "test_")) or any(hint in low for hint in _HINTS)):
            continue
        _place_line(index, line[:600].rstrip(), found, seen)
    return found


def _place_line(index: int, line: str, found: Findings, seen: set[str]) -> None:
    if _VERDICT.match(line):
        found.verdicts.append(index)
        return
    failing = _FAILING.match(line)
    if failing is not None and (name := failing.group(failing.lastgroup or 0)):
        _once(f"id {name}", index, found.failing, seen)
        if not _EXCEPTION.match(line):
            return
    if _EXCEPTION.match(line):
        _once(f"exc {line.removeprefix('E ').strip()}", index, found.exceptions, seen)
    elif _DIAGNOSTIC.match(line):
        _once(f"diag {line.strip()}", index, found.diagnostics, seen)
    elif _DETAIL.match(line):
        _once(f"detail {line.strip()}", index, found.details, seen)
    elif title := _TITLED.match(line):
        _once(f"title {title.group(1)}", index, found.titles, seen)
    elif _PLACE.match(line):
        _once(f"place {line.strip()}", index, found.places, seen)


def _shorten_reasons(lines: list[str], failing: Sequence[int], room: Room) -> None:
    """If failing ids alone fill the room, remove the reasons after them, which the runner has already cut."""
    if sum(len(lines[index]) for index in failing) < 2 * room.tokens:
        return
    for index in failing:
        name, dash, reason = lines[index].rpartition(" - ")
        if dash and reason.endswith("..."):
            lines[index] = f"{name} …"


def _once(key: str, index: int, into: list[int], seen: set[str]) -> None:
    if key not in seen:
        seen.add(key)
        into.append(index)


def _around(found: Findings, lines: Sequence[str]) -> Iterator[int]:
    """The lines near exceptions and diagnostics, nearest first, without blank lines and passed tests."""
    centres = [*found.exceptions, *found.diagnostics, *found.failing][:200]
    for distance in range(1, 7):
        for centre in centres:
            for index in (centre - distance, centre + distance) if distance < 4 else (centre - distance,):
                if 0 <= index < len(lines) and not _DULL.search(lines[index][:400]):
                    yield index


def _after(places: Sequence[int], lines: Sequence[str]) -> Iterator[int]:
    """The source line after the place of a frame."""
    for index in places:
        if index + 1 < len(lines) and not _DULL.search(lines[index + 1][:400]):
            yield index + 1
