"""OpenAI's own compaction, which xAI has too, as a request asks for it."""

from __future__ import annotations

from typing import Any

from brim.settings import ContextManagement


def options(wanted: ContextManagement) -> tuple[Any, tuple[str, ...]]:
    """The value of `context_management`; None where nothing is to be done. It needs no header."""
    if wanted.compact_threshold is None:
        return None, ()
    return [{"type": "compaction", "compact_threshold": wanted.compact_threshold}], ()
