"""Detects the kind of a content, as a whole (`detect`) or part by part (`parts`)."""

from __future__ import annotations

from dataclasses import dataclass

from brim.content.detect.blocks import blocks
from brim.content.detect.by_content import Told
from brim.content.detect.hints import Hint, detect, told_with

__all__ = ["DetectedPart", "Hint", "Told", "detect", "parts", "told_with"]


@dataclass(frozen=True, slots=True)
class DetectedPart:
    """A part of a text, text[start:end], and its kind."""

    start: int
    end: int
    kind: str


def parts(text: str, hint: Hint | None = None) -> list[DetectedPart]:
    """A mixed text split into its parts, in order and without holes.

    Long strings inside a JSON part are left to the JSON compactor, which calls `detect` for each.

    Example: "The log:\\n```\\n2024-01-01 12:00:00 INFO …\\n```\\n" -> prose, log, prose
    """
    found: list[DetectedPart] = []
    at = 0
    for block in blocks(text):
        if block.start > at:
            found.append(DetectedPart(at, block.start, detect(text[at : block.start])))
        found.append(DetectedPart(block.start, block.end, block.kind))
        at = block.end
    if at < len(text) or not found:
        found.append(DetectedPart(at, len(text), detect(text[at:], hint if not found else None)))
    return found
