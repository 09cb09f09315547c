"""Keys that Brim issues to clients instead of the provider's own. The store holds only their hashes.

A key is 256 random bits. Nobody can find it from its SHA-256, so a salt or slow hash would add nothing.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from brim.errors import NotFound
from brim.gateway.limits.allowance import Allowance, allowance
from brim.gateway.server.tenant import credentials
from brim.stores.protocol import Store

PREFIX: Final = "brim-vk-"
_KEPT: Final = "virtual_key."
_SECRET_BYTES: Final = 32
# Digits of its hash that serve as a key's id.
_ID_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class VirtualKey:
    """The data of a key, without the key itself."""

    id: str
    name: str
    upstream: str
    budget: Allowance | None
    rate: Allowance | None
    created: float


def create_key(
    store: Store, upstream: str, *, name: str = "", budget: Allowance | None = None, rate: Allowance | None = None
) -> tuple[str, VirtualKey]:
    """Create a key; returns the secret, which is shown only once, and the data that is kept."""
    secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    digest = _digest(secret)
    made = VirtualKey(digest[:_ID_DIGITS], name, upstream, budget, rate, time.time())
    fields = {"name": name, "upstream": upstream, "created": made.created}
    limits = {"budget": str(budget) if budget else None, "rate": str(rate) if rate else None}
    store.put_value(_KEPT + digest, json.dumps({**fields, **limits}).encode())
    return secret, made


def find_key(store: Store, secret: str) -> VirtualKey | None:
    """The key with this secret, unless it is revoked or doesn't exist."""
    digest = _digest(secret)
    kept = store.get_value(_KEPT + digest)
    return _read(digest, kept) if kept is not None else None


def virtual_keys(store: Store) -> list[VirtualKey]:
    """All keys, oldest first."""
    found = [_read(name.removeprefix(_KEPT), kept) for name, kept in store.values(_KEPT).items()]
    return sorted(found, key=lambda key: key.created)


def revoke_key(store: Store, named: str) -> VirtualKey:
    """Revoke the key with this id or name. Raises NotFound unless there is exactly one."""
    kept = store.values(_KEPT)
    found = [(name, _read(name.removeprefix(_KEPT), value)) for name, value in kept.items()]
    meant = [(name, key) for name, key in found if named in (key.id, key.name)]
    if len(meant) != 1:
        told = "no key has" if not meant else f"{len(meant)} keys have"
        raise NotFound(f"{told} the id or name {named!r}: `brim keys list` shows them, each with its own id")
    store.put_value(meant[0][0], None)
    return meant[0][1]


def secret_of(scope: Mapping[str, Any]) -> str:
    """The virtual key in a request; empty if it has none."""
    begin = PREFIX.encode()
    return next((one.decode("latin-1") for one in credentials(scope, None) if one.startswith(begin)), "")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(digest: str, kept: bytes) -> VirtualKey:
    known = json.loads(kept)
    budget, rate = (allowance(known[name], name) if known[name] else None for name in ("budget", "rate"))
    return VirtualKey(digest[:_ID_DIGITS], known["name"], known["upstream"], budget, rate, known["created"])
