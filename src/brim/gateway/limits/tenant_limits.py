"""The limits of each tenant, from the settings; a virtual key has its own limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from brim.gateway.limits.allowance import Allowance, allowance
from brim.settings import GatewaySettings


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """The limits of a tenant over all gateways; `in_work` is the number of concurrent requests, 0 for no limit."""

    budget: Allowance | None = None
    rate: Allowance | None = None
    in_work: int = 0

    @property
    def given(self) -> bool:
        return self.budget is not None or self.rate is not None or self.in_work > 0


UNLIMITED: Final = TenantLimits()


def tenant_limits(settings: GatewaySettings) -> TenantLimits:
    """Raises BadSetting."""
    given = {"budget": settings.tenant_budget, "rate": settings.tenant_rate}
    found = {name: allowance(text, f"gateway.tenant_{name}") if text else None for name, text in given.items()}
    return TenantLimits(**found, in_work=settings.tenant_requests)
