"""Routes: the API and the action that a path asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

from brim.apis.addresses import BARE, CHAT, VERSION, prefix_of
from brim.gateway.proxy.faults import Refused

RouteKind = Literal["fit", "compact", "models", "pass"]


@dataclass(frozen=True, slots=True)
class Route:
    """A destination in a provider's API. `model` is set if the path names it; `api` is "" if only headers tell."""

    kind: RouteKind
    api: str
    path: str
    model: str = ""
    upstream: str = ""
    streamed: bool = False
    host: str = ""
    """The API of the upstream that has this place, where that is another's: Gemini has OpenAI's too."""


_FITTED = {"/responses": "openai_responses", "/messages": "anthropic"}
# Also below a project, as at Vertex.
_GEMINI = re.compile(rf"^(?:/[^/]+)*?{VERSION}/(?:[\w.-]+/){{0,8}}models/([^/:]+):(\w+)$")
_AZURE = re.compile(r"/deployments/([^/]+)/chat/completions$")
_OLLAMA = re.compile(r"^/api/(?:chat|generate|embed|embeddings|tags|ps|show|pull|push|create|copy|delete|version)$")
_NAMED = re.compile(r"^/up/([A-Za-z0-9_.-]{1,64})(/.*)$")
# Requested by browsers from any server.
_BROWSERS = ("/favicon.ico", "/robots.txt")
_LONGEST = 2_048


@lru_cache(4_096)
def route_of(method: str, path: str) -> Route | None:
    """The route of a request path as it stands on the wire; None if it is a browser's own question.

    Known endpoints are fitted under any prefix; unknown paths pass through.
    Example: route_of("POST", "/v1/messages") -> Route("fit", "anthropic", "/v1/messages")
    Example: route_of("POST", "/up/groq/v1/chat/completions").upstream -> "groq"
    """
    _check(path)
    named = _NAMED.match(path)
    if named:
        return replace(_plain(method, named.group(2)), upstream=named.group(1))
    return None if path in _BROWSERS else _plain(method, path)


def _plain(method: str, path: str) -> Route:
    gemini = _GEMINI.match(path)
    if gemini:
        model, action = unquote(gemini.group(1)), gemini.group(2)
        fitted = method == "POST" and action in ("generateContent", "streamGenerateContent")
        return Route("fit" if fitted else "pass", "gemini", path, model, streamed=action.startswith("stream"))
    if _OLLAMA.match(path):
        return Route("fit" if method == "POST" and path == "/api/chat" else "pass", "ollama", path)
    prefix = prefix_of(path)
    host = "gemini" if prefix.endswith("beta/openai") else ""
    if method == "POST" and path.endswith(CHAT):
        azure = _AZURE.search(path)
        return Route("fit", "openai_chat", path, unquote(azure.group(1)) if azure else "", host=host)
    if not prefix and not BARE.match(path):
        return Route("pass", "", path)
    return _below(method, path, path[len(prefix) :], "" if host else prefix, host)


def _below(method: str, path: str, rest: str, version: str, host: str) -> Route:
    """The route of a path right after the version, or at its beginning if it has none."""
    if method == "POST" and rest in _FITTED:
        return Route("fit", _FITTED[rest], path, host=host)
    if method == "POST" and rest == "/responses/compact":
        return Route("compact", "openai_responses", path, host=host)
    google = "gemini" if version.endswith(("alpha", "beta")) else ""
    api = "openai_chat" if host else google
    if method == "GET" and rest == "/models":
        return Route("models", api, path, host=host)
    for start, owner in (("/messages/", "anthropic"), ("/responses/", "openai_responses")):
        if rest.startswith(start):
            return Route("pass", owner, path, host=host)
    return Route("pass", api, path, host=host)


def _check(path: str) -> None:
    """Refuse paths that the other side could interpret differently."""
    decoded = unquote(path)
    bad = (
        len(path) > _LONGEST
        or "\\" in decoded
        or "//" in decoded
        or any(part in (".", "..") for part in decoded.split("/"))
        or any(ord(letter) < 33 or ord(letter) == 127 for letter in decoded)
    )
    if bad:
        raise Refused(400, "the path is not allowed: no .., //, backslashes or control characters", "bad_path")


def api_of(route: Route, headers: Mapping[bytes, bytes]) -> str:
    """The API of a request, from the path or else the headers."""
    if route.api:
        return route.api
    if b"anthropic-version" in headers or (b"x-api-key" in headers and b"authorization" not in headers):
        return "anthropic"
    if b"x-goog-api-key" in headers:
        return "gemini"
    return "openai_chat"
