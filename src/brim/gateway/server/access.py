"""Who may use the gateway: anyone on loopback, and only holders of the access token from elsewhere.

A page of another origin may use it only if that origin is allowed, whatever else it presents.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from functools import lru_cache

from brim.gateway.proxy.faults import Refused
from brim.gateway.proxy.headers import one
from brim.gateway.proxy.upstreams import Target
from brim.gateway.server.options import Options, is_loopback
from brim.gateway.server.origins import foreign_origin
from brim.gateway.server.tenant import JOINED, Tenants, password

# Methods that change nothing, whose answers a page of another origin can't read without CORS headers.
_SAFE = ("GET", "HEAD", "OPTIONS")
# Brim's own paths that reveal nothing about anyone's requests.
_OPEN = ("/healthz", "/readyz")


def check(
    headers: Mapping[bytes, bytes], options: Options, method: str = "GET", *, own: bool = False, keyed: bool = False
) -> None:
    """Refuse (401, 403) unauthorised callers; `own` means that the path is one of Brim's own.

    A virtual key (`keyed`) replaces the access token; whether it is valid is checked later.

    Without a token, names other than loopback's are refused, so that no web page can reach the gateway by pointing a
    name of its own at it, and so are requests that a browser says come from another site.
    """
    origin = foreign_origin(headers)
    if options.token is not None:
        if origin is not None and method not in _SAFE:
            check_origin(origin, options)
        held = _has_token(headers, options.token, by_page=origin is not None)
        if not held and not keyed and not (own and is_operator(headers, options)):
            raise Refused(401, "an access token is needed: send it as x-brim-token or as the API key", "access_token")
        return
    _check_host(headers)
    if origin is not None:
        check_origin(origin, options)
        if own and _anyone(origin, options):
            raise Refused(403, "pages of any origin (*) are shown nothing of Brim's own without a token", "cross_site")
    elif headers.get(b"sec-fetch-site") == b"cross-site":
        raise Refused(403, "requests from other web sites are not served without an access token", "cross_site")


def check_origin(origin: bytes, options: Options) -> None:
    if not options.origins.allow(origin):
        told = origin[:80].decode("latin-1")
        raise Refused(403, f"the origin {told!r} is not allowed: see gateway.allowed_origins", "origin_not_allowed")


def check_key(headers: Mapping[bytes, bytes], options: Options, target: Target) -> None:
    """Don't let any page spend a key that Brim adds: if all origins are allowed, a request needs a credential."""
    origin = foreign_origin(headers)
    if origin is not None and target.key is not None and options.token is None and _anyone(origin, options):
        text = f"pages of any origin (*) may not use Brim's own key for {target.name!r} without an access token"
        raise Refused(403, text, "cross_site")


def _anyone(origin: bytes, options: Options) -> bool:
    """Whether an origin is allowed only because all origins are."""
    return origin.lower() not in options.origins.named


def _check_host(headers: Mapping[bytes, bytes]) -> None:
    if not _served(headers.get(b"host", b"")):
        host = one(headers, b"host")
        raise Refused(403, f"the host name {host[:80]!r} is not served without an access token", "host_not_allowed")


@lru_cache(256)
def _served(host: bytes) -> bool:
    """Whether a host name is a loopback name or missing."""
    name = host.decode("latin-1").strip()
    return not name or is_loopback(_name(name))


def _name(host: str) -> str:
    """Example: "localhost:8787" -> "localhost"; "[::1]:8787" -> "::1" """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def is_operator(headers: Mapping[bytes, bytes], options: Options) -> bool:
    """Whether a request carries the operator's token."""
    by_page = foreign_origin(headers) is not None
    return options.operator is not None and _has_token(headers, options.operator, by_page=by_page)


def viewer(headers: Mapping[bytes, bytes], options: Options, tenants: Tenants, tenant: str) -> str | None:
    """Whose sessions a request to Brim's own paths may see: its tenant's, or (None) everyone's.

    The holder of the operator's token sees everyone's. Without a token, so does anyone who presents no API key.
    """
    if options.operator is not None:
        return None if is_operator(headers, options) else tenant
    return None if tenant in (JOINED, tenants.nobody) else tenant


def check_viewer(viewer: str | None, path: str, options: Options) -> None:
    """Refuse to show a tenant the pages and numbers of all tenants."""
    if viewer is None or path in _OPEN or path.startswith("/brim/v1/"):
        return
    if options.operator is not None:
        raise Refused(401, "this is for the operator: send the operator's token as x-brim-token", "operator_token")
    raise Refused(403, "this is for the operator: ask without an API key", "operator_only")


def check_page(headers: Mapping[bytes, bytes], method: str, path: str) -> None:
    """Refuse changes in the dashboard from a page of another origin, even one that may use the gateway.

    What a browser says of the page counts even where it names no origin: another port of the same host is another page.
    """
    if method in _SAFE or path.startswith("/brim/v1/"):
        return
    own = headers.get(b"sec-fetch-site", b"none") in (b"same-origin", b"none")
    if not own or foreign_origin(headers) is not None:
        raise Refused(403, "only the dashboard's own pages may change settings", "cross_site")


def _has_token(headers: Mapping[bytes, bytes], token: str, *, by_page: bool) -> bool:
    """Whether a request carries the token. A page of another origin must add it itself: a browser sends the password
    that it knows for a site along with any request.
    """
    given = [headers.get(name, b"") for name in (b"x-brim-token", b"x-api-key", b"x-goog-api-key", b"api-key")]
    scheme, _, value = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        given.append(value.strip())
    elif scheme.lower() == b"basic" and not by_page:
        given.append(password(value.strip()))
    return any(hmac.compare_digest(candidate, token.encode()) for candidate in given)
