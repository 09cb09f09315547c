"""Compaction requested by a Responses client: done by the upstream if it can, otherwise by Brim without a model."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from brim import counting, fitting
from brim.apis.openai_responses import compaction
from brim.conversation import encode
from brim.errors import BrimError, BudgetTooSmall
from brim.gateway.fitting.fit_result import FitResult
from brim.gateway.observe.logs import tell
from brim.gateway.proxy.asked import peek
from brim.gateway.proxy.controls import controls_of
from brim.gateway.proxy.downstream import JSON
from brim.gateway.proxy.faults import Refused
from brim.gateway.proxy.saving import Saving
from brim.gateway.proxy.upstream_response import UpstreamResponse
from brim.gateway.proxy.upstreams import Target
from brim.gateway.server import access, bodies
from brim.models import Model

if TYPE_CHECKING:
    from brim.gateway.proxy.exchange import Exchange

# The share of the budget to compact to, as in sessions.
COMPACT_TO: Final = 0.6
# Statuses of an upstream that doesn't know compaction; other errors are about the key, the account or the load.
UNKNOWN: Final = (400, 404, 405, 415, 422, 500, 501)
# Bytes of an answer to hold back to see whether it has the item; summaries are far shorter.
LONGEST: Final = 8 << 20
# A little more than what must stay, if that exceeds the target of the compaction.
MARGIN: Final = 1.02
STAND_IN: Final = "gpt-4o"
EVENTS: Final = (b"content-type", b"text/event-stream; charset=utf-8")


async def whole(incoming: bodies.Incoming, limit: int) -> bytes:
    """The content of a body, even if it is large, compressed and in pieces."""
    return await asyncio.to_thread(_joined, incoming, limit) if incoming.large else incoming.content


def _joined(incoming: bodies.Incoming, limit: int) -> bytes:
    """A body that can't be unpacked stays as it is; fitting it will report what is wrong."""
    raw = b"".join(incoming.pieces)
    try:
        return bodies.unpack(raw, incoming.packing, limit, limit) if incoming.packing else raw
    except (Refused, bodies.TooMuch):
        return raw


async def opened(incoming: bodies.Incoming, said: bytes) -> bodies.Incoming:
    """The request with Brim's own compaction items turned into messages, because no upstream knows them."""
    if not compaction.holds_ours(said):
        return incoming
    content = await asyncio.to_thread(_opened, said)
    return bodies.Incoming(b"", b"", (content,)) if incoming.large else bodies.Incoming(content, content)


def _opened(content: bytes) -> bytes:
    value = compaction.read(content)
    return encode(compaction.opened(value)) if value else content


async def compact(exchange: Exchange, incoming: bodies.Incoming, before: bytes) -> None:
    """Answer a request for compaction. `before` is the body as sent, with the items of earlier compactions."""
    asked = peek(before)
    target = exchange.target_of(asked.model)
    access.check_key(exchange.headers, exchange.options, target)
    if target.name not in exchange.gateway.uncompacting and await _by_upstream(exchange, incoming):
        return
    controls = controls_of(exchange.headers, exchange.options.policy, exchange.tenant)
    if exchange.turn is None:
        exchange.open_turn(target, controls, asked)
    body = await _by_brim(exchange, before, target)
    head = EVENTS if asked.stream is True and exchange.route.kind == "fit" else JSON
    await exchange.respond(200, [head, *exchange.brim_headers()], body)
    exchange.note_status(200)
    exchange.done()


