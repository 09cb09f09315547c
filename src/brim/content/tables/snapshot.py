"""Accessibility snapshots of pages: interactive elements with their refs, then headings and text.

Reads the outlines that browser tools write (`- button "Save" [ref=e12]`). Wrappers without text of their own are
removed first; the lines below them stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from brim.content.line_packing import Tier, head_and_tail, matching, pack
from brim.content.selection import fits, least
from brim.content.tables import snapshot_rows
from brim.content.types import Room

dense = snapshot_rows.dense
decode = snapshot_rows.decode

_USED = re.compile(
    r"\s*- '?(?:button|link|textbox|searchbox|combobox|checkbox|radio|switch|slider|spinbutton|tab|menuitem\w*|option"
    r"|treeitem|listbox)\b"
)
_INPUT = re.compile(
    r"\s*- '?(?:textbox|searchbox|combobox|checkbox|radio|switch|slider|spinbutton|listbox|dialog|alert\w*|status)\b"
)
_BUTTON = re.compile(r"\s*- '?(?:button|tab|menuitem\w*)\b")
_HEADING = re.compile(
    r"\s*- '?heading\b|#{1,4} |- Page |\s*- (?:main|dialog|alert|alertdialog|form|navigation|banner)\b"
)
_STATE = re.compile(r"\[(?:active|checked|selected|expanded|pressed|disabled|focused)\]|\[(?:checked|pressed)=mixed\]")
_SAYS = re.compile(r"\"|: \S|\s*- text")
_URL = re.compile(r"\s*- /url: ")
_SHORT_TARGET = 80  # longest line of a link target to keep with its link
_WRAPPER = re.compile(r"\s*- '?(?:generic|group|none|presentation|list|listitem|row|rowgroup|table|region)\b[^\"]*:?$")


def extract(text: str, room: Room) -> str:
    """Fields and buttons with their refs, then links and headings, then text; wrappers last.

    Example: 900 lines -> '- heading "Cart" [level=1] [ref=e4]\\n…\\n  - button "Pay" [ref=e9]\\n[… 840 of 900 …]'
    """
    if fits(text, room):
        return text
    if len(text) <= room.tokens * 8:
        form = dense(text)
        if form is not None and fits(form, room):
            return form
    if room.tokens < 8:
        return least(room, f"{text.count(chr(10)) + 1:,} lines")
    lines, sizes = _with_targets(text.split("\n"))
    groups = _sorted(lines)
    useful = [index for name in ("state", "input", "button", "used", "heading", "says") for index in groups[name]]
    tiers = [
        matching(lines, room, 0.35),
        Tier(groups["state"], 0.2),
        Tier(groups["heading"], 0.2),
        Tier(groups["input"], 0.4),
        Tier(groups["button"], 0.4),
        Tier(groups["used"], 0.5),
        Tier(groups["says"], 0.6),
        Tier(useful),
        Tier(head_and_tail(lines, room.tokens) if sum(len(lines[index]) for index in useful) < 4 * room.tokens else ()),
    ]
    return pack(lines, tiers, room, gap="", sizes=sizes)


def _with_targets(lines: Sequence[str]) -> tuple[list[str], list[int]]:
    """The lines with each short link target joined to its link, and the number of lines in each."""
    joined: list[str] = []
    sizes: list[int] = []
    for line in lines:
        if (
            joined
            and len(line) < _SHORT_TARGET
            and sizes[-1] == 1
            and _URL.match(line)
            and _USED.match(joined[-1][:300])
        ):
            joined[-1] += "\n" + line
            sizes[-1] = 2
        else:
            joined.append(line)
            sizes.append(1)
    return joined, sizes


def _sorted(lines: Sequence[str]) -> dict[str, list[int]]:
    """Line numbers by the use of the line."""
    groups: dict[str, list[int]] = {name: [] for name in ("state", "heading", "input", "button", "used", "says")}
    for index, line in enumerate(lines):
        start = line[:300]
        if _WRAPPER.match(start) or _URL.match(start):
            continue
        if _STATE.search(start) and "- " in start:
            groups["state"].append(index)
        elif _INPUT.match(start):
            groups["input"].append(index)
        elif _BUTTON.match(start):
            groups["button"].append(index)
        elif _USED.match(start):
            groups["used"].append(index)
        elif _HEADING.match(start):
            groups["heading"].append(index)
        elif _SAYS.search(start):
            groups["says"].append(index)
    return groups
