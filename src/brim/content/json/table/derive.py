"""Finds values that don't need to be written: constants, texts composed of other fields, usual values.

Most of a REST payload is URLs composed of the fields beside them. A template is guessed from a few rows and
checked against all; rows that it doesn't fit keep their own cell.

Example: login [a, b], url [https://x/a, https://x/b] -> url=https://x/{login}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from operator import ne

from brim.content.json.identifiers import names_something
from brim.content.json.table.columns import NONE, Absent, Field, Hole
from brim.content.json.table.shape import ENTRY
from brim.content.json.wrapping import unwrap_base64

Parts = list[str | Field | Hole]
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_REF = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*\*?|\*)\}")
_SOURCE_KINDS = ({str}, {int}, {str, NONE}, {int, NONE})
_LONG_BASE64 = 200
_MIN_TARGET = 8
_MOST_FIELDS = 400


def hoist(fields: list[Field], rows: int) -> None:
    """Mark the columns with the same value in all rows."""
    for one in fields:
        if one.scalar and not one.optional and len(one.kinds) == 1:
            first = one.values[0]
            if rows == 1 or (one.values[-1] == first and one.values.count(first) == rows):
                one.mark, one.constant = ":", True


def derive(fields: list[Field], rows: int, key: str) -> None:
    """Mark the columns that follow from others; `key` is a column that must stay unchanged."""
    names = Names(fields)
    samples = sorted({0, rows // 2, rows - 1})
    order = [one for one in fields if one.scalar and one.kinds in _SOURCE_KINDS]
    if len(order) > _MOST_FIELDS:
        return  # an object with that many keys is data; its fields aren't composed of each other
    order.sort(key=lambda one: len(one.texts[0] or ""))
    sources: list[Field | Hole] = []
    for one in order:
        if one.kinds == {str} and _repeats_entry(one, fields[0]):
            one.mark, one.template = "=", [fields[0]]
        elif str in one.kinds and not (one.key == key and len(one.path) == 1):
            _derive_text(one, sources, samples, names)
        elif one.kinds == {int} and one.mark == "" and not names_something(one.key):
            _copy(one, sources)
        if one.hole is not None:
            sources.append(one.hole)
        if _SIMPLE_KEY.match(one.key) and not one.wrap:
            sources.append(one)
    if rows > 2:
        for one in fields:
            if one.scalar and one.mark == "" and not one.optional and one.key != key:
                _usual(one, rows)


def _repeats_entry(one: Field, first: Field) -> bool:
    """Whether a column repeats the keys of a map's entries."""
    return first.key is ENTRY and one is not first and one.values == first.values


class Names:
    """The names of fields in templates: a field's key within the same object, else its path."""

    def __init__(self, fields: list[Field]) -> None:
        self._by_path = {"*" if one.key is ENTRY else ".".join(one.path): one for one in fields}

    def resolve(self, prefix: tuple[str, ...], name: str) -> Field | None:
        near = self._by_path.get(".".join((*prefix, name)))
        return near if near is not None else self._by_path.get(name)

    def name(self, target: Field, source: Field | Hole) -> str | None:
        """Return the name, or None if it would be misread."""
        one = source.of if isinstance(source, Hole) else source
        prefix = target.path[:-1]
        text = one.key if one.path[:-1] == prefix else ".".join(one.path)
        if self.resolve(prefix, text) is not one:
            return None
        return text + "*" if isinstance(source, Hole) else text

    def write(self, target: Field, parts: Parts) -> str | None:
        """Return a template's text, or None if it would not parse back into these parts."""
        texts = []
        for part in parts:
            if isinstance(part, str):
                names = _REF.findall(part)
                if "{}" in part or any(self.resolve(target.path[:-1], name.rstrip("*") or name) for name in names):
                    return None
                texts.append(part)
            else:
                name = self.name(target, part)
                if name is None:
                    return None
                texts.append(f"{{{name}}}")
        return "".join(texts)


