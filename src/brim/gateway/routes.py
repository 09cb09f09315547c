"""Routes: what a path asks for, in which API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

from brim.gateway.faults import Refused

Kind = Literal["fit", "models", "pass"]


@dataclass(frozen=True, slots=True)
class Route:
    """A place of a provider's API. `model` is set where the path names it, `api` is "" where only headers tell."""

    kind: Kind
    api: str
    path: str
    model: str = ""
    upstream: str = ""
    streamed: bool = False


_FITTED = {
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
    "/messages": "anthropic",
}
_VERSIONED = re.compile(r"^/v\d+(?:alpha|beta)?\d*(?=/)")
# Also behind a project, as Vertex has it.
_GEMINI = re.compile(r"^/v1(?:alpha|beta)?\d*/(?:[\w.-]+/){0,8}models/([^/:]+):(\w+)$")
_AZURE = re.compile(r"^/openai/deployments/([^/]+)/chat/completions$")
_NAMED = re.compile(r"^/up/([A-Za-z0-9_.-]{1,64})(/.*)$")
# What clients ask for without a version when their base address has none.
_BARE = re.compile(r"^/(?:chat/completions|responses|messages|models|embeddings|completions)(?:/|$)")
_LONGEST = 2_048


@lru_cache(4_096)
def route_of(method: str, path: str) -> Route | None:
    """The route of a request path as it stands on the wire; None if it is nothing that a provider has.

    Example: route_of("POST", "/v1/messages") -> Route("fit", "anthropic", "/v1/messages")
    Example: route_of("POST", "/up/groq/v1/chat/completions").upstream -> "groq"
    """
    _check(path)
    named = _NAMED.match(path)
    if named:
        inner = _plain(method, named.group(2)) or Route("pass", "", named.group(2))
        return replace(inner, upstream=named.group(1))
    return _plain(method, path)


def _plain(method: str, path: str) -> Route | None:
    if _BARE.match(path):
        path = "/v1" + path
    gemini = _GEMINI.match(path)
    if gemini:
        model, action = unquote(gemini.group(1)), gemini.group(2)
        fitted = method == "POST" and action in ("generateContent", "streamGenerateContent")
        return Route("fit" if fitted else "pass", "gemini", path, model, streamed=action.startswith("stream"))
    azure = _AZURE.match(path)
    if azure and method == "POST":
        return Route("fit", "openai_chat", path, unquote(azure.group(1)))
    version = _VERSIONED.match(path)
    if version is None:
        return None
    rest = path[version.end() :]
    if method == "POST" and rest in _FITTED:
        return Route("fit", _FITTED[rest], path)
    if method == "GET" and rest == "/models":
        return Route("models", "gemini" if version.group() != "/v1" else "", path)
    for start, api in (("/messages/", "anthropic"), ("/responses/", "openai_responses")):
        if rest.startswith(start):
            return Route("pass", api, path)
    return Route("pass", "gemini" if "beta" in version.group() else "", path)


def _check(path: str) -> None:
    """Refuse paths that would be read differently on the other side."""
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
    """The API of a request; headers tell where the path does not."""
    if route.api:
        return route.api
    if b"anthropic-version" in headers or (b"x-api-key" in headers and b"authorization" not in headers):
        return "anthropic"
    if b"x-goog-api-key" in headers:
        return "gemini"
    return "openai_chat"
