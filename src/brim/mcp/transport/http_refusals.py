"""Turns an HTTP server's 401 and 403 into a text that says what to do."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_PARAMETER = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s",]+))')


def shown(url: str) -> str:
    """A URL without possible secrets. Example: "https://me:pw@x/mcp?key=1" -> "https://x/mcp" """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def refusal(url: str, status: int, challenge: str, body: str = "", *, with_token: bool) -> str:
    """The error for a refused call, from the WWW-Authenticate header and the start of the body.

    Example: refusal("https://x/mcp", 401, 'Bearer error="invalid_token"', with_token=True)
             -> "https://x/mcp does not accept the token (HTTP 401: invalid_token): renew it and …"
    """
    said = {name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(challenge)}
    reason = ", ".join(said[name] for name in ("error", "error_description") if said.get(name)) or body
    what = f"(HTTP {status}: {reason})" if reason else f"(HTTP {status})"
    scope = f" with the scope {said['scope']!r}" if said.get("scope") else ""
    address = shown(url)
    if status == 403:
        return f"{address} does not allow this {what}: it wants a token{scope}"
    name = "--token-env VARIABLE, or let --token-command COMMAND print it"
    if with_token:
        text = f"{address} does not accept the token {what}: renew it{scope} and start again; it is named by {name}"
    else:
        text = f"{address} wants a token{scope} {what}: put one into an environment variable and name it by {name}"
    about = f"; who gives tokens is said at {said['resource_metadata']}" if said.get("resource_metadata") else ""
    return f"{text}{about}; to sign in with a browser, wrap a bridge: brim mcp wrap -- npx -y mcp-remote {address}"
