"""Options of providers that Brim can switch on: Anthropic's own context management."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from brim.conversation import encode
from brim.gateway.proxy.headers import Pairs, with_beta
from brim.settings import ContextManagement, ModelEntry

BETA = "context-management-2025-06-27"
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
# What is switched on, by the names or globs of models; the first that matches decides.
Edits = Sequence[tuple[str, bytes]]


def edits_of(models: Mapping[str, ModelEntry], patterns: Sequence[str]) -> Edits:
    """What the settings switch on: for single models as their tables say, then for the models of the patterns."""
    own = {name: entry.context_management for name, entry in models.items()}
    found = [(name, encode(edits(wanted))) for name, wanted in own.items() if wanted is not None]
    return (*found, *((pattern, encode(edits(ContextManagement()))) for pattern in patterns))


def edits(wanted: ContextManagement) -> dict[str, Any]:
    """The value of `context_management`. Thoughts come first, as Anthropic asks.

    Example: ContextManagement(keep=5) -> {"edits": [{"type": "clear_tool_uses_20250919", "keep": {...}}]}
    """
    listed: list[dict[str, Any]] = []
    if wanted.keep_thinking is not None:
        turns = {"type": "thinking_turns", "value": wanted.keep_thinking} if wanted.keep_thinking else "all"
        listed.append({"type": "clear_thinking_20251015", "keep": turns})
    if wanted.clear_tool_uses:
        edit: dict[str, Any] = {"type": "clear_tool_uses_20250919"}
        numbers = {"trigger": "input_tokens", "keep": "tool_uses", "clear_at_least": "input_tokens"}
        for name, unit in numbers.items():
            value = getattr(wanted, name)
            if value is not None:
                edit[name] = {"type": unit, "value": value}
        if wanted.clear_tool_inputs:
            edit["clear_tool_inputs"] = True
        if wanted.exclude_tools:
            edit["exclude_tools"] = list(wanted.exclude_tools)
        listed.append(edit)
    return {"edits": listed}


def prepared(body: bytes, headers: Pairs, model: str, switched_on: Edits) -> tuple[bytes, Pairs]:
    """The request with context management switched on, where the model is meant and the client has not said itself."""
    wanted = next((raw for pattern, raw in switched_on if fnmatch.fnmatchcase(model, pattern)), None)
    if wanted is None:
        return body, headers
    try:
        fields = _fields.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body, headers
    if "context_management" in fields:
        return body, headers
    fields["context_management"] = msgspec.Raw(wanted)
    return msgspec.json.encode(fields), with_beta(headers, BETA)
