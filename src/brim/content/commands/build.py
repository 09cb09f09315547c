"""Build and lint output: every error with its place first, then warnings, then the steps of the build.

Errors are shown as they were reported while there is room. Else those of one file stand together, and those that say
the same share a line, so that all of them fit:

    src/main.rs
      error[E0308]: mismatched types: 5:24, 14:24, 23:24
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from brim.content import line_groups
from brim.content.commands.diagnostics import Diagnostic, diagnostics
from brim.content.detect.command_patterns import STEP, SUMMARY
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least, plural
from brim.content.types import Room

dense = line_groups.dense
decode = line_groups.decode

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_PLAIN = re.compile(
    r"(?:.*: undefined reference to .+|collect2: error.*|ld: .+|npm (?:ERR!|error) .+|ERROR: .+|make.*: \*\*\* .+)$"
)
_QUOTED = re.compile(r"'[^'\n]{1,80}'|`[^`\n]{1,80}`|‘[^’\n]{1,80}’|\"[^\"\n]{1,80}\"")
_ERROR = re.compile(r"^(?:fatal )?error(?:\[(\w+)\])?:? ")
_ADVICE = re.compile(r"\s*(?:\(.*\)|\[.*\])$|[;:.] (?:did you mean|perhaps|try|see|consider)\b.*$")
_MOST = 50_000
# Of the room, what errors as they were reported may take; grouped errors may take all but this for the verdict.
_AS_IS, _GROUPED, _WARNINGS = 0.7, 0.96, 0.6
_SHORTEST = 8  # tokens of a row that tells something
_WORDLESS = re.compile(r"[\W_]*$")


def extract(text: str, room: Room) -> str:
    """Errors, the verdict, warnings, then steps and what stands at both ends.

    Example: 400 lines of cargo -> "[build output, 24 errors and 31 warnings]\\nsrc/main.rs\\n  error[E0308]: …: 5:24"
    """
    if fits(text, room):
        return text
    lines = (_ANSI.sub("", text) if "\x1b[" in text else text).split("\n")
    if room.tokens < 8:
        return least(room, plural(len(lines), "line"))
    found = diagnostics(lines[:_MOST])
    errors = [one for one in found if one.severity == "error" and (one.path or one.at)]
    others = [one for one in found if one.severity == "warning"]
    failed = plural(sum(one.severity == "error" for one in found), "error")
    warned = [plural(len(others), "warning")] if others else []
    counts = " and ".join([failed, *warned]) if found else plural(len(lines), "line")
    title = f"[build output, {counts}]"
    left = room.tokens - room.count(room.mark(f"{len(lines):,} of {len(lines):,} lines left out")) - 2
    shown, whole = _best(errors, lines, left - room.count(title), room)
    head = "\n".join([title, *shown])
    left -= room.count(head)
    return pack(
        *_rest(lines, others, errors if whole else [], left, room), room, head=head, gap="", head_share=1.0, longest=0.5
    )


def _best(errors: Sequence[Diagnostic], lines: Sequence[str], left: int, room: Room) -> tuple[list[str], bool]:
    """The fullest way to show every error that fits, and whether it is the reports themselves."""
    for share, way in _WAYS:
        shown = list(way(errors, lines))
        if room.count("\n".join(shown)) <= share * left:
            return shown, way is _as_reported
    # Not even the shortest way shows all: those that occur most, and of the last as many places as fit.
    kept: list[str] = []
    for row in sorted(_by_message(errors, lines), key=lambda row: (-row.count(","), row)):
        spare = int(_GROUPED * left) - room.count("\n".join(kept)) - 1
        if room.count(row) <= spare:
            kept.append(row)
        elif spare > _SHORTEST:
            kept.append(_cut(row, spare, room))
    return [row for row in kept if row], False


def _cut(row: str, tokens: int, room: Room) -> str:
    """Of a row with places as many as fit. Example: "x: a.py 3,9,15,21" -> "x: a.py 3,9 and 2 more" """
    places = row.split(",")
    for number in range(len(places) - 1, 0, -1):
        text = f"{','.join(places[:number])} and {len(places) - number} more"
        if room.count(text) <= tokens:
            return text
    return ""


def _rest(
    lines: Sequence[str], warnings: Sequence[Diagnostic], reported: Sequence[Diagnostic], left: int, room: Room
) -> tuple[list[str], list[Tier]]:
    """The verdict, warnings by file, and the lines of the build that are not errors."""
    ways = ([*way(warnings, lines)] for way in (_by_file, _by_line, _fewest_words))
    said = next((rows for rows in ways if room.count("\n".join(rows)) <= _WARNINGS * left), [])
    said = said or list(_fewest_words(warnings, lines))
    start = len(said)
    covered = {row for one in reported for row in range(one.first, one.end)}
    made = [*said, *("" if row in covered else line for row, line in enumerate(lines))]
    free = [row for row in range(len(lines)) if row not in covered]
    summary = [start + row for row in free if SUMMARY.match(lines[row]) or _PLAIN.match(lines[row])]
    steps = [start + row for row in free if STEP.match(lines[row])]
    query = matching(lines, room)
    return made, [
        Tier(summary[-20:], 0.4),
        Tier([start + row for row in query.order if row not in covered], query.share),
        Tier(range(start), 0.6),
        Tier(reversed(steps), 0.6),  # how far a build got says more than how it began
        Tier(start + row for row in head_and_tail(lines) if row not in covered and not _WORDLESS.match(lines[row])),
    ]


def _as_reported(errors: Sequence[Diagnostic], lines: Sequence[str]) -> Iterator[str]:
    path = ""
    for one in errors:
        if (
            one.path not in lines[one.first]
            and one.path != path
            and not any(one.path in line for line in lines[one.first : one.end])
        ):
            yield one.path
        path = one.path
        yield from lines[one.first : one.end]


def _by_file(errors: Sequence[Diagnostic], _lines: Sequence[str]) -> Iterator[str]:
    """Below each path what is wrong, with its places; messages that differ in what they quote share a line."""
    for path, said in _grouped(errors, lambda one: one.path, lambda one: _QUOTED.sub("'", one.said)).items():
        rows = [_with_names(group) for group in said.values()]
        if not path:
            yield from rows
        elif len(rows) == 1:
            yield f"{path} {rows[0]}"
        else:
            yield from (path, *(f"  {row}" for row in rows))


def _with_names(group: Sequence[Diagnostic]) -> str:
    """Example: "cannot find 'a': 5:3, 'b' 9:3" """
    first = group[0]
    names = _QUOTED.findall(first.said)
    places = [first.at]
    for one in group[1:]:
        other = [name for name, old in zip(_QUOTED.findall(one.said), names, strict=True) if name != old]
        places.append(" ".join((*other, one.at)))
    told = ", ".join(filter(None, places))
    return f"{first.said}: {told}" if told else first.said


def _by_line(errors: Sequence[Diagnostic], _lines: Sequence[str], words: int = 14) -> Iterator[str]:
    """Below each path what is wrong without its names, with the numbers of its lines."""
    for path, said in _grouped(errors, lambda one: one.path, lambda one: _bare(one.said, words)).items():
        yield path
        for short, group in said.items():
            yield f" {short}: {_numbers(group)}"


def _by_message(errors: Sequence[Diagnostic], _lines: Sequence[str]) -> Iterator[str]:
    """What is wrong once for all files, and the lines where."""
    for short, files in _grouped(errors, lambda one: _bare(one.said, 6), lambda one: one.path).items():
        yield " ".join((f"{short}:", *(f"{path} {_numbers(group)}".strip() for path, group in files.items())))


def _fewest_words(errors: Sequence[Diagnostic], lines: Sequence[str]) -> Iterator[str]:
    return _by_line(errors, lines, 6)


def _bare(said: str, most: int) -> str:
    """What is wrong without its severity, names, advice and the rule's name: at most so many words."""
    return " ".join(_ADVICE.sub("", _QUOTED.sub("*", _ERROR.sub(r"\1 ", said))).split()[:most])


def _numbers(group: Sequence[Diagnostic]) -> str:
    return ",".join(dict.fromkeys(one.at.partition(":")[0] for one in group))


def _grouped(
    errors: Sequence[Diagnostic], outer: Callable[[Diagnostic], str], inner: Callable[[Diagnostic], str]
) -> dict[str, dict[str, list[Diagnostic]]]:
    groups: dict[str, dict[str, list[Diagnostic]]] = {}
    for one in errors:
        groups.setdefault(outer(one), {}).setdefault(inner(one), []).append(one)
    return groups


# The ways to show errors, fullest first, and the share of the room that each may take.
_WAYS: tuple[tuple[float, Callable[[Sequence[Diagnostic], Sequence[str]], Iterator[str]]], ...] = (
    (_AS_IS, _as_reported),
    (_GROUPED, _by_file),
    (_GROUPED, _by_line),
    (_GROUPED, _fewest_words),
    (_GROUPED, _by_message),
)
