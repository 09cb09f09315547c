"""Results that a later call returned again, byte for byte: only the newest copy is worth its room."""

from __future__ import annotations

from collections.abc import Sequence

from brim.planning.items import Group

# A shorter result takes less than what would say that it is repeated.
LONG = 200
# What a step counts whose results all stand further down again.
REPEATED = 0.1


def repeated(groups: Sequence[Group]) -> frozenset[int]:
    """The ids of the items whose text a later result has too.

    Example: read_file(a.py), edit, read_file(a.py) with the same content -> the first result
    """
    seen: set[str] = set()
    found: set[int] = set()
    for group in reversed(groups):
        for item in reversed(group.items):
            if item.kind == "result" and not item.fixed and len(item.text) >= LONG:
                if item.text in seen:
                    found.add(id(item))
                seen.add(item.text)
    return frozenset(found)


def only_repeats(group: Group, repeats: frozenset[int]) -> bool:
    """Whether all that a step's calls returned is returned again later."""
    results = [item for item in group.items if item.kind in ("result", "media")]
    return bool(results) and all(id(item) in repeats for item in results)
