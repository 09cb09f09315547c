"""Options of providers that Brim can switch on: Anthropic's own context management."""

from __future__ import annotations

import fnmatch

import msgspec

from brim.conversation import encode
from brim.gateway.headers import Pairs, with_beta

BETA = "context-management-2025-06-27"
EDITS = {"edits": [{"type": "clear_tool_uses_20250919"}]}
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def prepared(body: bytes, headers: Pairs, model: str, patterns: tuple[str, ...]) -> tuple[bytes, Pairs]:
    """The request with context management switched on, where the model is meant and the client has not said itself."""
    if not any(fnmatch.fnmatchcase(model, pattern) for pattern in patterns):
        return body, headers
    try:
        fields = _fields.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body, headers
    if "context_management" in fields:
        return body, headers
    fields["context_management"] = msgspec.Raw(encode(EDITS))
    return msgspec.json.encode(fields), with_beta(headers, BETA)
