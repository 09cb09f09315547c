"""Web pages and Electron apps as clients: which origins may call the gateway, and their CORS headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import Send

from brim.errors import BadSetting
from brim.gateway.proxy.headers import Pairs

# Scheme, host and port only, as browsers send `Origin`.
_ORIGIN: Final = re.compile(r"^([a-z][a-z0-9+.-]*)://([^\s/?#@\\:]*|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$")
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_METHODS: Final = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
# A list of header names (RFC 9110, 5.6.2).
_HEADER_NAMES: Final = re.compile(rb"^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$")
# Chromium caches a preflight for at most two hours.
_MAX_AGE: Final = b"7200"


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins besides the gateway's own that may call it: listed ones, or `any`."""

    named: frozenset[bytes] = frozenset()
    any: bool = False

    @property
    def configured(self) -> bool:
        return self.any or bool(self.named)

    def allow(self, origin: bytes) -> bool:
        return self.any or origin.lower() in self.named

    def headers(self, origin: bytes | None) -> Pairs:
        """The headers of every answer, including errors and streams. Browser credentials are never allowed."""
        found: Pairs = [(b"vary", b"Origin")] if self.named else []
        if origin is not None and self.allow(origin):
            named = origin.lower() in self.named
            found.append((b"access-control-allow-origin", origin if named else b"*"))
            found.append((b"access-control-expose-headers", b"*"))
        return found

    def added_to(self, send: Send, origin: bytes | None) -> Send:
        """A `send` that adds these headers to answers."""
        added = self.headers(origin)

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        return sending


def origins_of(given: Iterable[str]) -> Origins:
    """The origins of the setting. Raises BadSetting for a value that no browser would send.

    Example: ("app://obsidian.md", "http://localhost:3000") -> both by name; ("*",) -> any
    """
    listed = tuple(given)
    return Origins(frozenset(_origin(text).encode() for text in listed if text != "*"), "*" in listed)


def _origin(text: str) -> str:
    found = _ORIGIN.match(text.lower())
    if text == "null" or found is None or not (found.group(2) or found.group(1) == "file"):
        raise BadSetting(
            "gateway.allowed_origins",
            f"{text[:80]!r} is not an origin: write scheme, host and port alone, such as http://localhost:3000 or "
            "app://obsidian.md, or * for any",
        )
    scheme, host, port = found.groups()
    return f"{scheme}://{host}" + (f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else "")


def foreign_origin(headers: Mapping[bytes, bytes]) -> bytes | None:
    """The origin of the page that sends a request; None if it is the gateway's own or there is no page."""
    origin = headers.get(b"origin")
    # Pages can't forge `sec-fetch-site`; behind a proxy that changes the host name, only it identifies our own pages.
    if origin is None or headers.get(b"sec-fetch-site") == b"same-origin":
        return None
    scheme, _, place = origin.lower().partition(b"://")
    own = scheme in (b"http", b"https") and place == headers.get(b"host", b"").lower()
    return None if own else origin


def is_preflight(method: str, headers: Mapping[bytes, bytes]) -> bool:
    return method == "OPTIONS" and b"origin" in headers and b"access-control-request-method" in headers


def preflight(headers: Mapping[bytes, bytes]) -> Pairs:
    """The answer to an allowed origin's preflight: any method, and the headers that it asks for.

    For a public page that calls a private address, the answer also grants private network access.
    """
    asked = headers.get(b"access-control-request-headers", b"").strip()
    found: Pairs = [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-max-age", _MAX_AGE),
        (
            b"vary",
            b"Access-Control-Request-Method, Access-Control-Request-Headers, Access-Control-Request-Private-Network",
        ),
    ]
    if asked and _HEADER_NAMES.match(asked):
        found.append((b"access-control-allow-headers", asked))
    if headers.get(b"access-control-request-private-network", b"").lower() == b"true":
        found.append((b"access-control-allow-private-network", b"true"))
    return found
