"""Headers on their way through: hop-by-hop ones stop here, all others pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

from brim.gateway.proxy.upstreams import Target, is_key_header

Pairs = list[tuple[bytes, bytes]]

_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
# Rewritten for the other side, or meant for Brim only. Cookies belong to Brim's own pages.
_OURS = _HOP | frozenset(b"host content-length expect cookie origin referer forwarded via".split())
_FROM_UPSTREAM = _HOP | frozenset(b"alt-svc set-cookie".split())


def forwarded(
    headers: Iterable[tuple[bytes, bytes]], target: Target, api: str, *, fitted: bool, token: bytes | None = None
) -> Pairs:
    """The headers to send upstream.

    Where Brim reads the answer (`fitted`: its usage, or a list of models) it is asked for unpacked. A value that holds
    Brim's own access token never leaves, in whatever header, and neither does a password, which may be the token.
    """
    own_key = target.key_headers(api)
    kept: Pairs = []
    named: frozenset[bytes] = frozenset()
    for pair in headers:
        name, value = pair
        if token is not None and (token in value or (name == b"authorization" and _is_password(value))):
            continue
        kind = _kind(name)
        if kind == "keep" or (kind == "packing" and not fitted):
            kept.append(pair)
        elif kind == "key":
            if not own_key:
                kept.append(pair)
        elif kind == "connection":
            named |= _named(value)
    if named:
        kept = [pair for pair in kept if pair[0] not in named]
    if fitted:
        kept.append((b"accept-encoding", b"identity"))
    return kept + own_key


def _is_password(value: bytes) -> bool:
    """Whether this is HTTP basic authorization; schemes are case-insensitive (RFC 9110, 11.1)."""
    return value.split(None, 1)[:1] != [] and value.split(None, 1)[0].lower() == b"basic"


@lru_cache(1_024)
def _kind(name: bytes) -> Literal["keep", "drop", "key", "packing", "connection"]:
    """How to treat a client's header on its way upstream."""
    if name == b"connection":
        return "connection"
    if name in _OURS or name.startswith((b"x-brim-", b"x-forwarded-", b"sec-fetch-")):
        return "drop"
    if is_key_header(name):
        return "key"
    return "packing" if name == b"accept-encoding" else "keep"


def returned(headers: Iterable[tuple[bytes, bytes]], *, changed: bool = False) -> Pairs:
    """The headers to return to the client, without the length if the body is rewritten."""
    kept: Pairs = []
    named: frozenset[bytes] = frozenset()
    for name, value in headers:
        lower = _given_back(name)
        if lower == b"connection":
            named |= _named(value)
        elif lower:
            kept.append((lower, value))
    if named or changed:
        without = named | {b"content-length", b"content-encoding"} if changed else named
        kept = [pair for pair in kept if pair[0] not in without]
    return kept


@lru_cache(1_024)
def _given_back(name: bytes) -> bytes:
    """An upstream's header in the form the client gets; empty if it is dropped."""
    lower = name.lower()
    if lower == b"connection":
        return lower
    # The gateway decides which pages may read an answer, and browsers reject a repeated header.
    return b"" if lower in _FROM_UPSTREAM or lower.startswith((b"x-brim-", b"access-control-")) else lower


def _named(value: bytes) -> frozenset[bytes]:
    """The headers that a Connection header makes hop-by-hop."""
    if value.lower() in (b"keep-alive", b"close"):
        return frozenset()
    return frozenset(part.strip().lower() for part in value.split(b","))


def with_beta(headers: Pairs, beta: str) -> Pairs:
    """The headers with one more entry in `anthropic-beta`, which is an open list."""
    wanted = beta.encode()
    for place, (name, value) in enumerate(headers):
        if name == b"anthropic-beta":
            if wanted not in [part.strip() for part in value.split(b",")]:
                headers = [*headers[:place], (name, value + b"," + wanted), *headers[place + 1 :]]
            return headers
    return [*headers, (b"anthropic-beta", wanted)]


def one(headers: Mapping[bytes, bytes], name: bytes) -> str:
    """A header as text; empty if it is missing."""
    return headers.get(name, b"").decode("latin-1").strip()
