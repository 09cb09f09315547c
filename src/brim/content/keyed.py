"""A JSON result as one line of keyed values: what it holds, for a reader who has no room for the result itself.

Values stand beside their keys. Codes, which nobody could guess, go before names, names before numbers, numbers before
sentences; what is empty, false or said elsewhere is left out.

Example: {"id": "A1", "rows": [{"sku": "x", "n": 2}, {"sku": "y", "n": 3}]} -> id: A1; sku: x, y; n: 2, 3
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from brim.content.json.page import opened
from brim.content.plain_text import extract
from brim.content.selection import shares
from brim.content.types import Room

# A text of at most so many characters without line breaks is a name, a code, a state or a date.
NAME = 48
# What is shown of a longer text.
SENTENCE = 160
_WORD = re.compile(r"[^\s\"',;:()\[\]{}=]+")
# What is chosen first: what stands at the top, what calls are likely to need, codes of letters and digits, other words
# with digits (dates, postal codes, addresses), names, numbers, sentences, flags. Values kept of tau at 25%, tuned half,
# fit / session: .87 / .87 so, .84 / .82 with codes and dates alike (bench/meaning.py).
TOP, USED, CODE, DATE, WORDS, NUMBER, LATE, FLAG = range(-1, 7)
# What stands at the top of a result is chosen first where it takes at most this part of its text: then it says what
# the lists and records beside it belong to. Values kept at 25%, tuned half, fit / session: BFCL .94 / .93 so, .79 / .74
# without; tau .89 / .88 so and without, .87 / .85 at 0.1 (bench/meaning.py).
TOP_PART = 0.05
# Of a longer list so many values come first and the rest with the names. BFCL at 25%, tuned half: .90 so, .88 without.
FEW, REST = 6, WORDS
# A key and a value of one word in a text: `- tool_name: search`, `status=open`, `"id": "A-1"`.
_PAIR = re.compile(
    r"([A-Za-z_][\w.-]*)[\"'\\]*\s?[:=]\s?[\"'\\]*([^\s\"',;:()\[\]{}=\\]{2,48})[\"'\\)\]}]*(?=[,;\n]|\s+\S+[:=]|\\n|$)"
)
# In fewer tokens than this no field fits.
LEAST = 4
ATTEMPTS = 4
# No more leaves than this are looked at.
MOST = 20_000


@dataclass(slots=True)
class _Field:
    key: str
    order: int
    values: list[str] = field(default_factory=list)
    rank: int = 0
    whole: list[str] = field(default_factory=list)  # the same values at full length
    path: str = ""  # the keys that lead to it


def folded(key: str) -> str:
    """A key in the one spelling that keys are compared in. Example: "orderId", "order_id" -> orderid"""
    return "".join(filter(str.isalnum, key)).casefold()


def words_of(text: str) -> set[str]:
    """The words of a text as values are written in JSON or in a line. Example: 'id: "A-1", n: 2' -> {id, A-1, n, 2}"""
    return set(_WORD.findall(text))


def keyed(
    text: str, tokens: int, count: Callable[[str], int], said: Container[str] = (), used: Container[str] = ()
) -> str | None:
    """The values of a JSON text in at most so many tokens; None where it is no JSON, or holds only a text.

    Values that are `said` already are left out while others are there. Values under a `used` key come first.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, (dict, list)) or not value:
        return None
    if isinstance(opened(value)[0], str):
        return None  # an envelope around a text, which its own compactor shortens
    value = _opened(value)
    fields = _once(_fields(value, used))
    _top_first(fields, value, len(text))
    fresh = [replace(one, values=[each for each in one.values if each not in said]) for one in fields]
    fields, room = [one for one in fresh if one.values] or fields, tokens
    for _ in range(ATTEMPTS):
        line = _written(_chosen(fields, room, count))
        over = count(line) - tokens
        if over <= 0:
            return line
        room -= over + 1  # values counted one by one come to a little less than together
    return ""


def named_values(text: str, used: Container[str], said: Container[str] = ()) -> list[_Field]:
    """The one-word values that stand under a `used` key in a text that is no JSON, in order.

    Example: "- tool_name: search\n  about: Finds a page", {"toolname"} -> tool_name: search
    """
    found: dict[str, _Field] = {}
    for match in _PAIR.finditer(text):
        key, value = match.group(1), match.group(2)
        if folded(key) in used and value not in said:
            one = found.setdefault(folded(key), _Field(key, len(found)))
            if value not in one.values:
                one.values.append(value)
    return list(found.values())


