"""Queries about an archived text: lines, counts, matches of a regular expression, or a jq or JSONPath expression."""

from __future__ import annotations

from brim.query.answering import query
from brim.query.expression import parse

__all__ = ["parse", "query"]
