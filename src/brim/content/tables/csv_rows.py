"""Lossless CSV and TSV: text shared by a whole column is written once, above the rows.

Cells are handled verbatim, including quotes, so that decoding returns the same bytes.

Example: "id,site,url\\n1,eu,https://a.b/1\\n2,eu,https://a.b/2\\n…" ->
         "#brim csv , …\\nid,site,url\\n2 site: eu\\n3 url: https://a.b/{}\\n--\\n1,1\\n2,2\\n…"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from brim.errors import NotDecodable

_DELIMITERS = (",", "\t", ";", "|")
_NAMES = {"\t": "tab"}
_TITLE = (
    '#brim csv {}: line 1 names the columns; a line "N name: X" says that column N has no cell and is X in every row, '
    "or that its cell stands where {{}} is in X; ^ is the cell above; rows follow --"
)
_HEAD = re.compile(r"#brim csv (\S+): ")
_LARGEST = 4_000_000
_MOST_LINES = 200_000
_BORDER = re.compile(r".*[\W_]", re.DOTALL)


def delimiter_of(lines: Sequence[str]) -> str:
    """The character that splits most of the first lines into the same number of cells, else ","."""
    sample = [line[:20_000] for line in lines[:50] if line]
    best, found = (0, 0), ","
    for sign in _DELIMITERS:
        counts = sorted(line.count(sign) for line in sample)
        usual = counts[len(counts) // 2] if counts else 0
        agreeing = sum(count == usual for count in counts)
        if usual and (agreeing, usual) > best:
            best, found = (agreeing, usual), sign
    return found


def cells_of(line: str, delimiter: str) -> list[str] | None:
    """The cells of a line as written; None if quotes are unbalanced.

    Example: cells_of('1,"a, b",2', ",") -> ["1", '"a, b"', "2"]
    """
    cells = line.split(delimiter)
    if '"' not in line:
        return cells
    joined: list[str] = []
    open_cell: list[str] = []
    for cell in cells:
        odd = cell.count('"') % 2
        if open_cell:
            open_cell.append(cell)
            if odd:
                joined.append(delimiter.join(open_cell))
                open_cell = []
        elif odd:
            open_cell = [cell]
        else:
            joined.append(cell)
    return None if open_cell else joined


def dense(text: str) -> str | None:
    """The table with constant columns and shared beginnings written once; None unless clearly shorter."""
    if len(text) > _LARGEST or not 3 <= text.count("\n") <= _MOST_LINES:
        return None
    lines = text.split("\n")
    tail = [""] if lines[-1] == "" else []
    body = lines[: len(lines) - len(tail)]
    delimiter = delimiter_of(body)
    table = [cells_of(line, delimiter) for line in body]
    width = len(table[0] or ())
    rows = [row for row in table if row is not None and len(row) == width]
    if width < 1 or len(rows) < len(table) or ("^" in text and any("^" in row for row in rows)):
        return None
    names, rows = rows[0], rows[1:]
    shared: list[str] = []
    columns: list[list[str]] = []
    for number, (name, column) in enumerate(zip(names, map(list, zip(*rows, strict=True)), strict=True), 1):
        pattern = _pattern(column)
        if pattern is not None and len(pattern) * (len(rows) - 1) > len(name) + 8:
            shared.append(f"{number} {name}: {pattern}")
            before, hole, after = pattern.partition("{}")
            if not hole:
                continue
            column = [cell[len(before) : len(cell) - len(after)] for cell in column]
        columns.append(_ditto(column))
    if not columns:
        return None
    title = _TITLE.format(_NAMES.get(delimiter, delimiter))
    written = (delimiter.join(row) for row in zip(*columns, strict=True))
    result = "\n".join([title, body[0], *shared, "--", *written, *tail])
    return result if len(result) < 0.9 * len(text) and decode(result) == text else None


def _pattern(column: Sequence[str]) -> str | None:
    """The common value, or beginning and end, of a column's cells; None if they share too little."""
    first = column[0]
    if not first or "{}" in first or "^" in first:
        return None
    low, high = min(column), max(column)
    if low == high:
        return first
    size = next((at for at, (one, two) in enumerate(zip(low, high, strict=False)) if one != two), len(low))
    before = low[:size]
    border = _BORDER.match(before)
    before = border.group() if border else ""
    if len(before) < 4 or "{}" in before or any("^" in cell or "{}" in cell or '"' in cell for cell in column):
        return None
    return before + "{}"


def _ditto(column: list[str]) -> list[str]:
    """The column with ^ for cells that repeat the one above, if that saves much."""
    saved = sum(len(cell) - 1 for above, cell in pairwise(column) if cell == above)
    if saved < 0.5 * sum(map(len, column)):
        return column
    return [column[0], *("^" if cell == above else cell for above, cell in pairwise(column))]


def decode(text: str) -> str:
    """The table that `dense` was given. Raises NotDecodable for a text it didn't produce."""
    lines = text.split("\n")
    head = _HEAD.match(lines[0])
    if head is None or "--" not in lines[2:]:
        raise NotDecodable("not a table in brim's dense form: the first line is another")
    delimiter = "\t" if head.group(1) == "tab" else head.group(1)
    names = cells_of(lines[1], delimiter)
    start = lines.index("--", 2)
    if names is None:
        raise NotDecodable(f"not a line of column names: {lines[1][:60]!r}")
    patterns = dict(_shared(line, names) for line in lines[2:start])
    tail = [""] if lines[-1] == "" else []
    width = len(names) - sum("{}" not in pattern for pattern in patterns.values())
    out = [lines[1]]
    above: list[str] = [""] * width
    for line in lines[start + 1 : len(lines) - len(tail)]:
        cells = cells_of(line, delimiter)
        if cells is None or len(cells) != width:
            cells = line.split(delimiter)
        if len(cells) != width:
            raise NotDecodable(f"a row has {len(cells)} cells and not {width}: {line[:60]!r}")
        above = [over if cell == "^" else cell for over, cell in zip(above, cells, strict=True)]
        out.append(delimiter.join(_filled(above, patterns, len(names))))
    return "\n".join(out + tail)


def _shared(line: str, names: Sequence[str]) -> tuple[int, str]:
    number, _, rest = line.partition(" ")
    if not number.isdecimal() or not 0 < int(number) <= len(names):
        raise NotDecodable(f"not a shared column: {line[:60]!r}")
    return int(number) - 1, rest[len(names[int(number) - 1]) + 2 :]


def _filled(cells: Sequence[str], patterns: dict[int, str], width: int) -> list[str]:
    row: list[str] = []
    left = iter(cells)
    for column in range(width):
        pattern = patterns.get(column)
        if pattern is None:
            row.append(next(left))
        elif "{}" in pattern:
            row.append(pattern.replace("{}", next(left), 1))
        else:
            row.append(pattern)
    return row
