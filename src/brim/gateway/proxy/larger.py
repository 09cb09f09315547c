"""Sends a request that can't be made to fit to a model with a larger window, if a setting names one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from brim.conversation import encode
from brim.errors import BudgetTooSmall
from brim.gateway.observe.logs import tell
from brim.gateway.proxy.controls import Controls
from brim.gateway.proxy.faults import Refused
from brim.gateway.proxy.upstreams import Target
from brim.gateway.server import access

if TYPE_CHECKING:
    from brim.gateway.proxy.exchange import Exchange

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


async def fitted_larger(
    exchange: Exchange, content: bytes, target: Target, controls: Controls
) -> tuple[bytes, Target] | None:
    """The request fitted for the larger model, and its upstream; None if there is no such setting or model.

    A budget that the client set itself still applies. Models without a known window don't qualify.
    """
    turn, name = exchange.turn, exchange.turn.model if exchange.turn is not None else ""
    entry = exchange.options.settings.models.get(name)
    larger = entry.larger if entry is not None else None
    if turn is None or not larger or exchange.route.model or controls.dry_run or controls.budget is not None:
        return None
    fitter, tenant = exchange.gateway.fitter, exchange.tenant
    try:
        other = exchange.target_of(larger)
        access.check_key(exchange.headers, exchange.options, other)
    except Refused:  # no upstream has that model, or the client may not use it; it is told that the prompt is too long
        return None
    if other.name != target.name and other.key is None:
        return None  # the client's key is for the original upstream
    here, there = fitter.models.find(name, target.name, tenant), fitter.models.find(larger, other.name, tenant)
    if there is None or (here is not None and there.window <= here.window):
        return None
    fields = _fields.decode(content)
    fields["model"] = msgspec.Raw(encode(larger))
    content = msgspec.json.encode(fields)
    try:
        exchange.result = await exchange.fit(content, other, controls)
    except BudgetTooSmall:
        return None
    if exchange.result is None:  # it couldn't be parsed, and is never sent unchanged
        return None
    turn.model, turn.upstream = larger, other.name
    turn.note = f"sent to {larger!r}: what must stay does not fit into {name!r}"[:300]
    exchange.gateway.metrics.add("brim_larger_models_total", (name, larger))
    tell("larger model", logging.WARNING, session=turn.session, model=name, to=larger)
    return content, other