def with_values(
    text: str,
    tokens: int,
    count: Callable[[str], int],
    used: Container[str],
    said: Container[str],
    extract: Callable[[int], str],
    most: int | None = None,
) -> str:
    """What `extract` makes of a text in so many tokens, after the values under `used` keys that it leaves out.

    These take at most `most` tokens, half of all if nothing is said.
    """
    made = extract(tokens)
    left_out = named_values(text, used, said) if used else []
    shown = words_of(made)
    left_out = [replace(one, values=[each for each in one.values if each not in shown]) for one in left_out]
    line = _written(_chosen([one for one in left_out if one.values], tokens // 2 if most is None else most, count))
    if not line:
        return made
    return f"{line}; {extract(tokens - count(line) - 2)}"


def _written(fields: list[_Field]) -> str:
    return "; ".join(f"{one.key}: {', '.join(one.values)}" if one.key else ", ".join(one.values) for one in fields)


def _opened(value: Any) -> Any:
    """What an envelope holds: `{"content": [{"type": "text", "text": "{…}"}]}` is read as the JSON inside it."""
    for _ in range(4):
        inner = _only(value)
        if inner is value:
            return value
        value = inner
    return value


def _only(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], (dict, list)):
        return value[0]
    if isinstance(value, dict):
        holders = [inner for inner in value.values() if isinstance(inner, (dict, list)) and inner]
        texts = [
            inner for inner in value.values() if isinstance(inner, str) and inner[:1] in "{[" and len(inner) > NAME
        ]
        if len(texts) == 1 and not holders:
            try:
                return json.loads(texts[0])
            except (ValueError, RecursionError):
                return value
    return value


def _fields(value: Any, used: Container[str] = ()) -> list[_Field]:
    found: dict[str, _Field] = {}
    for path, leaf in _leaves(value):
        rank, text = _shown(leaf)
        if not text:
            continue
        one = found.setdefault(path, _Field(path.rpartition("\0")[2], len(found), rank=rank, path=path))
        one.rank = max(one.rank, rank)
        one.values.append(text)
    for one in found.values():
        if one.rank < LATE and folded(one.key) in used:
            one.rank = USED
        if len(set(one.values)) == 1 or one.rank <= DATE:
            one.values = list(dict.fromkeys(one.values))
    return list(found.values())


def _top_first(fields: list[_Field], value: Any, size: int) -> None:
    """Put first what a result of so many characters says of itself, where nearly all of it is lists and records.

    Example: {"id": "3426812", "history": {…}} -> id before what any record of the history holds
    """
    if not isinstance(value, dict):
        return
    scalars = {key for key, inner in value.items() if not isinstance(inner, (dict, list))}
    top = [one for one in fields if one.path in scalars and one.rank < LATE]
    if sum(len(f"; {one.key}: {one.values[0]}") for one in top) <= TOP_PART * size:
        for one in top:
            one.rank = TOP


def _once(fields: list[_Field]) -> list[_Field]:
    """The fields without codes that an earlier field says: a record's key is often its id too."""
    said: set[str] = set()
    found = []
    for one in fields:
        values = [value for value in one.values if one.rank > DATE or value not in said]
        said.update(one.values if one.rank <= DATE else ())
        if values:
            found.append(replace(one, values=values))
    return found


def _leaves(value: Any) -> Iterable[tuple[str, Any]]:
    """Every leaf with its keys, in order; list places are no keys, and a key that holds data is a value too."""
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
                waiting += reversed([(f"{path}\0{key}" if path else key, each) for key, each in inner.items()])
        elif isinstance(inner, list):
            waiting += reversed([(path, each) for each in inner])
        else:
            seen += 1
            yield path, inner


def _by_id(value: dict[str, Any]) -> bool:
    """Whether the keys of an object are data: it maps names of records to records of one shape."""
    inner = list(value.values())
    if len(inner) < 2 or not all(isinstance(each, dict) and each for each in inner):
        return False
    shared = set(inner[0]).intersection(*inner[1:8])
    return len(shared) * (3 if len(inner) > 2 else 2) >= len(inner[0])


def _shown(leaf: Any) -> tuple[int, str]:
    """How late a value is chosen, and its text; an empty text for what says nothing."""
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


def _chosen(fields: list[_Field], tokens: int, count: Callable[[str], int]) -> list[_Field]:
    """As many fields as fit, in their own order: by rank, of a field that does not fit as many values as do.

    Long texts are shortened first, and then get what is left over.
    """
    left = tokens
    kept: dict[int, _Field] = {}
    for one in sorted(_in_two(fields), key=lambda each: (each.rank, each.order)):
        before = kept.get(one.order)
        if before is not None and len(before.values) < FEW:
            continue  # its first values did not fit
        used = 0 if before else count(f"; {one.key}:") + 1
        values: list[str] = []
        for value in map(_start, one.values):
            used += count(f", {value}")
            if used > left:
                break
            values.append(value)
        if not values:
            continue
        whole = one.values[: len(values)]
        left -= sum(count(f", {value}") for value in values) + (0 if before else count(f"; {one.key}:") + 1)
        if before is not None:
            values, whole = [*before.values, *values], [*before.whole, *whole]
        kept[one.order] = replace(one, values=values, whole=whole)
        if left < LEAST:
            break
    chosen = sorted(kept.values(), key=lambda each: each.order)
    if left > SENTENCE // 4:
        _lengthen(chosen, left, count)
    total = {one.order: len(one.values) for one in fields}
    return [one if len(one.values) == total[one.order] else replace(one, values=[*one.values, "…"]) for one in chosen]


def _in_two(fields: list[_Field]) -> Iterable[_Field]:
    """Fields with their first values apart: one list must not take the room of everything else."""
    for one in fields:
        yield replace(one, values=one.values[:FEW])
        if len(one.values) > FEW:
            yield replace(one, values=one.values[FEW:], rank=max(one.rank, REST))


def _start(value: str) -> str:
    """The beginning of a long text. Example: a page -> its first words and …"""
    if len(value) <= NAME:
        return value
    line = " ".join(value[: 4 * SENTENCE].split())
    return line if len(line) <= SENTENCE else line[:SENTENCE].rsplit(" ", 1)[0] + "…"


def _lengthen(kept: list[_Field], left: int, count: Callable[[str], int]) -> None:
    """Give what is left over to the long texts: short ones whole, the others the same to each."""
    long = [
        (one, at) for one in kept for at, value in enumerate(one.values) if value.endswith("…") and len(value) > NAME
    ]
    before = [count(one.values[at]) for one, at in long]
    wanted = [count(one.whole[at]) - size for (one, at), size in zip(long, before, strict=True)]
    for (one, at), size, more in zip(long, before, shares(wanted, left), strict=True):
        if more > 0:
            one.values[at] = extract(one.whole[at], Room(size + more, count))
