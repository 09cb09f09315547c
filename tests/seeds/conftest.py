"""The gateway in front of a fake provider, as its own tests have it."""

from __future__ import annotations

from tests.gateway.conftest import fake, gateway, loop, start

__all__ = ["fake", "gateway", "loop", "start"]
