"""Upstreams: the provider that a request goes to, its address, and the key to use.

Only configured upstreams can be reached: a request names an upstream or a model, never an address.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote_plus, urlencode

from brim.apis.addresses import ALL, OPENAI, address, spoken_with, without_version
from brim.apis.asking import ASKING, key_headers
from brim.errors import BadSetting
from brim.gateway.proxy.faults import Refused
from brim.settings import Settings, UpstreamSettings

# The addresses that the providers' SDKs use; tried after the configured ones.
KNOWN = (
    ("openai", "https://api.openai.com/v1", OPENAI),
    ("anthropic", "https://api.anthropic.com", frozenset({"anthropic"})),
    ("gemini", "https://generativelanguage.googleapis.com", frozenset({"gemini"})),
)
_KEY_HEADERS = (b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key")


@dataclass(frozen=True, slots=True)
class Target:
    """One upstream: its address, its APIs, and the key that Brim adds (None: the client's own is used)."""

    name: str
    base_url: str
    apis: frozenset[str]
    models: tuple[str, ...] = ()
    key: str | None = field(default=None, repr=False)
    built_in: bool = False
    fallback: str = ""
    """Which upstream gets a request if this one fails; none if empty."""

    def serves(self, model: str) -> bool:
        return not self.models or any(fnmatch.fnmatchcase(model, pattern) for pattern in self.models)

    def address(self, path: str, query: str, api: str = "openai_chat") -> str:
        """The URL of a request. A path in the base address replaces the part before the endpoint.

        Example: base https://api.groq.com/openai/v1, path /v1/models -> https://api.groq.com/openai/v1/models
        """
        if query and self.key is not None:
            query = urlencode([pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "key"])
        url = address(self.base_url, path, api)
        return f"{url}?{query}" if query else url

    @property
    def root(self) -> str:
        """The address of the server, without a version. Example: http://127.0.0.1:8080/v1 -> http://127.0.0.1:8080"""
        return without_version(self.base_url)

    @property
    def well_known(self) -> bool:
        """Whether this is a provider's own service."""
        return any(self.root == without_version(url) for _, url, _ in KNOWN)

    @property
    def own_api(self) -> str:
        """The API in which to ask it for its models."""
        return next(name for name in ASKING if name in self.apis)

    def key_headers(self, api: str) -> list[tuple[bytes, bytes]]:
        """The header that carries Brim's own key for this upstream; none if the client's is used."""
        if self.key is None:
            return []
        return [(name.encode(), value.encode()) for name, value in key_headers(api, self.key)]


def targets_of(settings: Settings, given: str = "") -> tuple[Target, ...]:
    """The upstreams in force: the one given for this run, otherwise those of the settings, then the providers' own.

    `only` leaves the providers' own out; configuring an upstream of the same name replaces one.
    """
    if given:
        return (Target("upstream", given, ALL),)
    configured = tuple(_target(name, entry, settings) for name, entry in settings.upstreams.items())
    if any(entry.only for entry in settings.upstreams.values()):
        return configured
    return (*configured, *_built_in(settings))


def _built_in(settings: Settings) -> Iterator[Target]:
    return (Target(name, url, apis, built_in=True) for name, url, apis in KNOWN if name not in settings.upstreams)


def _target(name: str, entry: UpstreamSettings, settings: Settings) -> Target:
    apis = spoken_with(entry.api)
    key = settings.secret(entry.key_env) if entry.key_env else None
    if entry.fallback:
        _check_fallback(name, entry, settings)
    return Target(name, entry.base_url, apis, entry.models, key, fallback=entry.fallback)


def _check_fallback(name: str, entry: UpstreamSettings, settings: Settings) -> None:
    """Raises BadSetting if the named fallback could never serve a request of this upstream."""
    setting, other = f"upstreams.{name}.fallback", settings.upstreams.get(entry.fallback)
    if other is None or entry.fallback == name:
        raise BadSetting(setting, f"{entry.fallback!r} is not another upstream of the settings: see [upstreams]")
    if not other.key_env:
        told = f"{entry.fallback!r} needs a key of its own (key_env): a client's key for {name!r} is sent nowhere else"
        raise BadSetting(setting, told)
    if spoken_with(entry.api).isdisjoint(spoken_with(other.api)):
        raise BadSetting(setting, f"{entry.fallback!r} speaks {other.api}, and {name!r} {entry.api}")


def choose(targets: Sequence[Target], api: str, model: str, name: str = "") -> Target:
    """The upstream for a request: the one its path names, otherwise the first that offers its API and has the model.

    A request without a model goes to the first that offers its API.
    """
    if name:
        for target in targets:
            if target.name == name:
                return target
        raise Refused(404, f"no upstream is called {name!r}: configured are {_names(targets)}", "unknown_upstream")
    speaking = [target for target in targets if api in target.apis]
    for target in speaking:
        if not model or target.serves(model):
            return target
    if speaking:
        raise Refused(404, f"no upstream serves the model {model!r}: see upstreams.NAME.models", "model_not_found")
    raise Refused(404, f"no upstream speaks {api}: configured are {_names(targets)}", "unknown_upstream")


def only_targets(targets: Sequence[Target]) -> dict[str, Target]:
    """For each API, its first upstream if that one serves any model."""
    speaking = {api: [target for target in targets if api in target.apis] for api in sorted(ALL)}
    return {api: found[0] for api, found in speaking.items() if found and not found[0].models}


def _names(targets: Iterable[Target]) -> str:
    return ", ".join(target.name for target in targets) or "none"


def without(query: str, secret: str | None) -> str:
    """A query string without secrets. Example: "alt=sse&key=SECRET" -> "alt=sse" """
    if secret is None or not query or secret not in unquote_plus(query):
        return query
    return urlencode([pair for pair in parse_qsl(query, keep_blank_values=True) if not any(secret in x for x in pair)])


def is_key_header(name: bytes) -> bool:
    return name in _KEY_HEADERS


def lacking_keys(settings: Settings) -> Mapping[str, str]:
    """The upstreams whose key variable isn't set, with the variable. Example: {"groq": "GROQ_API_KEY"}"""
    named = {name: entry.key_env for name, entry in settings.upstreams.items() if entry.key_env}
    return {name: variable for name, variable in named.items() if settings.secret(variable) is None}
