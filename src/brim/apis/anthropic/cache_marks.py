"""Cache breakpoints: which blocks may carry one, and how many a request may have."""

from __future__ import annotations

from typing import Any

MARK = b'"cache_control"'
EPHEMERAL: dict[str, Any] = {"type": "ephemeral"}
CACHE_CONTROL: dict[str, Any] = {"cache_control": EPHEMERAL}
# The most breakpoints that one request may have.
MOST = 4
# Blocks that may carry a breakpoint.
MARKABLE = ("text", "tool_use", "tool_result", "image", "document")