def _derive_text(one: Field, sources: list[Field | Hole], samples: list[int], names: Names) -> None:
    values = one.values
    first = next((values[at] for at in samples if type(values[at]) is str), None)
    if first is None or len(first) < _MIN_TARGET:
        return
    if one.mark == ":":
        _derive_constant(one, sources, names)
        return
    wrapped = None
    if first[-1] == "=" or len(first) % 4 == 0:
        wrapped = _unwrap_base64(one, sources, samples, names)
    if wrapped or names_something(one.key):
        return
    at = [row for row in samples if type(values[row]) is str]
    parts = infer(values, sources, at)
    if parts is not None and _accept(one, parts, names):
        return
    if len(values) > 1 and "/" in first:
        _bore(one, parts, names)


def _derive_constant(one: Field, sources: list[Field | Hole], names: Names) -> None:
    """Shorten a constant by referring to the constants beside it."""
    text = one.values[0]
    constant = [source for source in sources if isinstance(source, Field) and source.constant]
    if len(text) >= _LONG_BASE64 or text[-1] == "=":
        found = unwrap_base64(text)
        if found is not None:
            parts = infer([found[1]], constant, [0], 3)
            if len(text) >= _LONG_BASE64:
                one.wrap, one.values = found[0], [found[1]] * len(one.values)
                return
            if parts is not None and names.write(one, parts) is not None:
                one.wrap, one.mark, one.template = found[0], "=", parts
                return
    if names_something(one.key):
        return
    parts = infer(one.values[:1], constant, [0], 3)
    if parts is None:
        return
    written = names.write(one, parts)
    if written is not None and len(written) + 1 < len(text):
        one.mark, one.template = "=", parts


def _unwrap_base64(one: Field, sources: list[Field | Hole], samples: list[int], names: Names) -> bool:
    """Decode base64 of long texts, or of ids that are composed of the fields beside them."""
    plain: list[str | None] = []
    styles = set()
    for value in one.values:
        if type(value) is not str:
            plain.append(None)
            continue
        found = unwrap_base64(value)
        if found is None:
            return False
        styles.add(found[0])
        plain.append(found[1])
    if len(styles) != 1 or NONE in one.kinds:
        return False
    parts = infer(plain, sources, samples)
    if parts is not None and names.write(one, parts) is not None and expand(parts, len(plain)) == plain:
        one.wrap, one.mark, one.template = styles.pop(), "=", parts
        return True
    if min(len(value) for value in one.values) >= _LONG_BASE64:
        one.wrap, one.values = styles.pop(), list(plain)
        return True
    return False


def infer(
    values: Sequence[str | None], sources: Sequence[Field | Hole], samples: list[int], shortest: int = 1
) -> Parts | None:
    """Return the first sample's text as a template of the sources that all samples contain, or None without any."""
    first = samples[0]
    base = values[first]
    if base is None:
        return None
    others = samples[1:]
    hits: list[tuple[str, Field | Hole]] = []
    for source in sources:
        texts = source.texts
        text = texts[first]
        if text is None or len(text) < shortest or text not in base:
            continue
        if all((texts[row] or "\0") in (values[row] or "") for row in others):
            hits.append((text, source))
    if not hits:
        return None
    hits.sort(key=lambda hit: -len(hit[0]))
    parts: Parts = [base]
    for text, source in hits:
        if any(isinstance(part, str) and text in part for part in parts):
            parts = [piece for part in parts for piece in _split(part, text, source)]
    return parts if len(parts) > 1 or not isinstance(parts[0], str) else None


def _split(part: str | Field | Hole, text: str, source: Field | Hole) -> Parts:
    """Split a literal where `text` occurs as a separate word."""
    if not isinstance(part, str):
        return [part]
    pieces: Parts = []
    start = at = 0
    while (at := part.find(text, at)) >= 0:
        end = at + len(text)
        if (at and part[at - 1].isalnum() and text[0].isalnum() and part[at - 1].isdigit() == text[0].isdigit()) or (
            end < len(part) and part[end].isalnum() and text[-1].isalnum()
        ):
            at += 1
            continue
        if at > start:
            pieces.append(part[start:at])
        pieces.append(source)
        start = at = end
    if start < len(part):
        pieces.append(part[start:])
    return pieces


