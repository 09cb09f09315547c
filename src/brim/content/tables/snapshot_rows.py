"""Lossless accessibility snapshots: depth as a number, abbreviated refs and pointer flags.

Example: '- main [ref=e1]:\\n  - button "Save" [ref=e2] [cursor=pointer]' ->
         '#brim snapshot: …\\nmain @e1:\\n1 button "Save" @e2^'
"""

from __future__ import annotations

import re

from brim.errors import NotDecodable

_TITLE = (
    "#brim snapshot: a number is the depth (none: as in the line above), @e1 is [ref=e1], ^ is [cursor=pointer]; "
    "| is a line as it is"
)
_LINE = re.compile(r"((?:  )*)- (.*)", re.DOTALL)
_REF = re.compile(r" \[ref=(\w+)\]( \[cursor=pointer\])?(?=$|[ :])")
_SHORT = re.compile(r" @(\w+)(\^?)(?=$|[ :])")
_ROW = re.compile(r"(?:(\d{1,4}) )?(.*)", re.DOTALL)
_LARGEST = 20_000_000


def dense(text: str) -> str | None:
    """The snapshot with short refs and depths; None unless clearly shorter."""
    if len(text) > _LARGEST or text.count("\n") < 2:
        return None
    out = [_TITLE]
    depth = 0
    for line in text.split("\n"):
        row = _short(line, depth)
        if row is None:
            out.append("|" + line)
            continue
        depth, short = row
        out.append(short)
    result = "\n".join(out)
    return result if len(result) < 0.95 * len(text) else None


def _short(line: str, above: int) -> tuple[int, str] | None:
    """The depth and the short form of a line; None if decoding it would be ambiguous."""
    node = _LINE.fullmatch(line)
    if node is None or _SHORT.search(node.group(2)):
        return None
    said = _REF.sub(lambda ref: f" @{ref.group(1)}{'^' if ref.group(2) else ''}", node.group(2))
    depth = len(node.group(1)) // 2
    if depth > 9_999 or said[:1].isdigit() or said.startswith("|"):
        return None
    return depth, said if depth == above else f"{depth} {said}"


def decode(text: str) -> str:
    """The snapshot that `dense` was given. Raises NotDecodable for a text it didn't produce."""
    title, _, rows = text.partition("\n")
    if title != _TITLE:
        raise NotDecodable("not a snapshot in brim's dense form: the first line is another")
    lines: list[str] = []
    depth = 0
    for row in rows.split("\n"):
        if row.startswith("|"):
            lines.append(row[1:])
            continue
        parts = _ROW.fullmatch(row)
        if parts is None:
            raise NotDecodable(f"not a row of a dense snapshot: {row[:60]!r}")
        if parts.group(1):
            depth = int(parts.group(1))
        lines.append("  " * depth + "- " + _SHORT.sub(_long, parts.group(2)))
    return "\n".join(lines)


def _long(ref: re.Match[str]) -> str:
    return f" [ref={ref.group(1)}]{' [cursor=pointer]' if ref.group(2) else ''}"
