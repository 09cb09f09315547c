"""CSV, TSV and spreadsheets as text: names and types of columns, then rows from both ends and unusual rows.

Rows stay verbatim. If they are too wide, only the columns that distinguish rows and those that the query names are
kept, and the mark says how many columns are missing.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from brim.content import plain_text
from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least
from brim.content.tables import csv_rows
from brim.content.types import Room
from brim.relevance import query_match

dense = csv_rows.dense
decode = csv_rows.decode

_NUMBER = re.compile(r"[-+]?(?:\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})(?:[eE][-+]?\d{1,3})?%?")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d.*)?|\d\d?[/.]\d\d?[/.]\d{2,4}(?: \d\d?:\d\d.*)?")
_ID_NAME = re.compile(
    r"(?:^|[_\s.-])(?:id|uuid|guid|key|code|sku|ref|number|no|email|login|slug)$|[a-z]I[dD]$|^#$", re.I
)
_SEVERE = re.compile(r"\b(?:error|fail(?:ed|ure)?|fatal|exception|critical|invalid|rejected|overdue)\b", re.I)
_SAMPLE = 4_000  # rows to sample for types and unusual rows
_MOST_CELLS = 400_000
_WIDEST = 400  # columns to describe


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """The name and values of a column."""

    name: str
    kind: str
    said: str
    is_id: bool


def extract(text: str, room: Room) -> str:
    """Columns with their types, ids, unusual rows, head and tail.

    Example: 5,000 rows -> "[csv: 5,000 rows × 3 columns …]\\nid,total,at\\n1,9.5,2024-01-01\\n…\\n[… 4,950 of …]"
    """
    if fits(text, room):
        return text
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(lines) < 2:
        return plain_text.extract(text, room)
    if room.tokens < 8:
        return least(room, f"{len(lines):,} rows")
    if len(text) <= room.tokens * 16:
        form = dense(text)
        if form is not None and fits(form, room):
            return form
    delimiter = csv_rows.delimiter_of(lines)
    names = csv_rows.cells_of(lines[0], delimiter) or [lines[0]]
    sample = _sampled(lines, delimiter, len(names))
    columns = _described(names, sample)
    shown, note = _narrowed(lines, names, columns, delimiter, room)
    head = _head(len(lines) - 1, names, columns, room)
    listed = "" if note else _ids(lines, columns, delimiter, room)
    tiers = [
        Tier([0], 0.5),
        matching(shown, room, 0.3),
        Tier([1, 2, len(lines) - 1] if len(lines) > 3 else [], 0.5),
        Tier([index for index in _unusual(sample, columns) if shown[index]], 0.25),
        Tier(head_and_tail(shown, room.tokens)),
    ]
    head = "\n".join(filter(None, (head, listed)))
    sizes = [0, *([1] * (len(lines) - 1))]  # the header isn't a row
    return pack(shown, tiers, room, unit="rows", head=head, head_share=0.6, also=note, sizes=sizes)


def _sampled(lines: Sequence[str], delimiter: str, width: int) -> list[tuple[int, list[str]]]:
    """Rows spread evenly over the table with their numbers, if they have as many cells as there are names."""
    most = max(20, min(_SAMPLE, _MOST_CELLS // max(1, width)))
    step = max(1, (len(lines) - 1) // most)
    found: list[tuple[int, list[str]]] = []
    for index in range(1, len(lines), step):
        if len(found) >= most:
            break
        cells = csv_rows.cells_of(lines[index], delimiter)
        if cells is not None and len(cells) == width:
            found.append((index, cells))
    return found


def _described(names: Sequence[str], sample: Sequence[tuple[int, list[str]]]) -> list[CsvColumn]:
    columns: list[CsvColumn] = []
    for number, name in enumerate(names[:_WIDEST]):
        values = [cells[number] for _, cells in sample]
        columns.append(_column(_bare(name), values))
    return columns


def _bare(cell: str) -> str:
    return cell.strip().strip('"').strip()


def _column(name: str, values: Sequence[str]) -> CsvColumn:
    filled = [value for value in map(_bare, values) if value]
    if not filled:
        return CsvColumn(name, "empty", "empty", False)
    distinct = Tally(filled)
    unique = len(distinct) == len(filled) > 1
    if all(_NUMBER.fullmatch(value) for value in filled):
        low, high = min(filled, key=_as_number), max(filled, key=_as_number)
        said = f"number {low}…{high}" if low != high else f"number {low}"
        return CsvColumn(name, "number", said, unique and bool(_ID_NAME.search(name)))
    if all(_DATE.fullmatch(value) for value in filled):
        return CsvColumn(name, "date", f"date {min(filled)}…{max(filled)}", False)
    is_id = unique and (bool(_ID_NAME.search(name)) or max(map(len, filled)) <= 40)
    if len(distinct) <= 6 and len(distinct) * 3 <= len(filled):
        said = "|".join(value[:30] for value, _ in distinct.most_common())
        return CsvColumn(name, "choice", said, False)
    return CsvColumn(name, "text", "unique text" if unique else "text", is_id)


def _as_number(value: str) -> float:
    return float(value.rstrip("%"))


def _head(rows: int, names: Sequence[str], columns: Sequence[CsvColumn], room: Room) -> str:
    """One line with the table's size and as many columns as fit in a fifth of the room."""
    size = f"[csv: {rows:,} rows × {len(names):,} columns"
    limit = room.tokens // 5 - room.count(size) - 4
    said: list[str] = []
    for column in columns:
        entry = f"{column.name[:60]} ({column.said})"
        limit -= room.count(entry) + 2
        if limit < 0:
            said.append(f"and {len(names) - len(said):,} more")
            break
        said.append(entry)
    return f"{size}; {', '.join(said)}]" if len(said) > 1 else f"{size}]"


