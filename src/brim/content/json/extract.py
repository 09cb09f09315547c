"""Extracts of JSON: the most important content that fits a room.

Returns the lossless form if it fits, else the page: see `page.py`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from brim.content import plain_text
from brim.content.documents import notebook
from brim.content.json.exact import NotExact, load
from brim.content.json.forms import dense
from brim.content.json.lines import load_lines
from brim.content.json.page import page
from brim.content.json.table.shape import NestedTooDeep
from brim.content.selection import fits
from brim.content.types import Room

_WORTH_DENSE = 40  # the most characters of JSON that one token of the dense form can represent
_LARGE = 4_000_000


def extract(text: str, room: Room) -> str:
    """Return at most room.tokens tokens of a JSON text.

    Example: 1,000 issues in 300 tokens -> their numbers and titles as rows, `[… 940 of 1,000 rows …]`
    """
    if fits(text, room):
        return text
    whole = dense(text) if room.tokens * _WORTH_DENSE > len(text) else None
    if whole is not None and room.fits(whole):
        return whole
    try:
        value = _load(text)
        found = notebook.page(value, room) if notebook.is_notebook(value) else page(value, room)
    except (ValueError, NestedTooDeep, RecursionError, msgspec.MsgspecError):
        found = None
    return plain_text.extract(text, room) if found is None else found


def _load(text: str) -> Any:
    if len(text) > _LARGE:
        return msgspec.json.decode(text)  # an extract of that much needn't keep the spelling of floats
    try:
        return load(text).value
    except NotExact:
        raise
    except ValueError:
        return load_lines(text).value
