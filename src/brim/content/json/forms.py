"""The lossless forms of a JSON text, and decoding them."""

from __future__ import annotations

import copy
import json
from typing import Any

from brim.content.json.exact import Loaded, NotExact, load, minify
from brim.content.json.lines import load_lines
from brim.content.json.table.emit import TableWriter
from brim.content.json.table.read import HEADED, Document, read
from brim.content.json.table.shape import NestedTooDeep
from brim.content.json.weigh import lightest
from brim.errors import NotDecodable
from brim.sized_lru import SizedLru

# The dense form is needed by itself and again whenever the text is shortened, so cache it.
_REMEMBERED = 1_000_000
_dense: SizedLru[str, tuple[str | None]] = SizedLru(4 * _REMEMBERED)


def dense(text: str) -> str | None:
    """Return the smallest form that decodes to an equal value, or None if that is the text itself."""
    known = _dense.get(text)
    if known is None:
        known = (_form(text, full=True),)
        if len(text) <= _REMEMBERED:
            _dense.put(text, known, len(text))
    return known[0]


def simple(text: str) -> str | None:
    """Return the form with tables and constants only, which is quick and never larger than the text."""
    return _form(text, full=False)


def decode(text: str) -> Any:
    """Return the JSON value of a form made by `dense`, or of plain JSON; for JSON Lines, the list of values.

    Example: decode("#brim json\\n%[](id)\\n1\\n2") -> [{"id": 1}, {"id": 2}]
    """
    if HEADED.match(text):
        document = Document(text)
        value = document.value()
        return copy.deepcopy(value) if document.shared else value
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        try:
            return load_lines(text).value
        except ValueError:
            raise NotDecodable(f"neither a table form nor JSON: {error}") from error


def _form(text: str, full: bool) -> str | None:
    lines = False
    try:
        loaded = load(text)
    except NotExact:
        return _fewer(minify(text), text) if _is_json(text) else None
    except ValueError:
        try:
            loaded, lines = load_lines(text), True
        except ValueError:
            return None
    if not isinstance(loaded.value, dict | list):
        return _fewer(minify(text), text)
    forms = [text] if len(loaded.minified) >= len(text) else [text, loaded.minified]
    best = lightest([*forms, *_tables(loaded, full, lines)])
    return None if best == text else best


def _tables(loaded: Loaded, full: bool, lines: bool) -> list[str]:
    """Return the table forms that provably decode; the plain one only if the full one saves little."""
    found = []
    for wanted in (True, False) if full else (False,):
        try:
            writer = TableWriter(loaded.value, wanted)
            table = writer.document("#brim jsonl" if lines else "#brim json")
            proven = loaded.proves(read(table))
        except (NestedTooDeep, NotDecodable, RecursionError):
            continue
        if proven:
            found.append(table)
            if len(table) * 5 < len(loaded.minified) * 3 or writer.is_simple:
                break
    return found


def _is_json(text: str) -> bool:
    """Whether Python can parse the text. The inexact part may come before the part that isn't JSON at all."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _fewer(new: str, old: str) -> str | None:
    return new if len(new) < len(old) and lightest([old, new]) is new else None
