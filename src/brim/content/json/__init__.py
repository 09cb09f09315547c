"""JSON: tables of like objects instead of the same keys over and over.

dense(text)          the smallest exact form: tables with templates, plain tables, or just no blanks
simple(text)         the quick one: tables and constants
decode(text)         the JSON value of any of them, or of plain JSON
extract(text, room)  what a reader can least do without, in any room
"""

from __future__ import annotations

from brim.content.json.extract import extract
from brim.content.json.forms import decode, dense, simple

__all__ = ["decode", "dense", "extract", "simple"]
