"""Take what `brim setup` wrote out of a configuration that was changed since: the rest stays as it is now."""

from __future__ import annotations

import difflib
import json
from typing import Any

_MISSING: Any = object()


def taken_out(now: str, before: str, after: str) -> str | None:
    """`now` without what leads from `before` to `after`; None where that cannot be told any more.

    Example: taken_out("A=1\\nURL=u\\nB=2\\n", "A=1\\n", "A=1\\nURL=u\\n") -> "A=1\\nB=2\\n"
    """
    values = [_object(text) for text in (now, before, after)]
    if any(value is None for value in values):
        return _lines_out(now.splitlines(), before.splitlines(), after.splitlines())
    left = _values_out(*values)
    if left == values[1]:
        return before  # to the byte
    return json.dumps({} if left is _MISSING else left, indent=2, ensure_ascii=False) + "\n"


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _values_out(now: Any, before: Any, after: Any) -> Any:
    """What was set is as it was before; what was changed since, or stood there all along, stays."""
    if now == after:
        return before
    if not (isinstance(now, dict) and isinstance(after, dict)):
        return now
    old = before if isinstance(before, dict) else {}
    found = {
        key: _values_out(now.get(key, _MISSING), old.get(key, _MISSING), after.get(key, _MISSING))
        for key in {**now, **old}
    }
    kept = {key: value for key, value in found.items() if value is not _MISSING}
    return _MISSING if not kept and before is _MISSING else kept


def _lines_out(now: list[str], before: list[str], after: list[str]) -> str | None:
    """Each block of lines that was written is found again, and gives way to those that stood there before."""
    found = list(now)
    for tag, old, old_end, new, new_end in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag == "equal":
            continue
        at = _place(found, after[new:new_end]) if new < new_end else _behind(found, before[:old])
        if at is None:
            return None
        found[at : at + new_end - new] = before[old:old_end]
    return "".join(f"{line}\n" for line in found)


def _place(lines: list[str], block: list[str]) -> int | None:
    starts = range(len(lines) - len(block) + 1)
    return next((start for start in starts if lines[start : start + len(block)] == block), None)


def _behind(lines: list[str], leading: list[str]) -> int:
    """Where lines that were only taken away stood: behind the last line before them that is there still."""
    for line in reversed(leading):
        if line in lines:
            return lines.index(line) + 1
    return 0
