"""The gateway's options: its settings, resolved at the start and again at each reload."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from brim.errors import BadSetting
from brim.gateway.fitting.summarizing import summarizer_target
from brim.gateway.limits.tenant_limits import UNLIMITED, TenantLimits, tenant_limits
from brim.gateway.proxy.provider_options import Edits, edits_of
from brim.gateway.proxy.upstreams import Target, only_targets, targets_of
from brim.gateway.server.origins import Origins, origins_of
from brim.gateway.server.tenant import Network
from brim.models import Catalog
from brim.planning.policies.policy import Policy
from brim.settings import GatewaySettings as GatewaySettings
from brim.settings import Settings

HEADER_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that determines how a request is handled. A reload replaces it with a new one."""

    gateway: GatewaySettings
    targets: tuple[Target, ...]
    policy: Policy
    settings: Settings
    token: str | None = field(default=None, repr=False)
    only: Mapping[str, Target] = field(default_factory=dict)
    """The upstream of each API whose first serves whatever model."""
    context_management: Edits = ()
    """What of Anthropic's own context management is switched on, by names or globs of models."""
    summarizer: Target | None = None
    """Who is asked for summaries; None: nobody."""
    operator: str | None = field(default=None, repr=False)
    """The token of whoever may see all tenants; None: whoever comes without an API key."""
    proxies: tuple[Network, ...] = ()
    """From where a header that names the tenant is believed."""
    origins: Origins = field(default_factory=Origins)
    """The web pages and Electron apps that may call the gateway, besides its own pages."""
    tenant_limits: TenantLimits = UNLIMITED

    def catalog(self) -> Catalog:
        """The catalog of models, including those in the settings."""
        found = Catalog()
        for name, entry in self.settings.models.items():
            found.override(name, entry.given())
        return found

    @property
    def recall(self) -> Literal["auto", "tool", "off"]:
        return self.gateway.recall

    @property
    def guarded(self) -> bool:
        """Whether an access token is required."""
        return self.token is not None


def options_of(settings: Settings, *, upstream: str = "", clear_tool_uses: tuple[str, ...] = ()) -> Options:
    """Options from settings. Raises BadSetting, also for listening beyond loopback without a token."""
    gateway = settings.gateway
    token = _token(settings, "gateway.access_token_env", gateway.access_token_env)
    operator = _token(settings, "gateway.operator_token_env", gateway.operator_token_env)
    if operator is not None and operator == token:
        raise BadSetting("gateway.operator_token_env", "is the token that all clients hold: give the operator another")
    if token is None and not is_loopback(gateway.host):
        raise BadSetting(
            "gateway.host",
            f"{gateway.host} is not loopback: others could use your keys. Set an access token first "
            "(gateway.access_token_env names the variable that holds it)",
        )
    policy = dict(settings.policy)
    targets = targets_of(settings, upstream)
    return Options(
        gateway=gateway,
        targets=targets,
        only=only_targets(targets),
        policy=Policy.named(str(policy.pop("name")), policy),
        settings=settings,
        token=token,
        operator=operator,
        context_management=edits_of(settings.models, (*gateway.clear_tool_uses, *clear_tool_uses)),
        summarizer=summarizer_target(settings, targets),
        proxies=_proxies(gateway, token),
        origins=origins_of(gateway.allowed_origins),
        tenant_limits=tenant_limits(gateway),
    )


def _token(settings: Settings, setting: str, variable: str) -> str | None:
    """The token in the variable that a setting names; None if it names none. Raises BadSetting."""
    if not variable:
        return None
    token = settings.secret(variable)
    if token is None:
        raise BadSetting(setting, f"the variable {variable} is not set")
    if len(token) < 16:
        raise BadSetting(setting, "the token must have at least 16 characters")
    return token


def _proxies(gateway: GatewaySettings, token: str | None) -> tuple[Network, ...]:
    """The networks of proxies that may name a tenant. Raises BadSetting if anyone could."""
    if gateway.tenant_header and gateway.join_tenants:
        raise BadSetting("gateway.tenant_header", "names tenants, and gateway.join_tenants joins them: set one of both")
    if gateway.tenant_header and token is None and not gateway.trusted_proxies:
        raise BadSetting(
            "gateway.tenant_header",
            "any client could name another's tenant: set gateway.trusted_proxies, or an access token that only your "
            "proxy holds (gateway.access_token_env)",
        )
    try:
        return tuple(ipaddress.ip_network(given) for given in gateway.trusted_proxies)
    except ValueError as problem:
        raise BadSetting("gateway.trusted_proxies", f"{problem}: give addresses or networks, as 10.0.0.0/8") from None


@lru_cache(256)
def is_loopback(host: str) -> bool:
    """Example: "127.0.0.1", "::1", "localhost" -> True; "0.0.0.0" -> False"""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
