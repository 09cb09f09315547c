"""Budgets in `_meta`: read from calls and tools, written to results and tool lists.

`docs/mcp-budget-proposal.md` says what the keys mean and why a protocol should have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brim.mcp.options import LEVELS, Level
from brim.mcp.transport.json_rpc import RpcObject, meta_of

BUDGET_KEY = "dev.brim/tokenBudget"
SESSION_KEY = "dev.brim/session"
RESULT_KEY = "dev.brim/result"
ROUND_TRIP_KEY = "dev.brim/roundTrip"
MAX_CHARS_KEY = "anthropic/maxResultSizeChars"


@dataclass(frozen=True, slots=True)
class ResultBudget:
    """The budget for one call's result; None if the client states none."""

    tokens: int | None = None
    chars: int | None = None
    level: Level | None = None
    session: str = ""


def budget_of(params: RpcObject, tool: RpcObject | None) -> ResultBudget:
    """The budget stated by a call, with the maximum size declared by its tool.

    Example: {"_meta": {"dev.brim/tokenBudget": 500}} -> Budget(tokens=500)
             {"_meta": {"dev.brim/tokenBudget": {"tokens": 500, "level": "compact"}}}
    """
    meta = meta_of(params)
    stated = meta.get(BUDGET_KEY)
    tokens, level = _positive(stated), None
    if isinstance(stated, dict):
        tokens = _positive(stated.get("tokens"))
        level = next((known for known in LEVELS if known == stated.get("level")), None)
    chars = _positive(meta.get(MAX_CHARS_KEY))
    if chars is None and tool is not None:
        chars = _positive(meta_of(tool).get(MAX_CHARS_KEY))
    session = meta.get(SESSION_KEY)
    return ResultBudget(tokens, chars, level, session if isinstance(session, str) else "")


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def is_round_trip(tool: RpcObject) -> bool:
    """Whether a tool declares that its output will be edited and written back, so every byte matters."""
    annotations = tool.get("annotations")
    hinted = isinstance(annotations, dict) and annotations.get("roundTripHint") is True
    return hinted or meta_of(tool).get(ROUND_TRIP_KEY) is True


def is_read_only(tool: RpcObject | None) -> bool:
    annotations = tool.get("annotations") if tool else None
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
