"""Who may use the gateway: anyone on loopback, the holder of the access token everywhere else."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from functools import lru_cache

from brim.gateway.faults import Refused
from brim.gateway.headers import one
from brim.gateway.options import Options, is_loopback
from brim.gateway.tenant import password


def check(headers: Mapping[bytes, bytes], options: Options) -> None:
    """Refuse (401, 403) whoever may not be here.

    Without a token, names other than loopback's are refused, so that no web page can reach the gateway by pointing a
    name of its own at it, and so are requests that a browser says come from another site.
    """
    if options.token is not None:
        if not _has_token(headers, options.token.encode()):
            raise Refused(401, "an access token is needed: send it as x-brim-token or as the API key", "access_token")
        return
    if not _served(headers.get(b"host", b"")):
        host = one(headers, b"host")
        raise Refused(403, f"the host name {host[:80]!r} is not served without an access token", "host_not_allowed")
    if headers.get(b"sec-fetch-site") == b"cross-site":
        raise Refused(403, "requests from other web sites are not served without an access token", "cross_site")


@lru_cache(256)
def _served(host: bytes) -> bool:
    """Whether a host name is loopback's, or there is none."""
    name = host.decode("latin-1").strip()
    return not name or is_loopback(_name(name))


def _name(host: str) -> str:
    """Example: "localhost:8787" -> "localhost"; "[::1]:8787" -> "::1" """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _has_token(headers: Mapping[bytes, bytes], token: bytes) -> bool:
    given = [headers.get(name, b"") for name in (b"x-brim-token", b"x-api-key", b"x-goog-api-key", b"api-key")]
    scheme, _, value = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        given.append(value.strip())
    elif scheme.lower() == b"basic":
        given.append(password(value.strip()))
    return any(hmac.compare_digest(candidate, token) for candidate in given)
