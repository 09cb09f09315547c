"""Large requests: a worker process parses and fits them, and their bytes pass through the gateway in pieces.

The gateway keeps only numbers and the report. If planning fails in the worker, the plain planner runs there. If that
fails too, the request is refused, because nobody knows whether it fits; it is never sent unchanged.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from brim import apis, incidents
from brim.errors import BadBody, BrimError, BudgetTooSmall
from brim.gateway.fitting.fit_result import FitResult
from brim.gateway.proxy import overflow
from brim.gateway.proxy.asked import AskedFor
from brim.gateway.proxy.controls import Controls, controls_of
from brim.gateway.proxy.faults import Refused
from brim.gateway.proxy.headers import forwarded
from brim.gateway.proxy.outgoing import Outgoing
from brim.gateway.proxy.provider_options import prepared
from brim.gateway.proxy.upstreams import Target
from brim.gateway.server import access, bodies
from brim.gateway.server.jobs import FitDone, FitJob, ReadJob, RefitJob
from brim.gateway.server.offload import Visit, WorkerFault, report_of
from brim.models import Model

if TYPE_CHECKING:
    from brim.gateway.proxy.exchange import Exchange


async def fit_large(exchange: Exchange, incoming: bodies.Incoming) -> Outgoing | None:
    """The request to send; None if it can't be made to fit and was answered here."""
    gateway, route, options = exchange.gateway, exchange.route, exchange.options
    controls = controls_of(exchange.headers, options.policy, exchange.tenant)
    async with gateway.offload.visit(exchange.tenant) as visit:
        query = exchange.scope["query_string"]
        job = ReadJob(exchange.api, incoming.packing, options.gateway.body_limit, route.model, route.streamed, query)
        asked = await visit.read(job, incoming.pieces)
        target = exchange.target_of(route.model or asked.model)
        access.check_key(exchange.headers, options, target)
        turn = exchange.open_turn(target, controls, AskedFor(asked.model, asked.stream))
        pieces: Sequence[bytes] = ()
        if not controls.bypass:
            with incidents.collected() as found:
                try:
                    exchange.result, pieces = await _fitted(exchange, visit, target, controls, asked.model)
                except BudgetTooSmall as refusal:
                    await exchange.too_long(refusal)
                    return None
                finally:
                    exchange.survived(found)
    result = exchange.result
    if result is not None:
        exchange.note_fit(result)
    headers = forwarded(exchange.scope["headers"], target, exchange.api, fitted=True, token=gateway.token_bytes)
    turn.added_ms = (time.perf_counter() - exchange.began) * 1e3
    if result is None or not result.changed or controls.dry_run:
        return Outgoing(target, headers, incoming.pieces, b"", controls)
    headers = [pair for pair in headers if pair[0] != b"content-encoding"]
    body: bytes | tuple[bytes, ...] = tuple(pieces)
    if apis.APIS[exchange.api].context_options is not None and options.context_management:
        body, headers = prepared(b"".join(pieces), headers, turn.model, options.context_management, exchange.api)
    return Outgoing(target, headers, body, b"", controls)


async def _fitted(
    exchange: Exchange, visit: Visit, target: Target, controls: Controls, name: str
) -> tuple[FitResult | None, Sequence[bytes]]:
    """The worker's result for a request; None if it couldn't parse it, which is for the upstream to judge."""
    gateway, fitter = exchange.gateway, exchange.gateway.fitter
    known = name or exchange.route.model or await fitter.last_models.find("client", controls.client, controls.tenant)
    model = fitter.models.find(known, target.name, controls.tenant)
    ship = gateway.offload.store is None
    job = FitJob(model, target.name, controls, fitter.policy, fitter.recall, ship)
    try:
        done, pieces = await visit.fit(job)
    except BadBody as problem:
        exchange.unfitted(f"not fitted, {problem}", 400)
        return None, ()
    except WorkerFault as problem:
        incidents.note("planning", problem)
        raise Refused(500, f"not fitted, {problem}"[:300], "not_fitted") from None
    assert done is not None
    return await _result(exchange, done, model), pieces


async def _result(exchange: Exchange, done: FitDone, model: Model | None) -> FitResult:
    """The worker's answer in the form that the rest of the gateway uses."""
    gateway = exchange.gateway
    live = gateway.fitter.conversations.known_as(done.live)
    live.engaged, live.large = live.engaged or done.engaged, True
    live.archive.update(done.handles)
    for incident in done.incidents:
        incidents.tell(incident)
    await gateway.fitter.archive(live, done.originals)
    return FitResult(
        b"",
        live,
        exchange.api,
        done.name,
        done.streamed,
        model=model,
        before=done.before,
        after=done.after,
        upper=done.upper,
        limit=done.limit,
        archived=done.archived,
        changed=done.changed,
        told=partial(report_of, done.report) if done.report else None,
        number=done.number,
    )


async def refit_large(
    exchange: Exchange, over: overflow.ReportedOverflow, target: Target, controls: Controls
) -> tuple[FitResult, tuple[bytes, ...]] | None:
    """The request fitted below what the upstream stated; None if the worker no longer has it."""
    gateway, result = exchange.gateway, exchange.result
    assert result is not None
    assert result.number is not None
    model = gateway.fitter.models.find(result.name, target.name, controls.tenant)
    ship = gateway.offload.store is None
    job = RefitJob(result.number, model, target.name, controls, over.tokens, over.window, ship)
    async with gateway.offload.visit(exchange.tenant) as visit:
        done, pieces = await visit.fit(job)
    if done is None:
        return None
    if done.window is not None:
        gateway.fitter.models.learn_window(done.name, target.name, done.window, controls.tenant)
        model = gateway.fitter.models.find(done.name, target.name, controls.tenant)
    return await _result(exchange, done, model), tuple(pieces)


async def learn_large(exchange: Exchange, tokens: int) -> None:
    """Tell the worker the usage of a request."""
    result = exchange.result
    assert result is not None
    assert result.number is not None
    try:
        await exchange.gateway.offload.learn(exchange.tenant, result.number, tokens)
    except (BrimError, Refused):
        return  # it is gone or busy; the next request will do


async def in_pieces(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
