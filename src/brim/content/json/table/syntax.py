"""The grammar of the table form: the ends of cells, and the syntax of headers.

header   %name(field,field,…)     name is empty for the root, `[]` or `{}` for a root list or map
field    key [!wrap] [[]] (field,…) | ['] key [*] [?] [!wrap] [@class] [:value | =template | ~template]
value    bare | 'text | "json string" | \"\"\"raw text\"\"\" | [v,…] | {key:v,…} | (cell,…) | class(cell,…)
"""

from __future__ import annotations

import re
from typing import Any

from brim.content.json.table.scalars import unquoted
from brim.errors import NotDecodable

QUOTED = re.compile(r'"""[\s\S]*?"""(?!")|"(?:[^"\\\n]|\\.)*"')
# An unclosed quote is a token too, so that the text after it isn't searched again from every later quote.
_TOKEN = re.compile(r'"""[\s\S]*?"""(?!")|"(?:[^"\\\n]|\\.)*+(?:"|())|[()\[\]{}]')
_BARE = re.compile(r'[^,()\[\]{}"\n]*')
_ROW_BARE = re.compile(r"[^,\n]*")
_TAGGED = re.compile(r"[A-Za-z0-9_-]+(?=\()")
_TEMPLATE = re.compile(r'(?:[^,()\[\]{}"\n]|\{[^,(){}"\n]*\})*')
_KEY = re.compile(r"[^,()\[\]{}\":=~@'?!*%$#.\n]+")
_USUAL_FIELD = re.compile(r"([^,()\[\]{}\":=~@'?!*%$#.\n]+)(:[^,()\[\]{}\"\n]*)?(?=[,)])")
_FLAGS = re.compile(r"(\*?)(\??)(?:!(\+?[a-z0-9/]+))?(?:(@)([A-Za-z0-9_-]*))?")
_GROUP = re.compile(r"(?:!(\+?json[0-9]?a?))?(\[\])?\(")
SPECIAL = re.compile(r'["(\[{]')
_SPECIAL_START = re.compile(r'(?:\A|,)["(\[{]')
_BRACKET_START = re.compile(r"(?:\A|,)[(\[{]")
# The last branch takes the rest once no cell matches; otherwise `findall` would retry at every position, and 30 KB in
# brackets took seconds.
_QUOTED_CELL = re.compile(r'("(?:[^"\\]|\\.)*+"|[^,"][^,]*+|),|[\s\S]+')
_QUOTED_INSIDE = re.compile(r'("""[\s\S]*?"""(?!")|"(?:[^"\\\n]|\\.)*+"|[^,()\[\]{}"]*+),|[\s\S]+')
_ANY_CELL = r'(?:"""[\s\S]*?"""(?!")|"(?:[^"\\\n]|\\.)*"|%s)(?=[,\n]|\Z)'
_INSIDE_CELL = re.compile(_ANY_CELL % r'[^,()\[\]{}"\n]*')
_ROW_CELL = re.compile(_ANY_CELL % r'(?![(\[{"])[^,\n]*')
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Spec:
    """A field of a header; class attributes are the defaults of rare properties."""

    entry = False
    as_text = False
    is_key = False
    optional = False
    wrap = ""
    nested = False
    child = ""
    mark = ""
    body = ""
    quoted = False
    in_list = False
    fields: list[Spec] | None = None
    values: list[Any] | None = None
    cells: list[str] | None = None

    def __init__(self, key: str, path: tuple[str, ...]) -> None:
        self.key = key
        self.path = path


def cell_end(text: str, at: int, inside: bool, tagged: bool) -> int:
    """Return the end of the cell that starts at `at`; inside brackets, a bare text ends at any bracket."""
    start = text[at : at + 1]
    if start == '"':
        found = QUOTED.match(text, at)
        if found is None:
            raise NotDecodable(f"a quote is not closed: {text[at : at + 40]}")
        return found.end()
    if start and start in "([{":
        return bracket_end(text, at)
    if inside or tagged:
        name = _TAGGED.match(text, at)
        if name is not None:
            return bracket_end(text, name.end())
    found = (_BARE if inside else _ROW_BARE).match(text, at)
    return found.end() if found else at


def bracket_end(text: str, at: int) -> int:
    """Return the position after the bracket that closes the one at `at`."""
    open_brackets = []
    for found in _TOKEN.finditer(text, at):
        token = found[0]
        if token in _CLOSING:
            open_brackets.append(_CLOSING[token])
        elif token[0] == '"':
            if found[1] is not None:
                break
        else:
            if open_brackets.pop() != token:
                break
            if not open_brackets:
                return found.end()
    raise NotDecodable(f"a bracket is not closed: {text[at : at + 40]}")


