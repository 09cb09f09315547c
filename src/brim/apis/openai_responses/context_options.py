"""The request field that switches on OpenAI's own compaction, which xAI offers too."""

from __future__ import annotations

from typing import Any

from brim.settings import ContextManagement


def options(wanted: ContextManagement) -> tuple[Any, tuple[str, ...]]:
    """The value of `context_management`; None if there is nothing to do. It needs no header."""
    if wanted.compact_threshold is None:
        return None, ()
    return [{"type": "compaction", "compact_threshold": wanted.compact_threshold}], ()
