"""Extracts the values of a content with their names: keys of JSON, labels of lines, headers of tables.

No rule depends on the name of a key. In a text, keys and values are recognized by notation: `label: value` on its own
line or between bars, `key="value"` anywhere, the cells below a table's header, and JSON that was printed inside
something else or cut off before its end.

Example: "- tool_name: search\\n  **Order IDs**: 17, 18" -> tool_name: search; Order IDs: 17, 18
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

# A text up to this length without line breaks is a name, a code, a state or a date.
NAME = 48
# Values are chosen in this order: at the top, likely to be needed by calls, codes of letters and digits, other words
# with digits (dates, postal codes, addresses), names, numbers, sentences, flags. Values kept of tau at 25%, tuned half,
# fit / session: .87 / .87, and .84 / .82 with codes and dates alike (bench/meaning.py).
TOP, USED, CODE, DATE, WORDS, NUMBER, LATE, FLAG = range(-1, 7)
# Values at the top of a result are chosen first if they take at most this share of its text, because they then say what
# the lists and records beside them belong to. Values kept at 25%, tuned half, fit / session: BFCL .94 / .93, without it
# .79 / .74; tau .89 / .88 with and without it, .87 / .85 at 0.1 (bench/meaning.py).
TOP_PART = 0.05
# The most leaves to read, and the most characters of a text that isn't JSON.
MOST, CHARACTERS = 20_000, 200_000
# Printed or cut JSON is read as JSON if its keys and values make up at least this share of it.
LIKE_JSON = 0.3
# A key and a value of one word anywhere in a text: `status=open`, `"id": "A-1"`, `{mode: 'fast'}`.
_PAIR = re.compile(
    r"([A-Za-z_][\w.-]{0,40})[\"'`]?\s?[:=]\s?"
    r"(?:\"([^\s\"]{2,48})\"|'([^\s']{2,48})'|`([^\s`]{2,48})`"
    r"|([^\s\"',;:()\[\]{}=]{2,48})[\"')\]}]*(?=[,;\n]|\s+\S+[:=]|$))"
)
# The label of a line, or of a part between bars: `- **Order ID:** 17`, `2. Name: Ann`, `URL: https://…`.
_LABELLED = re.compile(
    r"[\s>]*(?:[-*•]\s+)?(?:\d{1,5}[.)]\s+)?[*_`\"']{0,3}([^\W\d][\w ./-]{0,39}?)"
    r"[*_`\"']{0,3}\s?[:：][*_`\"']{0,3}\s+(\S.*)"
)
_BARS = re.compile(r"\s+\|\s+")
_ROW = re.compile(r"\s*\|(.+)\|\s*$")
_RULE = re.compile(r"[\s|:+-]+$")
_BREAK, _QUOTE = re.compile(r"\\+[nrt]"), re.compile(r"\\+([\"'/])")
# A key, a text or a number that ends like a JSON value, or a bracket of an object or list.
_TOKEN = (
    r"{q}([^{q}\n]{{1,60}}){q}\s*:\s*|{q}([^{q}\n]{{0,400}}){q}(?=\s*(?:[,}}\]]|$))"
    r"|(?<=[\s:,\[])(-?(?:0|[1-9]\d*)(?:\.\d+)?)(?=\s*[,}}\]])|([\[\]{{}}])"
)
_TOKENS = {quote: re.compile(_TOKEN.format(q=quote)) for quote in "\"'"}


@dataclass(slots=True)
class KeyedField:
    """A key and its values."""

    key: str
    order: int
    values: list[str] = field(default_factory=list)
    rank: int = 0
    whole: list[str] = field(default_factory=list)  # the same values at full length
    path: str = ""  # the keys that lead to it


def folded(key: str) -> str:
    """The normalized form of a key, for comparisons. Example: "orderId", "order_ids", "Order ID" -> orderid"""
    return "".join(filter(str.isalnum, key)).casefold().removesuffix("s")


def of_json(value: Any, size: int, used: Container[str] = ()) -> list[KeyedField]:
    """The fields of a JSON value that has this many characters; those under a `used` key are chosen early."""
    fields = _once(_grouped(_leaves(value), used))
    _top_first(fields, value, size)
    return fields


def of_cut_json(text: str, used: Container[str] = ()) -> list[KeyedField] | None:
    """The fields of JSON that was printed inside a text or cut off; None for any other text.

    Example: text='{\\"rows\\": [{\\"id\\": \\"A-1\\", \\"na -> id: A-1
    """
    text = unescaped(text)
    found, covered, key = list[tuple[str, Any]](), 0, ""
    keys: list[str] = []
    named: set[str] = set()
    for match in _TOKENS['"' if text.count('"') >= text.count("'") else "'"].finditer(text):
        name, string, number, bracket = match.groups()
        covered += match.end() - match.start()
        if name is not None:
            key = name
            named.add(name)
        elif bracket and bracket in "[{":
            keys.append(key)
        elif bracket:
            key = keys.pop() if keys else ""
        elif key:
            found.append((key, json.loads(number) if number else string))
        if len(found) > MOST:
            break
    if len(named) < 2 or covered < LIKE_JSON * len(text):
        return None
    # A word that only names the key with the content, as in `"type": "text"`, adds nothing.
    return _once(_grouped([(key, value) for key, value in found if value not in named], used))


def of_text(text: str, used: Container[str] = ()) -> list[KeyedField]:
    """The fields of labelled lines and tables, and the one-word values under a `used` key anywhere in a text."""
    text = unescaped(text)
    return _grouped([*_labelled(text), *_pairs(text, used)], used)


def unescaped(text: str) -> str:
    """A text with string escapes undone, as far as it is read. Example: a\\\\nb -> a, b"""
    text = text[:CHARACTERS]
    return _QUOTE.sub(r"\1", _BREAK.sub("\n", text)) if "\\" in text else text


def _pairs(text: str, used: Container[str]) -> Iterator[tuple[str, str]]:
    for match in _PAIR.finditer(text):
        if folded(match[1]) in used:
            yield match[1], next(each for each in match.groups()[1:] if each)


def _labelled(text: str) -> Iterator[tuple[str, str]]:
    header: list[str] = []
    for line in text.split("\n"):
        row = _ROW.match(line[:2_000])
        if row is None:
            header = []
            for piece in _BARS.split(line[:2_000]) if " | " in line else [line[:2_000]]:
                match = _LABELLED.match(piece)
                if match is not None and len(match[1].split()) <= 4:
                    yield from ((match[1], value) for value in _listed(match[2]))
            continue
        cells = [cell.strip(" *_`") for cell in row[1].split("|")]
        if not header:
            header = cells
        elif not _RULE.match(line) and len(cells) == len(header):
            yield from zip(header, cells, strict=True)


def _listed(text: str) -> list[str]:
    """The values after a label: several short ones between commas, or the whole text. Example: "17, 18" -> 17, 18"""
    text = text.strip().strip("*_`\"'").rstrip(",;")
    values = [value.strip().strip("\"'`") for value in text.strip("[]").split(",")]
    short = len(values) > 1 and all(value and " " not in value and len(value) <= NAME for value in values)
    return values if short else [text]


def _grouped(leaves: Iterable[tuple[str, Any]], used: Container[str]) -> list[KeyedField]:
    found: dict[str, KeyedField] = {}
    for path, leaf in leaves:
        rank, text = _shown(leaf)
        if not text:
            continue
        one = found.setdefault(path, KeyedField(path.rpartition("\0")[2], len(found), rank=rank, path=path))
        one.rank = max(one.rank, rank)
        one.values.append(text)
    for one in found.values():
        if one.rank < LATE and folded(one.key) in used:
            one.rank = USED
        if len(set(one.values)) == 1 or one.rank <= DATE:
            one.values = list(dict.fromkeys(one.values))
    return list(found.values())


def _top_first(fields: list[KeyedField], value: Any, size: int) -> None:
    """Put the fields of the result itself first, if nearly all of it is lists and records.

    Example: {"id": "3426812", "history": {…}} -> id before what any record of the history holds
    """
    if not isinstance(value, dict):
        return
    scalars = {key for key, inner in value.items() if not isinstance(inner, (dict, list))}
    top = [one for one in fields if one.path in scalars and one.rank < LATE]
    if sum(len(f"; {one.key}: {one.values[0]}") for one in top) <= TOP_PART * size:
        for one in top:
            one.rank = TOP


def _once(fields: list[KeyedField]) -> list[KeyedField]:
    """The fields without codes repeated from an earlier field; a record's key is often its id too."""
    said: set[str] = set()
    found = []
    for one in fields:
        values = [value for value in one.values if one.rank > DATE or value not in said]
        said.update(one.values if one.rank <= DATE else ())
        if values:
            found.append(replace(one, values=values))
    return found


