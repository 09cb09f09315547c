"""Reports of compilers, type checkers and linters: severity, message and place.

The place comes before the message (gcc, mypy, javac, go), on a line below it (rustc, ruff, webpack), in the path above
(eslint), or after it (php).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_PATH = r"(?:[A-Za-z]:)?[^\s:()\[\]]{1,300}"
# path:line[:column] or path(line,column) before the message.
_PLACED = re.compile(
    rf"(?:\[\w+\] |%?\w[\w-]*: |\s+(?=\S*[./\\]\w))?(?P<path>{_PATH})"
    r"(?::\[?|\()(?P<at>\d+(?:[:,]\d+)?)[\])]?:? ?-? ?(?P<said>\S.*)$"
    r"|(?P<path2>[^\s:]{1,300}): line (?P<at2>\d+, col \d+), (?P<said2>\S.*)$"
    r"|(?P<said3>(?:PHP )?(?:Parse|Fatal|Compile) error: .+) in (?P<path3>\S+) on line (?P<at3>\d+)$"
)
# A line of the file named above, with the message: "line 3 column 6 - Warning: …", "L:  3 | P:  6 | …".
_LINE_SAID = re.compile(
    r"\s*(?:line (?P<at>\d+),? col(?:umn)? (?P<col>\d+)[ ,:-]+|L: *(?P<at2>\d+) \| P: *(?P<col2>\d+) \| )"
    r"(?P<said>\S.*)$"
)
# A place by itself, whose message is below the source that it quotes: 'File "a.ml", line 2, characters 11-14:'.
_LINE_PLACE = re.compile(
    r"\s*(?:In |File |at )?\"?(?P<path>[^\s\":,]{1,300}\.\w{1,8})\"?,? line (?P<at>\d+)"
    r"(?:,? (?:col(?:umn)?|characters?) [\d-]+)?:?$"
)
_POINTED = re.compile(r"[\s|%>\d]*[\^~][\s^~-]*(?P<said>\w.*)$")
_SAID_BELOW = re.compile(r"(?P<said>(?:\w*(?:Error|Warning|Exception)|error|warning)\b.{0,40}?: \S.*)$")
_BELOW = 6  # lines below a place to search for its messages
# A message with its place on a line below (rustc, ruff, webpack).
_TITLE = re.compile(
    r"(?P<said>(?:fatal )?(?:error|warning)(?:\[\w+\])?: .+|(?:ERROR|WARNING) in .+"
    r"|[A-Z]{1,7}\d{2,5} (?:\[\*\] )?\S.+|CMake (?:Error|Warning).+)$"
)
_IN = re.compile(r"(?:ERROR|WARNING) in (?P<path>\S+\.\w+)(?: (?P<at>\d+:\d+))?")
_ARROW = re.compile(r"\s*(?:-->|╭─\[?|┌─|@) ?(?P<path>[^\s:]+)(?::| )(?P<at>\d+(?::\d+)?)")
_BELOW_PATH = re.compile(r"\s+(?P<at>\d+:\d+):?\s{1,12}(?P<said>(?:error|warning|[A-Z]{1,7}\d{2,5})\b.*)$")
_PATH_LINE = re.compile(r"(?P<path>(?:/|\./|[A-Za-z]:\\)?[\w@./\\+-]+\.\w{1,6}):?$")
_SEVERITY = re.compile(
    r"(?:fatal |internal |PHP )?(?:Parse |Fatal |Compile )?(error|warning|note|info|remark|hint)\b", re.I
)
# For linters that don't report severity: these rule letters are style, others are errors.
_STYLE = re.compile(r"(?!E9|F|E0\d{3}\b)[A-Z]{1,7}\d{2,5}\b")
_SOURCE = re.compile(r".*\.\w{1,5}$")
_FAR = 4  # lines below a title to search for its place
_LONGEST = 14  # lines of one report to show verbatim


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message with its severity and place; lines [first, end) are the report itself."""

    severity: str  # error, warning or note
    said: str
    path: str
    at: str
    first: int = 0
    end: int = 0


