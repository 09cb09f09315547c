"""Switches on the providers' own context management."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

import msgspec

from brim.apis import APIS
from brim.conversation import encode
from brim.gateway.proxy.headers import Pairs, with_beta
from brim.settings import ContextManagement, ModelEntry

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
# What to switch on, by model names or globs; the first match decides.
Edits = Sequence[tuple[str, ContextManagement]]


def edits_of(models: Mapping[str, ModelEntry], patterns: Sequence[str]) -> Edits:
    """What the settings switch on: first for single models by their tables, then for model patterns."""
    own = {name: entry.context_management for name, entry in models.items()}
    found = [(name, wanted) for name, wanted in own.items() if wanted is not None]
    return (*found, *((pattern, ContextManagement()) for pattern in patterns))


def prepared(body: bytes, headers: Pairs, model: str, switched_on: Edits, api: str) -> tuple[bytes, Pairs]:
    """The request with context management switched on, if that is set for the model and not by the client."""
    wanted = next((wanted for pattern, wanted in switched_on if fnmatch.fnmatchcase(model, pattern)), None)
    options = APIS[api].context_options
    value, betas = options(wanted) if wanted is not None and options is not None else (None, ())
    if value is None:
        return body, headers
    try:
        fields = _fields.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body, headers
    if "context_management" in fields:
        return body, headers
    fields["context_management"] = msgspec.Raw(encode(value))
    for beta in betas:
        headers = with_beta(headers, beta)
    return msgspec.json.encode(fields), headers