def _ids(lines: Sequence[str], columns: Sequence[CsvColumn], delimiter: str, room: Room) -> str:
    """The ids of all rows on one line, if that takes no more than a third of the room."""
    at = next((number for number, column in enumerate(columns) if column.is_id), None)
    if at is None or len(lines) > room.tokens:
        return ""
    found: list[str] = []
    for line in lines[1:]:
        cells = csv_rows.cells_of(line, delimiter)
        if cells is None or len(cells) <= at:
            return ""
        found.append(cells[at].strip())
    listed = f"[{columns[at].name} of every row: {', '.join(found)}]"
    return listed if room.count(listed) * 3 <= room.tokens else ""


def _narrowed(
    lines: Sequence[str], names: Sequence[str], columns: Sequence[CsvColumn], delimiter: str, room: Room
) -> tuple[Sequence[str], str]:
    """The lines, or if they are wide, their cells in the most informative columns, and a note about that."""
    typical = lines[len(lines) // 2]
    limit = max(12, room.tokens // 6)
    if len(names) < 4 or (len(typical) <= 2 * limit and len(lines[0]) <= 2 * limit):
        return lines, ""
    if len(typical) + len(lines[0]) < 100 * limit and room.count(typical) + room.count(lines[0]) <= 2 * limit:
        return lines, ""
    asked = dict(query_match.scores([f"{name}\n" for name in names], room.query))
    order = sorted(
        range(len(names)),
        key=lambda at: (-asked.get(at, 0.0), at >= len(columns) or not columns[at].is_id, at),
    )
    middle = csv_rows.cells_of(typical, delimiter) or []
    chosen: list[int] = []
    for at in order[:200]:
        cell = middle[at] if at < len(middle) else ""
        limit -= max(room.count(names[at][:200]), room.count(cell[:200])) + 1
        if limit < 0 and chosen:
            break
        chosen.append(at)
    chosen.sort()
    step = max(1, len(lines) * len(names) // 2_000_000)  # skip rows of a huge table that surely won't be shown
    shown = [
        _projected(line, chosen, delimiter) if not index % step or not 100 < index < len(lines) - 100 else ""
        for index, line in enumerate(lines)
    ]
    return shown, f"{len(names) - len(chosen):,} of {len(names):,} columns"


def _projected(line: str, chosen: Sequence[int], delimiter: str) -> str:
    cells = csv_rows.cells_of(line, delimiter)
    if cells is None:
        return ""
    return delimiter.join(cells[at] for at in chosen if at < len(cells))


def _unusual(sample: Sequence[tuple[int, list[str]]], columns: Sequence[CsvColumn]) -> Iterator[int]:
    """Numbers of rows with error words, extreme numbers, or values that few other rows have."""
    for index, cells in sample:
        if any(_SEVERE.search(cell[:200]) for cell in cells[:50]):
            yield index
    for number, column in enumerate(columns[:60]):
        if column.kind == "number" and not column.is_id:
            filled = [(_as_number(said), index) for index, cells in sample if (said := _bare(cells[number]))]
            yield max(filled)[1]
            yield min(filled)[1]
        elif column.kind == "choice":
            rare = Tally(_bare(cells[number]) for _, cells in sample)
            scarce = {value for value, count in rare.items() if count * 50 <= len(sample)}
            yield from (index for index, cells in sample if _bare(cells[number]) in scarce)
