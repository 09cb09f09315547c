"""Answers a repeated call with what changed in its result, if that is much smaller than the result."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

from brim.content.delta import delta
from brim.mcp.results.archive import ResultArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.meta_budgets import RESULT_KEY
from brim.mcp.results.within_budget import SMALL_BYTES, FittedResult, ResultLimits
from brim.mcp.transport.json_rpc import RpcObject, meta_of

# Texts to remember, and their total characters.
MOST, LARGEST = 32, 2_000_000
# Changes larger than this share of the result aren't worth it.
SHARE = 0.5


class PreviousResults:
    """The last result of each call that had one text, with the handle under which it is archived.

    Example: list_orders() -> the list; the same again -> "since the same call before (brim:…): 1 changed …"
    """

    def __init__(self) -> None:
        self._texts: OrderedDict[bytes, tuple[str, str]] = OrderedDict()
        self._size = 0
        self._lock = Lock()  # large results are compacted in threads

    def changes(
        self, key: bytes, result: RpcObject, limits: ResultLimits, archive: ResultArchive
    ) -> FittedResult | None:
        """The changes in a result; None if it is new or changed too much. It is remembered either way."""
        text = _only_text(result)
        if text is None or not limits.recall or len(text) < SMALL_BYTES:
            return None
        with self._lock:
            before, told = self._texts.get(key), None
            if before is not None and before[1]:
                told = delta(before[0], text, count_tokens)
            handle = before[1] if before is not None and before[0] == text else archive.put(text)
            self._remember(key, text, handle)
        if before is None or told is None or not handle:
            return None
        note = f"[brim: since the same call before ({before[1]}): {told}\nthe whole result: {handle}]"
        tokens, whole = count_tokens(note), count_tokens(text)
        if tokens > min(limits.tokens, SHARE * whole) or (limits.chars is not None and len(note) > limits.chars):
            return None
        said = {"level": limits.level, "tokens": tokens, "of": whole, "fidelity": "recoverable", "handles": [handle]}
        content = [{**result["content"][0], "text": note}]
        sent = {**result, "content": content, "_meta": {**meta_of(result), RESULT_KEY: said}}
        return FittedResult(sent, tokens, whole - tokens, True)

    def _remember(self, key: bytes, text: str, handle: str) -> None:
        self._forget(key)
        if len(text) > LARGEST:
            return
        self._texts[key] = text, handle
        self._size += len(text)
        while len(self._texts) > MOST or self._size > LARGEST:
            self._forget(next(iter(self._texts)))

    def _forget(self, key: bytes) -> None:
        old = self._texts.pop(key, None)
        self._size -= len(old[0]) if old is not None else 0


def _only_text(result: RpcObject) -> str | None:
    """The text of a result that consists of a single text."""
    content: Any = result.get("content")
    if "structuredContent" in result or result.get("isError") or not isinstance(content, list) or len(content) != 1:
        return None
    block = content[0]
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None
