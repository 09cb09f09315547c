"""Sends a request to another upstream, if a setting names one, when its own failed before the first byte of the answer.

This is a second request: the first upstream may have read and charged the one it didn't answer. Neither gets it twice.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from brim.gateway.observe.logs import tell
from brim.gateway.proxy.faults import Refused, UpstreamFault
from brim.gateway.proxy.outgoing import Outgoing
from brim.gateway.proxy.upstream_response import UpstreamResponse
from brim.gateway.proxy.upstreams import Target, is_key_header
from brim.gateway.server import access

if TYPE_CHECKING:
    from brim.gateway.proxy.exchange import Exchange


async def first_answer(exchange: Exchange, out: Outgoing) -> UpstreamResponse:
    """The answer of the request's upstream, or of the fallback if that fails.

    `out` then names the fallback, so that everything sent later goes there too.
    """
    first, other = out.target, fallback_of(exchange, out)
    try:
        answer = await exchange.send_upstream(first, out.headers, out.body)
    except UpstreamFault as fault:
        if other is None:
            raise
        why = fault.message
    else:
        if other is None or answer.status < 500:
            return answer
        answer.close()
        why = f"it answered {answer.status}"
    _turn_to(exchange, out, other, why)
    return await exchange.send_upstream(other, out.headers, out.body)


def fallback_of(exchange: Exchange, out: Outgoing) -> Target | None:
    """The fallback for a request, which needs its own key, the model, and a window at least as large.

    A virtual key is for one upstream only, so its requests have no fallback.
    """
    turn, result = exchange.turn, exchange.result
    if not out.target.fallback or exchange.key is not None or turn is None:
        return None
    other = next((target for target in exchange.options.targets if target.name == out.target.fallback), None)
    if other is None or other.key is None or exchange.api not in other.apis or not other.serves(turn.model):
        return None
    if result is not None and result.model is not None:
        there = exchange.gateway.fitter.models.find(turn.model, other.name, exchange.tenant)
        if there is None or there.window < result.model.window:
            return None
    try:
        access.check_key(exchange.headers, exchange.options, other)
    except Refused:  # not just any web page may spend that key
        return None
    return other


def _turn_to(exchange: Exchange, out: Outgoing, other: Target, why: str) -> None:
    """Switch to another upstream, with its key instead of the client's, and log it."""
    turn, first = exchange.turn, out.target.name
    assert turn is not None
    secret = [pair for pair in out.headers if is_key_header(pair[0]) or pair[0] == b"cookie"]
    out.headers = [*(pair for pair in out.headers if pair not in secret), *other.key_headers(exchange.api)]
    out.target = other
    turn.upstream = other.name
    turn.note = f"sent to {other.name!r} too, {first!r} failed: {why}"[:300]
    exchange.fell_back = True
    exchange.gateway.metrics.add("brim_fallbacks_total", (first, other.name))
    tell(
        "fallback", logging.WARNING, session=turn.session, model=turn.model, upstream=first, to=other.name, problem=why
    )
