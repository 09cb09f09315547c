"""A request on its way to an upstream."""

from __future__ import annotations

import msgspec

from brim.gateway.proxy.controls import Controls
from brim.gateway.proxy.headers import Pairs
from brim.gateway.proxy.upstreams import Target


class Outgoing(msgspec.Struct, eq=False):
    """A request ready to send, and the uncompressed original in case it must be made again."""

    target: Target
    headers: Pairs
    body: bytes | tuple[bytes, ...]
    """In one, or in pieces if it is large."""
    content: bytes
    controls: Controls

    def answered(self) -> None:
        """Drop both bodies; neither is sent again."""
        self.body = self.content = b""
