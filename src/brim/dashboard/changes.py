"""Lines of a message before and after, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from brim.dashboard import diff
from brim.dashboard.html import Child, Html, el


def lines_table(lines: Sequence[diff.DiffLine]) -> Html:
    """The differing lines with a little context."""
    heads = el("thead", el("tr", el("th", "As it came", scope="col"), el("th", "As sent", scope="col"), role="row"))
    # The roles keep this a table for screen readers when a narrow screen stacks its cells.
    caption = el("caption", "Lines as they came and as they were sent", class_="visually-hidden")
    body = el("tbody", list(map(_line, lines)), role="rowgroup")
    return el("table", caption, heads, body, class_="diff", role="table")


def _line(line: diff.DiffLine) -> Html:
    if line.status == "gap":
        return el("tr", el("td", f"… {line.left}", colspan=2, role="cell"), class_="gap", role="row")
    old = line.status in ("changed", "removed")
    new = line.status in ("changed", "added")
    left: Child = el("del", line.left) if old else line.left
    right: Child = el("ins", line.right) if new else line.right
    return el(
        "tr",
        el("td", left, dir="auto", class_="out" if old else None, role="cell"),
        el("td", right, dir="auto", class_="in" if new else "unchanged" if not old else None, role="cell"),
        role="row",
    )
