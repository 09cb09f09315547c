"""A JSON result as one line of keyed values, for a reader who has no room for the result itself.

Values follow their keys. Unguessable codes go before names, names before numbers, numbers before sentences; values that
are empty, false or repeated are left out.

Example: {"id": "A1", "rows": [{"sku": "x", "n": 2}, {"sku": "y", "n": 3}]} -> id: A1; sku: x, y; n: 2, 3
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from typing import Any

from brim.content.json.page import opened
from brim.content.keyed_values import NAME, USED, WORDS, KeyedField, of_cut_json, of_json, of_text
from brim.content.plain_text import extract
from brim.content.record_list import is_record_list
from brim.content.selection import shares
from brim.content.types import Room
from brim.count_text import CountText

# Characters to show of a longer text.
SENTENCE = 160
_WORD = re.compile(r"[^\s\"',;:()\[\]{}=]+")
# This many values of a longer list come first, the rest with the names. BFCL at 25%, tuned half: .90, without it .88.
FEW, REST = 6, WORDS
# No field fits in fewer tokens than this.
LEAST = 4
ATTEMPTS = 4
# The most words in a name: "Object IDs: 17", "city: New York".
NAME_WORDS = 2


def words_of(text: str) -> set[str]:
    """The words of a text as values are written in JSON or in a line. Example: 'id: "A-1", n: 2' -> {id, A-1, n, 2}"""
    return set(_WORD.findall(text))


def keyed(text: str, tokens: int, count: CountText, said: Container[str] = (), used: Container[str] = ()) -> str | None:
    """The values of a JSON text in at most this many tokens; None if it isn't JSON or holds only a text.

    JSON that was printed inside another text, or cut off before its end, is read as far as possible. Values already
    in `said` are left out if there are others. Values under a `used` key come first.
    """
    value = _json(text)
    if value is None:
        fields = of_cut_json(text, used)
        return None if fields is None else _line(fields, tokens, count, said)
    if isinstance(opened(value)[0], str):
        return None  # an envelope around a text; the text's own compactor shortens it
    return _line(of_json(_opened(value), len(text), used), tokens, count, said)


def labelled(
    text: str, tokens: int, count: CountText, said: Container[str] = (), used: Container[str] = ()
) -> str | None:
    """The labels of a list of records with their values, formatted like `keyed`; None for any other text.

    Example: "- name: read_page\n  about: Reads one\n- name: find_page\n …" -> name: read_page, find_page; about: …
    """
    text = _told(text)
    return _line(of_text(text, used), tokens, count, said) if is_record_list(text) else None


def with_values(
    text: str,
    tokens: int,
    count: CountText,
    used: Container[str],
    said: Container[str],
    extract: Callable[[int], str],
    most: int | None = None,
) -> str:
    """An extract of a text, after the values under `used` keys that the extract omits.

    These values take at most `most` tokens, by default half of all.
    """
    made = extract(tokens)
    named = [one for one in of_text(_told(text), used) if one.rank == USED] if used else []
    shown = words_of(made)
    named = [replace(one, values=[v for v in dict.fromkeys(one.values) if _names(v, shown, said)]) for one in named]
    line = _written(_chosen([one for one in named if one.values], tokens // 2 if most is None else most, count))
    if not line:
        return made
    return f"{line}; {extract(tokens - count(line) - 2)}"


def _names(value: str, shown: Container[str], said: Container[str]) -> bool:
    """Whether a value under a key is a name or a code, rather than a sentence, that isn't there yet."""
    return len(value.split()) <= NAME_WORDS and value not in shown and value not in said


def _line(fields: list[KeyedField], tokens: int, count: CountText, said: Container[str]) -> str:
    """The fields that fit, on one line; the beginning of the first if none fits."""
    fresh = [replace(one, values=[each for each in one.values if each not in said]) for one in fields]
    fields, room = [one for one in fresh if one.values] or fields, tokens
    best = ""
    for _ in range(ATTEMPTS):
        chosen = _chosen(fields, room, count)
        if not chosen:
            break
        line = _written(chosen)
        left = tokens - count(line)
        if left >= 0 and len(line) > len(best):
            best = line
        if 0 <= left < LEAST or (left > 0 and line != best):
            break
        room += left or -1  # values counted one by one add up to something else than together
    if best:
        return best
    first = min(fields, key=lambda one: (one.rank, one.order), default=None)
    return "" if first is None else head_of(" ".join(first.values[0].split()), tokens, count)


def head_of(text: str, tokens: int, count: CountText) -> str:
    """The first words of a text, as many as fit. Example: head_of("Failed to load the page", 3) -> Failed to…"""
    if len(text) <= 8 * tokens and count(text) <= tokens:
        return text
    words = text[: 8 * max(0, tokens)].split(" ")
    while words and count(" ".join(words) + "…") > tokens:
        words = words[: min(len(words) - 1, len(words) * 3 // 4)]
    return " ".join(words) + "…" if words else ""


def _json(text: str) -> Any:
    """The object or list that a text encodes; None for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) and value else None


def _told(text: str) -> str:
    """The text inside a JSON envelope; any other text unchanged."""
    inside = opened(value)[0] if (value := _json(text)) is not None else text
    return inside if isinstance(inside, str) else text


def _written(fields: list[KeyedField]) -> str:
    return "; ".join(f"{one.key}: {', '.join(one.values)}" if one.key else ", ".join(one.values) for one in fields)


def _opened(value: Any) -> Any:
    """The content of an envelope: `{"content": [{"type": "text", "text": "{…}"}]}` is read as the JSON inside it."""
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


def _chosen(fields: list[KeyedField], tokens: int, count: CountText) -> list[KeyedField]:
    """As many fields as fit, chosen by rank, in their own order; a field that doesn't fit keeps as many values as do.

    Long texts are shortened first, and then get the room that is left.
    """
    left = tokens
    kept: dict[int, KeyedField] = {}
    for one in sorted(_in_two(fields), key=lambda each: (each.rank, each.order)):
        before = kept.get(one.order)
        if before is not None and len(before.values) < FEW:
            continue  # its first values didn't fit
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


def _in_two(fields: list[KeyedField]) -> Iterable[KeyedField]:
    """Split the first values from long fields, so that one list doesn't take all the room."""
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


def _lengthen(kept: list[KeyedField], left: int, count: CountText) -> None:
    """Divide the remaining room among the long texts: short ones become whole, the others get equal shares."""
    long = [
        (one, at) for one in kept for at, value in enumerate(one.values) if value.endswith("…") and len(value) > NAME
    ]
    before = [count(one.values[at]) for one, at in long]
    wanted = [count(one.whole[at]) - size for (one, at), size in zip(long, before, strict=True)]
    for (one, at), size, more in zip(long, before, shares(wanted, left), strict=True):
        if more > 0:
            one.values[at] = extract(one.whole[at], Room(size + more, count))
