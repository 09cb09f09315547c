"""The models used last, by each client and at each provider, where the last one is the default.

Both are in the store, so they survive restarts and are shared by all gateways.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from brim import incidents
from brim.deadline import OutOfTime
from brim.sessions.tenancy import scoped
from brim.stores.protocol import Store

# Clients choose the names. Beyond this many the oldest leave memory, and are read from the store when used again.
MOST_NAMES: Final = 5_000
OPERATOR: Final = ""
"""Whose last models are those of all tenants together."""
LastKey = tuple[str, str, str]
"""Of a client or a provider, whose, and its name."""


class LastModels:
    """Remembers models by client and by provider. `in_time` makes a store call off the event loop."""

    def __init__(self, store: Store, in_time: Callable[..., Awaitable[Any]]) -> None:
        self._store = store
        self._in_time = in_time
        self._known: dict[LastKey, str] = {}

    def of_client(self, client: str, tenant: str) -> str:
        """The model that a tenant's client used last; empty if it sent nothing since the start."""
        return self._known.get(("client", tenant, client), "")

    async def find(self, kind: str, name: str, tenant: str) -> str:
        """The last model of a "client" or at a "provider", even from before the start; empty if there is none."""
        key = kind, tenant, name
        if name and key not in self._known:
            try:
                kept = await self._in_time(self._store.get_value, _place(key))
            except (Exception, OutOfTime) as problem:
                incidents.note("store", problem)
                return ""
            self._put(key, kept.decode() if kept else "")
        return self._known.get(key, "")

    def restore(self, providers: list[str]) -> None:
        """Load the operator's defaults for these providers; waits for the store."""
        for name in providers:
            kept = self._store.get_value(default_place(name))
            if kept:
                self._put(("provider", OPERATOR, name), kept.decode())

    def clients(self, tenant: str | None = None) -> dict[str, str]:
        """The model that each client used last since the start, of one tenant or of all."""
        return self._listed("client", lambda whose: tenant in (None, whose))

    def defaults(self, tenant: str | None = None) -> dict[str, str]:
        """The model used last at each provider, by one tenant or (None) by all together."""
        return self._listed("provider", lambda whose: whose == (OPERATOR if tenant is None else tenant))

    def used(self, client: str, provider: str, tenant: str, model: str) -> dict[str, bytes]:
        """Remember what was used, and return the values to keep in the store, if any are new."""
        keys: list[LastKey] = [("client", tenant, client)] if client else []
        if provider:
            keys += [("provider", tenant, provider), ("provider", OPERATOR, provider)]
        known = self._known.get
        news = [key for key in keys if model and known(key) != model]
        for key in news:
            self._put(key, model)
        return {_place(key): model.encode() for key in news}

    def _listed(self, kind: str, whose: Callable[[str], bool]) -> dict[str, str]:
        known = sorted(self._known.items())
        return {name: model for (what, tenant, name), model in known if model and what == kind and whose(tenant)}

    def _put(self, key: LastKey, model: str) -> None:
        self._known[key] = model
        if len(self._known) > MOST_NAMES:
            del self._known[next(iter(self._known))]


def default_place(provider: str) -> str:
    """Where the store keeps the operator's default of a provider. Example: "openai" -> "provider.openai.model" """
    return _place(("provider", OPERATOR, provider))


def _place(key: LastKey) -> str:
    kind, tenant, name = key
    return scoped(tenant, f"{kind}.{name}.model")