def expand(parts: Parts, rows: int) -> list[str | None]:
    """Return the texts that a template produces; None where a source has none."""
    columns: list[list[str | None]] = [[part] * rows if isinstance(part, str) else part.texts for part in parts]
    if len(columns) == 1:
        return columns[0]
    if any(None in column for column in columns):
        return [None if None in row else "".join(row) for row in zip(*columns, strict=True)]
    return list(map("".join, zip(*columns, strict=True)))


def _accept(one: Field, parts: Parts, names: Names) -> bool:
    """Use a template if it fits all rows, or most of them and saves enough."""
    if names.write(one, parts) is None:
        return False
    made = expand(parts, len(one.values))
    wrong = sum(map(ne, made, one.values))
    if wrong == 0:
        one.mark, one.template = "=", parts
        return True
    if Absent in one.kinds or len(one.values) < 4 or wrong * 5 > len(one.values) * 2:
        return False
    one.mark, one.template = "~", parts
    one.blank = [text == value for text, value in zip(made, one.values, strict=True)]
    return True


def _copy(one: Field, sources: list[Field | Hole]) -> None:
    """Mark a column of numbers that equals an earlier one."""
    if len(one.values) < 2:
        return
    for source in sources:
        if isinstance(source, Field) and source.kinds == {int} and source.values == one.values:
            if source.path[:-1] == one.path[:-1] and source.mark != ":":
                one.mark, one.template = "=", [source]
            return


def _bore(one: Field, parts: Parts | None, names: Names) -> None:
    """Leave only differences in the cells, without the common beginning, and the common end after the last source."""
    texts = [value for value in one.values if type(value) is str]
    if len(texts) != len(one.values) or Absent in one.kinds:
        return
    start = _common_start(min(texts), max(texts))
    start = start[: _border(start)]
    tail: Parts = []
    stems = [text[len(start) :] for text in texts]
    if parts is not None and len(parts) > 1:
        stems, tail = _cut_tail(stems, parts)
    backwards = [stem[::-1] for stem in stems]
    end = _common_start(min(backwards), max(backwards))
    end = end[: _border(end)][::-1]
    if end:
        stems = [stem[: -len(end)] for stem in stems]
    saved = len(start) + len(end) + sum(len(part) if isinstance(part, str) else 6 for part in tail)
    if saved < 12 or "{}" in start or "{}" in end or any("{}" in p for p in tail if isinstance(p, str)):
        return
    hole = Hole(one, list(stems))
    literal_end: Parts = [end] if end else []
    whole: Parts = [*([start] if start else []), hole, *literal_end, *tail]
    if names.write(one, [part for part in whole if part is not hole]) is not None:
        one.mark, one.template, one.hole = "=", whole, hole


def _cut_tail(stems: list[str], parts: Parts) -> tuple[list[str], Parts]:
    """Remove the last source, and the literal after it, from every stem if all stems have it."""
    keep = parts[-2:] if isinstance(parts[-1], str) else parts[-1:]
    source = keep[0]
    if isinstance(source, str):
        return stems, []
    behind = keep[1] if len(keep) > 1 and isinstance(keep[1], str) else ""
    tails = [None if text is None else text + behind for text in source.texts]
    if any(tail is None or not stem.endswith(tail) for stem, tail in zip(stems, tails, strict=True)):
        return stems, []
    return [stem[: -len(tail or "")] for stem, tail in zip(stems, tails, strict=True)], keep


def _common_start(one: str, other: str) -> str:
    """Return the common prefix of two texts. The prefix of the smallest and the largest of many is common to all."""
    for at, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return one[:at]
    return min(one, other, key=len)


def _border(text: str) -> int:
    """Return the length of `text` up to its last character other than a letter or digit."""
    at = len(text)
    while at and text[at - 1].isalnum():
        at -= 1
    return at


def _usual(one: Field, rows: int) -> None:
    """Let a blank cell represent the most common value."""
    if len(one.kinds) > 3:
        return
    counts = Counter(zip(map(type, one.values), one.values, strict=True))
    (kind, value), count = counts.most_common(1)[0]
    if kind is NONE or count * 2 < rows or count < 2 or (isinstance(value, str) and "{" in value):
        return
    one.mark, one.default = "~", value
    one.blank = [type(each) is kind and each == value for each in one.values]