async def _by_upstream(exchange: Exchange, incoming: bodies.Incoming) -> bool:
    """Ask the upstream; returns whether the client was answered. An upstream without compaction is asked only once."""
    out = await exchange.fitted(incoming)
    if out is None:
        return True
    if exchange.grant is not None:
        await exchange.grant.reserve(exchange.result.after if exchange.result is not None else 0)
    saving = Saving(exchange)
    answer = await exchange.send_upstream(out.target, out.headers, out.body)
    async with answer:
        await saving.done()
        held: list[bytes] = []
        if answer.status == 200 and not out.target.well_known:
            held = await _held(answer)
            able = compaction.holds_item(b"".join(held))
        else:
            able = answer.status not in UNKNOWN
        if able:
            await exchange.relay(answer, held)
            return True
        if answer.status != 500 and not out.target.well_known:
            exchange.gateway.uncompacting.add(out.target.name)
    tell("compaction not known upstream", upstream=out.target.name, status=answer.status)
    return False


async def _held(answer: UpstreamResponse) -> list[bytes]:
    found: list[bytes] = []
    size = 0
    async for chunk in answer.chunks():
        found.append(chunk)
        size += len(chunk)
        if size > LONGEST:
            break
    return found


async def _by_brim(exchange: Exchange, before: bytes, target: Target) -> bytes:
    fitter, turn = exchange.gateway.fitter, exchange.turn
    assert turn is not None
    controls = controls_of(exchange.headers, exchange.options.policy, exchange.tenant)
    model = fitter.models.find(turn.model, target.name, exchange.tenant) or fitter.models.catalog.find(STAND_IN)
    limit = min(model.max_input(None), controls.budget or model.window)
    body = await asyncio.to_thread(compaction.read, before)
    items = _asked_for(exchange, body)
    fitted = await asyncio.to_thread(_fitted, items, model, limit, fitter.fit_timeout)
    live = fitter.conversations.of(fitted.conversation, controls.session, exchange.tenant)
    live.archive.update((handle, len(text)) for handle, text in fitted.archive.items())
    await fitter.archive(live, [text.encode("utf-8", "surrogatepass") for text in fitted.archive.values()])
    counter = fitter.counter(model, exchange.api, None)
    made = compaction.item(compaction.lines_of(fitted.conversation.messages))
    taken = fitted.report.before
    size = fitted.tokens
    if not turn.number:
        turn.note = "compacted by Brim: the upstream does not know how"
        exchange.note_fit(
            FitResult(
                encode(made),
                live,
                exchange.api,
                turn.model,
                model=model,
                before=taken,
                after=size,
                upper=counter.count(fitted.conversation).upper,
                limit=limit,
                archived=len(fitted.archive),
                changed=True,
                parsed=fitted.conversation,
            )
        )
    one_call = exchange.route.kind == "compact"
    output = [*compaction.from_user(items), made] if one_call else [made]
    kind = "response.compaction" if one_call else "response"
    whole = compaction.answer(turn.id, turn.model, int(time.time()), output, (taken, size), kind)
    return compaction.events(whole) if body.get("stream") is True and not one_call else encode(whole)


def _asked_for(exchange: Exchange, body: dict[str, Any]) -> list[Any]:
    """The items to compact. Raises Refused if there are none."""
    given = body.get("input")
    items = given if exchange.route.kind == "compact" else compaction.without_trigger(given)
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    if not isinstance(items, list) or not items:
        raise Refused(400, "input: there is nothing to compact", "nothing_to_compact")
    return list(compaction.opened(items, "assistant"))


def _fitted(items: list[Any], model: Model, limit: int, seconds: float) -> fitting.Fitted:
    """The items, compacted to the target share of the budget, or of their own size if that is less."""
    body = {"model": model.name, "input": items}
    given: dict[str, Any] = {"model": model, "api": "openai_responses", "fit_timeout": seconds, "reserve": 0}
    try:
        took = counting.count(body, model=model, api="openai_responses").tokens
        return fitting.fit(body, budget=max(1, int(min(limit, took) * COMPACT_TO)), **given)
    except BudgetTooSmall as refusal:
        try:
            return fitting.fit(body, budget=int(refusal.needed * MARGIN), **given)
        except BudgetTooSmall as problem:
            raise Refused(400, str(problem)[:300], "context_length_exceeded") from None
    except BrimError as problem:
        raise Refused(400, str(problem)[:300], "not_compacted") from None
