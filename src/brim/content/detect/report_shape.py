"""Recognizes the report of any compiler or linter: places in files, and beside or below them what is wrong there.

Example: "line 1 column 7 - Warning: inserting <body>" or 'File "a.ml", line 2' above a quoted line with a caret
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# A file with a line, "line 3" of something, or line:column set in below a path.
_PLACE = re.compile(r"(?:\S{1,12} )?[^\s:()\"]{1,200}\.\w{1,8}[:(]\d|\s*L:? *\d+\b|\s+\d+:\d+\s")
_LINE = re.compile(r"\b[Ll]ines? \d+\b")
# Something that may be a place, in any of the lines: most texts have none.
_ANY_PLACE = re.compile(r"\.\w{1,8}[:(]\d|\b[Ll]ines? \d|^[ \t]*L:? *\d|^[ \t]+\d+:\d+\s", re.M)
_FRAME = re.compile(r".*\bin \S+$|\s*at ")  # a call of a traceback
_CARET = re.compile(r"[\s|%>\d]*[\^~][\s^~-]*(?P<said>\w.*)?$")
_QUOTED = re.compile(r"\s*\d+ ?\|")
_COMPLAINT = re.compile(
    r"\b(?:errors?|warning|fatal|note|info|hint|style|missing|unexpected|expected|undefined|undeclared|unused|unknown"
    r"|invalid|duplicate\w*|deprecated|must|should|cannot|can't|could not|not|too (?:many|few))\b",
    re.I,
)
# Least lines of each sign, and least share of the lines that are not quoted. With them the odd formats of
# `bench/content.py --fresh` that are builds are told in 1.0 of the cases, the untouched even ones in .82; by the named
# signs alone it was .44 and .47.
_LEAST = 3
_SHARE = 0.3


def is_report(lines: Sequence[str]) -> bool:
    """Whether lines that name places, or point at them, and complain make up the text, quoted source aside."""
    if not _ANY_PLACE.search("\n".join(lines)):
        return False
    placed = carets = quoted = 0
    others: list[str] = []  # what may be a complaint
    for number, line in enumerate(lines):
        if caret := _CARET.match(line):
            carets += 1
            others.append(caret["said"] or "")
            quoted += number > 0 and not _QUOTED.match(lines[number - 1])
        elif _QUOTED.match(line):
            quoted += 1
        else:
            placed += bool(_PLACE.match(line) or _LINE.search(line)) and not _FRAME.match(line)
            others.append(line)
    least = max(_LEAST, _SHARE * (len(lines) - quoted - carets))
    if placed + carets < least or placed < min(2, placed + carets - 1):
        return False
    return sum(1 for line in others if _COMPLAINT.search(line)) >= least