def split_cells(text: str) -> list[str]:
    """Split the content of brackets at its top-level commas."""
    if not SPECIAL.search(text):
        return text.split(",")
    cells: list[str] = _QUOTED_INSIDE.findall(text + ",")
    if sum(map(len, cells)) + len(cells) == len(text) + 1:
        return cells
    cells = []
    at = 0
    while True:
        found = _INSIDE_CELL.match(text, at)
        end = found.end() if found else cell_end(text, at, inside=True, tagged=True)
        cells.append(text[at:end])
        if end == len(text):
            return cells
        if text[end] != ",":
            raise NotDecodable(f"a comma is missing: {text[end : end + 40]}")
        at = end + 1


def read_rows(text: str, at: int, specs: list[Spec]) -> tuple[list[list[str]], int]:
    """Return the rows from `at` up to the next line that starts with %, and the start of that line."""
    rows: list[list[str]] = []
    size = len(text)
    tagged = [spec.nested and not spec.child for spec in specs]
    special = SPECIAL if any(tagged) else _SPECIAL_START
    in_lines = not any(spec.nested for spec in specs) and '"""' not in text
    while at < size and text[at] != "%":
        end = text.find("\n", at)
        if end < 0:
            end = size
        line = text[at:end]
        if not special.search(line):
            cells: list[str] | None = line.split(",")
        else:
            cells = _read_line(line) if in_lines else None
        if cells is None:
            cells, end = _read_row(text, at, tagged)
        rows.append(cells)
        at = end + 1
    return rows, at


def _read_line(line: str) -> list[str] | None:
    """Split a row with quoted cells but without brackets and raw text: a fast path for the usual case."""
    if _BRACKET_START.search(line):
        return None
    cells: list[str] = _QUOTED_CELL.findall(line + ",")
    return cells if sum(map(len, cells)) + len(cells) == len(line) + 1 else None


def _read_row(text: str, at: int, tagged: list[bool]) -> tuple[list[str], int]:
    """Return the cells of the row at `at`, of any kind, and the end of the row."""
    cells: list[str] = []
    while True:
        by_name = len(cells) < len(tagged) and tagged[len(cells)]
        found = None if by_name else _ROW_CELL.match(text, at)
        end = found.end() if found else cell_end(text, at, inside=False, tagged=by_name)
        cells.append(text[at:end])
        if end >= len(text) or text[end] == "\n":
            return cells, end
        if text[end] != ",":
            raise NotDecodable(f"a comma is missing: {text[end : end + 40]}")
        at = end + 1


def read_fields(text: str, at: int, path: tuple[str, ...] = ()) -> tuple[list[Spec], int]:
    """Read the fields of a header after its opening bracket; returns them and their end."""
    specs: list[Spec] = []
    while True:
        found = _USUAL_FIELD.match(text, at)
        if found is not None:
            spec = Spec(found[1], (*path, found[1]))
            if found[2]:
                spec.mark, spec.body = ":", found[2][1:]
            at = found.end()
        else:
            spec, at = _read_field(text, at, path)
        specs.append(spec)
        sign = text[at : at + 1]
        at += 1
        if sign == ")":
            return specs, at
        if sign != ",":
            raise NotDecodable(f"a header goes wrong at: {text[at - 1 : at + 39]}")


def _read_field(text: str, at: int, path: tuple[str, ...]) -> tuple[Spec, int]:
    as_text = text.startswith("'", at)
    at += as_text
    entry = False
    if text.startswith('"', at):
        end = cell_end(text, at, inside=True, tagged=False)
        key = unquoted(text[at:end])
    elif text.startswith("*", at):
        key, end, entry = "*", at + 1, True
    else:
        found = _KEY.match(text, at)
        if found is None:
            raise NotDecodable(f"a header has no key at: {text[at : at + 40]}")
        key, end = found[0], found.end()
    spec = Spec(key, (*path, key))
    spec.entry, spec.as_text = entry, as_text
    group = _GROUP.match(text, end)
    if group is not None:
        spec.wrap, spec.in_list = group[1] or "", bool(group[2])
        spec.fields, end = read_fields(text, group.end(), spec.path)
        return spec, end
    flags = _FLAGS.match(text, end)
    if flags is not None:
        spec.is_key, spec.optional = bool(flags[1]), bool(flags[2])
        spec.wrap, spec.nested, spec.child = flags[3] or "", bool(flags[4]), flags[5] or ""
        end = flags.end()
    return _read_body(text, end, spec)


def _read_body(text: str, at: int, spec: Spec) -> tuple[Spec, int]:
    sign = text[at : at + 1]
    if sign not in (":", "=", "~"):
        return spec, at
    spec.mark = sign
    at += 1
    if sign == ":" or text.startswith('"', at):
        end = cell_end(text, at, inside=True, tagged=True)
        spec.quoted = text.startswith('"', at)
    else:
        found = _TEMPLATE.match(text, at)
        end = found.end() if found else at
    spec.body = text[at:end]
    return spec, end