def diagnostics(lines: Sequence[str]) -> list[Diagnostic]:
    """Every diagnostic in the lines, in order, without duplicates of the same place and message."""
    found: dict[tuple[str, str, str, str], Diagnostic] = {}
    every = list(_reported(lines))
    for number, one in enumerate(every):
        following = every[number + 1].first if number + 1 < len(every) else len(lines)
        limit = min(following, one.first + _LONGEST)
        end = next((row for row in range(one.first + 1, limit) if not lines[row].strip()), limit)
        key = (one.severity, one.said, one.path, one.at)
        if key not in found:
            found[key] = Diagnostic(*key, one.first, end)
    return list(found.values())


def _reported(lines: Sequence[str]) -> Iterator[Diagnostic]:
    above = ""
    for index, line in enumerate(lines):
        short = line[:600].rstrip()
        if found := _PLACED.match(short):
            path, at, said = (found[name] or found[f"{name}2"] or found[f"{name}3"] for name in ("path", "at", "said"))
            if severity := _severity(said, short, path):
                yield Diagnostic(severity, said, path, at.replace(",", ":").replace(" col ", ""), index)
        elif found := _LINE_SAID.match(short):
            at, column = found["at"] or found["at2"], found["col"] or found["col2"]
            yield Diagnostic(_severity(found["said"]) or "error", found["said"], above, f"{at}:{column}", index)
        elif found := _LINE_PLACE.match(short):
            above = found["path"]
            yield from _pointed(found["path"], found["at"], index, lines[index + 1 : index + 1 + _BELOW])
        elif found := _BELOW_PATH.match(short):
            severity = _severity(found["said"]) or "error"
            yield Diagnostic(severity, " ".join(found["said"].split()), above, found["at"], index)
        elif found := _TITLE.match(short):
            yield _titled(found["said"], index, lines[index + 1 : index + 1 + _FAR])
        elif found := _PATH_LINE.match(short):
            above = found["path"]


def _pointed(path: str, at: str, index: int, below: Sequence[str]) -> Iterator[Diagnostic]:
    """What the lines below a place say of the source that they quote."""
    for line in below:
        if found := _POINTED.match(line) or _SAID_BELOW.match(line):
            severity = "warning" if re.search(r"\bwarning\b|\((?:info|style|note)\)", found["said"], re.I) else "error"
            yield Diagnostic(severity, found["said"], path, at, index)
        elif _LINE_PLACE.match(line):
            return


def _titled(said: str, index: int, below: Iterable[str]) -> Diagnostic:
    severity = _severity(said) or "error"
    inside = _IN.match(said)
    for line in below:
        if found := _ARROW.match(line):
            return Diagnostic(severity, said, found["path"], found["at"], index)
        if not line.strip():
            break
        if inside:
            return Diagnostic(severity, line.strip()[:200], inside["path"], inside["at"] or "", index)
        if said.startswith(("ERROR in", "WARNING in", "CMake")) and ": " not in said:
            said = f"{said}: {line.strip()[:200]}"
    return Diagnostic(severity, said, "", "", index)


def _severity(said: str, line: str = "", path: str = "") -> str:
    """ "error", "warning" or "note"; empty for a line that only looks like a diagnostic."""
    if found := _SEVERITY.match(said):
        word = found.group(1).lower()
        return word if word in ("error", "warning") else "note"
    if said.startswith("ERROR in") or line.startswith(("[ERROR]", "CMake Error")):
        return "error"
    if said.startswith("WARNING in") or line.startswith(("[WARNING]", "%Warning")) or _STYLE.match(said):
        return "warning"
    if said.startswith("undefined reference") or re.match(r"[A-Z]{1,7}\d{2,5}\b", said):
        return "error"
    # Some compilers print no severity; a message with a place is then an error.
    return "error" if path and _SOURCE.match(path) and " " in said and not said.startswith(("In ", "from ")) else ""
