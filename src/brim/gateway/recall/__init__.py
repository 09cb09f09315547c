"""`brim_recall` inside the gateway: offered in every request, answered here, never seen by the client."""

from __future__ import annotations

from brim.apis.recall_rounds import RECALLING
from brim.gateway.recall.offering import offered
from brim.gateway.recall.relaying import relay_with_recall

__all__ = ["RECALLING", "offered", "relay_with_recall"]
