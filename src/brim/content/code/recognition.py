"""Recognizes source code by its structure, whatever its words look like: definitions that open blocks."""

from __future__ import annotations

import re

_OPENS = re.compile(
    r"(?:[\w()<>\[\],.]+ ){0,4}(?:def|class|function|fn|func|fun|struct|trait|impl|interface|namespace|module|enum)\b"
    r"[^.!?\n]{0,300}[:{(,=]$|class \w+\([^\n]{0,300}\):$"
    r"|(?:[\w:<>\[\]*&~,]+ ){1,5}[\w:~*&]+\([^;\n]{0,300}\)[^;.\n]{0,40}\{$|(?:async )?def \w+\([^\n]{0,300}:$"
)
_CALLED = ("def ", "class ", "func ", "fn ", "function ", "{")
_CONDITION = re.compile(r"(?:if|elif|else|try|except|finally)\b.*:\s*(?:#.*)?$")
_ENDS = frozenset(":{(,=")
_READ = 200_000
# The least share of a program's lines inside blocks of definitions; the rest may be tables. At .05, none of 5,046 texts
# that aren't code passes, and 4 of 157 modules of Python's library are missed.
_COVERED = 0.05
_UNDER = 0.3  # in a page that explains code, the examples are a smaller share


def is_source(text: str) -> bool:
    """Example: a module whose comments are longer than its code -> True; a page that quotes a function -> False"""
    if text.startswith("```") or "\n```" in text[:_READ] or not any(word in text[:_READ] for word in _CALLED):
        return False
    inside, covered, number, opened, waiting = False, 0, 0, 0, False
    for line in text[:_READ].split("\n"):
        if not line.strip():
            continue
        number += 1
        bare = line.rstrip()
        if bare[0] in " \t":
            opened += waiting
            waiting = False
            covered += inside
            if inside and bare[-1] in ":{(":
                waiting = bool(_OPENS.match(bare.lstrip()))
            continue
        if bare[0] in ")}]":  # this line closes a block or a signature
            covered += inside
            continue
        waiting = inside = bare[-1] in ":{(,=" and bool(_OPENS.match(bare))
        covered += inside
    return (opened > 1 and covered >= _COVERED * number) or _is_under_conditions(text[:_READ], number)


def _is_under_conditions(text: str, number: int) -> bool:
    """Whether a large part of the lines is in functions under an `if` or a `try` at the margin."""
    if text.count("\n    def ") < 2:
        return False
    covered, open_condition, inside = 0, False, False
    for line in text.split("\n"):
        if line[:1].strip():
            open_condition, inside = bool(_CONDITION.match(line)), False
        elif line[:5].strip():
            inside = open_condition and line.startswith("    def ") and line.rstrip()[-1] in ":("
        covered += inside and bool(line.strip())
    return covered >= _UNDER * number


def defines(text: str) -> bool:
    """Whether two lines begin a definition at any depth, because source code with a list isn't a list of records."""
    found = sum(1 for line in text[:_READ].split("\n") if line.rstrip()[-1:] in _ENDS and _OPENS.match(line.strip()))
    return found > 1
