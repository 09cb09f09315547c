"""Splits a Markdown document into sections, each with the headings that lead to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A section. `trail` has its headings, outermost first; `text` begins with its own heading line."""

    trail: tuple[str, ...]
    text: str


def sections(markdown: str) -> list[DocumentSection]:
    """Split at headings outside of code fences; a heading with nothing under it joins the next section.

    Example: "# A\\n\\n## B\\ntext" -> [Section(("A", "B"), "# A\\n\\n## B\\ntext")]
    """
    found: list[DocumentSection] = []
    trail: list[tuple[int, str]] = []
    lines: list[str] = []
    filled = False
    fence = ""

    def close() -> None:
        text = "\n".join(lines).strip("\n")
        if text:
            found.append(DocumentSection(tuple(title for _, title in trail), text))

    for line in markdown.splitlines():
        mark = _FENCE.match(line)
        if mark:
            run = mark.group(1)
            if not fence:
                fence = run
            elif run[0] == fence[0] and len(run) >= len(fence) and not line.strip().strip(run[0]):
                fence = ""
        heading = None if fence or mark else _HEADING.match(line)
        if heading:
            if filled:
                close()
                lines = []
                filled = False
            level = len(heading.group(1))
            trail = [(above, title) for above, title in trail if above < level]
            trail.append((level, (heading.group(2) or "").strip()))
        elif line.strip():
            filled = True
        lines.append(line)
    close()
    return found
