"""The tenant of a request: a keyed hash of the client's credential.

The key is random and kept in the store, so that all gateways on a store agree on a tenant, also after restarts, and
nobody who sees a tenant's name can test guesses at its credential.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from brim.gateway.proxy.faults import Refused

if TYPE_CHECKING:
    from brim.gateway.server.options import Options
    from brim.stores.protocol import Store

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
KEY: Final = "tenant.key"
KEY_BYTES: Final = 32
# 80 bits, as 16 letters and digits: nobody can find a credential that collides with another's.
HASH_BYTES: Final = 10
# Every header in which clients send a provider's key, and Brim's own.
_HEADERS: Final = frozenset((b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key", b"x-brim-token"))
_FIELDS: Final = frozenset((b"key", b"access_token"))
_CREDENTIAL: Final = b"brim.credential"
_NAMED: Final = b"brim.header"
JOINED: Final = ""
"""The tenant of everyone where all clients are joined."""


class Tenants:
    """Determines the tenant of a request.

    Example: Tenants(store).of(scope, options) -> "mzxw6ytboi4dkmjq"
    """

    def __init__(self, store: Store | None) -> None:
        fresh = secrets.token_bytes(KEY_BYTES)
        self._key = store.claim_value(KEY, fresh) if store is not None else fresh
        self.nobody = self._hash(_CREDENTIAL, [])
        """The tenant of those who send no credential of their own."""

    def of(self, scope: Mapping[str, Any], options: Options) -> str:
        """The tenant of an admitted request; Refused (400) if it names two."""
        if options.gateway.join_tenants:
            return JOINED
        if options.gateway.tenant_header and _trusted(scope, options):
            named = _named(scope["headers"], options.gateway.tenant_header.lower().encode())
            if named:
                return self._hash(_NAMED, [named])
        return self._hash(_CREDENTIAL, credentials(scope, options.token))

    def _hash(self, kind: bytes, values: Sequence[bytes]) -> str:
        return _hashed(self._key, kind, tuple(values))


@lru_cache(1_024)
def _hashed(key: bytes, kind: bytes, values: tuple[bytes, ...]) -> str:
    made = blake2b(key=key, digest_size=HASH_BYTES, person=kind)
    for value in values:
        made.update(len(value).to_bytes(4, "big") + value)
    return base64.b32encode(made.digest()).decode().lower()


def credentials(scope: Mapping[str, Any], token: str | None) -> list[bytes]:
    """The secrets in a request, without the access token, which all clients share.

    All of them count, wherever they are, so that a client can't choose which of two keys identifies it.
    """
    given = [value for name, value in scope["headers"] if name in _HEADERS]
    return list(_credentials(tuple(given), scope["query_string"], token)) if given or scope["query_string"] else []


@lru_cache(1_024)
def _credentials(given: tuple[bytes, ...], query: bytes, token: str | None) -> tuple[bytes, ...]:
    shared = token.encode() if token is not None else b""
    found = {_secret(value, shared) for value in given}
    found |= {value for name, value in parse_qsl(query) if name in _FIELDS}
    return tuple(sorted(found - {b"", shared}))


def _secret(value: bytes, shared: bytes) -> bytes:
    """The secret in a header. Example: b"Bearer sk-1" -> b"sk-1"; the access token where it is a browser's password"""
    scheme, _, rest = value.strip().partition(b" ")
    kind, rest = scheme.lower(), rest.strip()
    if kind == b"bearer":
        return rest
    return shared if shared and kind == b"basic" and password(rest) == shared else value.strip()


def password(value: bytes) -> bytes:
    """The password of HTTP basic authentication, which is how browsers send the access token."""
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def _named(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> bytes:
    """The value of the header that names the tenant. Two of them mean that a client added its own to the proxy's."""
    given = [value.strip() for name, value in headers if name == wanted]
    if len(given) > 1:
        raise Refused(400, f"{wanted.decode()}: given more than once", "bad_header")
    return given[0] if given else b""


def _trusted(scope: Mapping[str, Any], options: Options) -> bool:
    """Whether this request may name its tenant: it comes from a known proxy or, if none is set, carries the token."""
    if not options.proxies:
        return options.guarded
    peer = scope.get("client")
    return peer is not None and _within(str(peer[0]), options.proxies)


@lru_cache(1_024)
def _within(host: str, networks: tuple[Network, ...]) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return any((mapped or address) in network for network in networks)
