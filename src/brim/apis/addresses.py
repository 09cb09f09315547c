"""URLs of provider APIs: the prefix before an endpoint, and how a path joins a base address."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

VERSION: Final = r"/v\d+(?:alpha|beta)?\d*"
_VERSION: Final = re.compile(rf"^{VERSION}(?=/|$)")
_BASE_VERSION: Final = re.compile(rf"{VERSION}$")
# Up to the first version, with whatever stands before it; Gemini has its OpenAI endpoints one step further down.
_PREFIX: Final = re.compile(rf"^(?:/[^/]+)*?{VERSION}(?:(?<=beta)/openai)?(?=/|$)")
# Paths that clients request when their base address has no version in it.
BARE: Final = re.compile(r"^/(?:chat/completions|responses|messages|models|embeddings|completions)(?:/|$)")
CHAT: Final = "/chat/completions"
# Places that answer a request from what it says and keep nothing that another could list: not files, batches, stored
# answers or tuning, which belong to everyone who shares the provider's key.
_ASKING: Final = re.compile(
    r"(?:(?:/openai)?/deployments/[^/]+)?/(?:completions|responses(?:/compact|/input_tokens)?|embeddings"
    r"|messages(?:/count_tokens)?|moderations|rerank|images/(?:generations|edits|variations)"
    r"|audio/(?:speech|transcriptions|translations))"
    r"|/api/(?:chat|generate|embed|embeddings|show)"
    r"|(?:/[\w.-]+)*/models/[^/:]+:(?:streamGenerateContent|generateContent|countTokens|embedContent|batchEmbedContents)"
)
_LISTING: Final = re.compile(r"/(?:models(?:/[^/]+){0,3}|api/(?:tags|version|ps))")
# The APIs that servers offer: OpenAI's own two, and Ollama's beside its own.
OPENAI: Final = frozenset({"openai_chat", "openai_responses"})
OLLAMA: Final = OPENAI | {"ollama"}
ALL: Final = OLLAMA | {"anthropic", "gemini"}
# APIs whose clients add the version themselves: their base address ends before it.
_VERSIONED_BY_CLIENT: Final = {"anthropic": "/v1", "gemini": "/v1beta"}


@lru_cache(4_096)
def prefix_of(path: str) -> str:
    """The prefix before the endpoint in an OpenAI-style path.

    Example: "/v1beta/openai/chat/completions" -> "/v1beta/openai"; "/inference/chat/completions" -> "/inference"
    """
    if path.endswith(CHAT):
        return path[: -len(CHAT)]
    found = _PREFIX.match(path)
    return found.group() if found else ""


def keeps_nothing(method: str, path: str) -> bool:
    """Whether a request shows and changes nothing that others with the same provider's key have there.

    Example: ("POST", "/v1/embeddings") -> True; ("GET", "/v1/files") -> False
    """
    if method == "POST" and path.endswith(CHAT):
        return True
    known = {"POST": _ASKING, "GET": _LISTING, "HEAD": _LISTING}.get(method)
    return known is not None and known.fullmatch(path[len(prefix_of(path)) :]) is not None


@lru_cache(4_096)
def address(base_url: str, path: str, api: str) -> str:
    """The URL of a path at an upstream.

    A base address without a path gets the path as the client wrote it. One with a path is used as it is given: clients
    of the OpenAI kind append the endpoint alone, those of Anthropic and Gemini the version too, unless it ends in one.
    Example: base https://models.github.ai/inference, path /v1/chat/completions -> …/inference/chat/completions
    """
    base = base_url.rstrip("/")
    if api == "ollama":
        return _BASE_VERSION.sub("", base) + path
    version = _VERSIONED_BY_CLIENT.get(api, "")
    if version and BARE.match(path):
        path = version + path
    own = urlsplit(base).path
    if own and (path == own or path.startswith(f"{own}/")):
        return base + path[len(own) :]
    if own and not version:
        return base + path[len(prefix_of(path)) :]
    return base + (_VERSION.sub("", path, count=1) if _BASE_VERSION.search(base) else path)


def without_version(base_url: str) -> str:
    """The address of the server itself. Example: http://127.0.0.1:8080/v1 -> http://127.0.0.1:8080"""
    return _BASE_VERSION.sub("", base_url.rstrip("/"))


def spoken_with(api: str) -> frozenset[str]:
    """All the APIs that a server offers if its settings name this one. Example: "openai_chat" -> OPENAI"""
    return OPENAI if api in OPENAI else OLLAMA if api == "ollama" else frozenset({api})
