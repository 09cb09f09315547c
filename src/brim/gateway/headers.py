"""Headers on their way through: what is hop-by-hop stays here, the rest is an open list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from brim.gateway.upstreams import Target, is_key_header

Pairs = list[tuple[bytes, bytes]]

_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
# Made anew for the other side, or meant for Brim alone. A cookie belongs to Brim's own pages.
_OURS = _HOP | frozenset(b"host content-length expect cookie origin referer forwarded via".split())
_FROM_UPSTREAM = _HOP | frozenset(b"alt-svc set-cookie".split())


def forwarded(
    headers: Iterable[tuple[bytes, bytes]], target: Target, api: str, *, fitted: bool, token: bytes | None = None
) -> Pairs:
    """The headers to send upstream.

    On fitted routes the answer is asked for unpacked, since Brim reads the usage in it. A value that is Brim's own
    access token never leaves.
    """
    own_key = target.key_headers(api)
    listed = list(headers)
    dropped = _named_by_connection(listed)
    kept: Pairs = []
    for name, value in listed:
        if name in _OURS or name in dropped or name.startswith((b"x-brim-", b"x-forwarded-", b"sec-fetch-")):
            continue
        if is_key_header(name) and (own_key or (token is not None and (token in value or value[:6] == b"Basic "))):
            continue
        if fitted and name == b"accept-encoding":
            continue
        kept.append((name, value))
    if fitted:
        kept.append((b"accept-encoding", b"identity"))
    return kept + own_key


def returned(headers: Iterable[tuple[bytes, bytes]], *, changed: bool = False) -> Pairs:
    """The headers to give back to the client; the length goes where the body is made anew."""
    listed = list(headers)
    dropped = _named_by_connection(listed)
    without = _FROM_UPSTREAM | {b"content-length", b"content-encoding"} if changed else _FROM_UPSTREAM
    return [
        (lower, value)
        for name, value in listed
        if (lower := name.lower()) not in without and lower not in dropped and not lower.startswith(b"x-brim-")
    ]


def _named_by_connection(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    for name, value in headers:
        if name.lower() == b"connection" and value.lower() not in (b"keep-alive", b"close"):
            return frozenset(part.strip().lower() for part in value.split(b","))
    return frozenset()


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
    """A header as text; empty if it is not there."""
    return headers.get(name, b"").decode("latin-1").strip()
