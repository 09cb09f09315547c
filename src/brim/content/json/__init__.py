"""JSON: tables of similar objects, instead of the same keys over and over.

dense(text)          the smallest exact form: tables with templates, plain tables, or just without whitespace
simple(text)         the quick one: tables and constants
decode(text)         the JSON value of any of them, or of plain JSON
extract(text, room)  the most important content that fits a room
"""

from __future__ import annotations

from brim.content.json.extract import extract
from brim.content.json.forms import decode, dense, simple

__all__ = ["decode", "dense", "extract", "simple"]
