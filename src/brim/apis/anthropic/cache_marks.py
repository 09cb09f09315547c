"""Where a client marks the end of what is to be cached, and how often it may."""

from __future__ import annotations

from typing import Any

MARK = b'"cache_control"'
EPHEMERAL: dict[str, Any] = {"type": "ephemeral"}
CACHE_CONTROL: dict[str, Any] = {"cache_control": EPHEMERAL}
# Marks that the API takes in one request.
MOST = 4
# Blocks that may carry a mark.
MARKABLE = ("text", "tool_use", "tool_result", "image", "document")