def _leaves(value: Any) -> Iterable[tuple[str, Any]]:
    """Every leaf with its keys, in order. List indexes aren't keys, and a key that is data is a value too.

    A word that only names the key with the content, as in `"type": "text"`, is left out.
    """
    waiting: list[tuple[str, Any]] = [("", value)]
    seen = 0
    while waiting and seen < MOST:
        path, inner = waiting.pop()
        if isinstance(inner, dict):
            if _by_id(inner):
                for key in inner:
                    seen += 1
                    yield path, key
                waiting += reversed([(path, each) for each in inner.values() if isinstance(each, (dict, list))])
            else:
                said = [(key, each) for key, each in inner.items() if not (isinstance(each, str) and each in inner)]
                waiting += reversed([(f"{path}\0{key}" if path else key, each) for key, each in said])
        elif isinstance(inner, list):
            waiting += reversed([(path, each) for each in inner])
        else:
            seen += 1
            yield path, inner


def _by_id(value: dict[str, Any]) -> bool:
    """Whether the keys of an object are data, because it maps names to records of one shape."""
    inner = list(value.values())
    if len(inner) < 2 or not all(isinstance(each, dict) and each for each in inner):
        return False
    shared = set(inner[0]).intersection(*inner[1:8])
    return len(shared) * (3 if len(inner) > 2 else 2) >= len(inner[0])


def _shown(leaf: Any) -> tuple[int, str]:
    """The rank of a value and its text, which is empty if the value says nothing."""
    if leaf is None or leaf is False or leaf == "":
        return FLAG, ""
    if leaf is True:
        return FLAG, "true"
    if isinstance(leaf, (int, float)):
        return NUMBER, json.dumps(leaf)
    if len(leaf) > NAME:
        return LATE, leaf
    line = " ".join(leaf.split())
    if " " in line or not any(map(str.isdigit, line)):
        return WORDS, line
    return (CODE if "@" not in line and any(map(str.isalpha, line)) else DATE), line
