"""Views of sessions without content: digests and sizes in place of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TEXTS: Final = frozenset({"text", "preview", "answer"})


def without_content(value: Any) -> Any:
    """A view of a session, turn or plan without its texts.

    Example: {"after": [{"role": "user", "text": "hello"}]} -> {"after": [{"role": "user", "characters": 5}]}
    """
    if isinstance(value, (list, tuple)):
        return [without_content(inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    kept = {key: without_content(inner) for key, inner in value.items() if key not in _TEXTS}
    text = value.get("text")
    return {"characters": len(text), **kept} if isinstance(text, str) else kept
