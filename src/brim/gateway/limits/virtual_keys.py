"""Keys that Brim gives to clients in place of a provider's own. The store holds their hashes alone.

A key is 256 random bits: nobody finds it from its SHA-256, and no salt or slow hash would add to that.
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
# Digits of its hash by which people name a key.
_ID_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class VirtualKey:
    """What is known of a key: all but the key."""

    id: str
    name: str
    upstream: str
    budget: Allowance | None
    rate: Allowance | None
    created: float


def create_key(
    store: Store, upstream: str, *, name: str = "", budget: Allowance | None = None, rate: Allowance | None = None
) -> tuple[str, VirtualKey]:
    """A new key, which is told this once, and what is kept of it."""
    secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    digest = _digest(secret)
    made = VirtualKey(digest[:_ID_DIGITS], name, upstream, budget, rate, time.time())
    fields = {"name": name, "upstream": upstream, "created": made.created}
    limits = {"budget": str(budget) if budget else None, "rate": str(rate) if rate else None}
    store.put_value(_KEPT + digest, json.dumps({**fields, **limits}).encode())
    return secret, made


def find_key(store: Store, secret: str) -> VirtualKey | None:
    """The key with this secret, unless it is revoked or never was."""
    digest = _digest(secret)
    kept = store.get_value(_KEPT + digest)
    return _read(digest, kept) if kept is not None else None


def virtual_keys(store: Store) -> list[VirtualKey]:
    """All keys, the oldest first."""
    found = [_read(name.removeprefix(_KEPT), kept) for name, kept in store.values(_KEPT).items()]
    return sorted(found, key=lambda key: key.created)


def revoke_key(store: Store, named: str) -> VirtualKey:
    """Revoke the key with this id or name. Raises NotFound where there is not exactly one."""
    kept = store.values(_KEPT)
    found = [(name, _read(name.removeprefix(_KEPT), value)) for name, value in kept.items()]
    meant = [(name, key) for name, key in found if named in (key.id, key.name)]
    if len(meant) != 1:
        told = "no key has" if not meant else f"{len(meant)} keys have"
        raise NotFound(f"{told} the id or name {named!r}: `brim keys list` shows them, each with its own id")
    store.put_value(meant[0][0], None)
    return meant[0][1]


def secret_of(scope: Mapping[str, Any]) -> str:
    """The virtual key that a request carries; empty if it has none."""
    begin = PREFIX.encode()
    return next((one.decode("latin-1") for one in credentials(scope, None) if one.startswith(begin)), "")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(digest: str, kept: bytes) -> VirtualKey:
    known = json.loads(kept)
    budget, rate = (allowance(known[name], name) if known[name] else None for name in ("budget", "rate"))
    return VirtualKey(digest[:_ID_DIGITS], known["name"], known["upstream"], budget, rate, known["created"])
