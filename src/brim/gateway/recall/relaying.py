"""The recall loop: relays an answer, and when the model asks to recall, answers it and continues."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

from brim import apis, incidents
from brim.apis import error_bodies, streamed_usage
from brim.apis.recall_dialect import Round, Splice, events_in
from brim.apis.recall_rounds import round_of
from brim.conversation import decode, encode
from brim.deadline import OutOfTime
from brim.gateway.fitting.conversations import Live
from brim.gateway.fitting.fitter import Fitter
from brim.gateway.observe.logs import tell
from brim.gateway.proxy.faults import UpstreamFault
from brim.gateway.proxy.headers import Pairs, returned
from brim.gateway.proxy.upstream_response import UpstreamResponse
from brim.gateway.proxy.upstreams import Target
from brim.gateway.recall.offering import extended
from brim.gateway.recall.tool import answer as recalled

if TYPE_CHECKING:
    from brim.gateway.proxy.exchange import Exchange

ROUNDS: Final = 6
LARGEST_ANSWER: Final = 64 << 20
# Share of the free room for a recalled part; framing and the model's next words need the rest.
SHARE: Final = 0.5
# Earlier messages to examine for a query.
FOUND: Final = 8


async def relay_with_recall(
    exchange: Exchange, answer: UpstreamResponse, held: list[bytes], target: Target, headers: Pairs, body: bytes
) -> None:
    """Relay an answer to the client, answering recalls on the way.

    `held` is what was already read of it, `body` the request it answers.
    """
    packed = answer.header("content-encoding") not in ("", "identity")
    if packed:  # compressed although we asked for uncompressed, so it can't be read
        await exchange.relay(answer, held)
        return
    plain = [pair for pair in headers if pair[0] != b"content-encoding"]
    loop = _Loop(exchange, target, plain, body)
    if answer.header("content-type").startswith("text/event-stream"):
        await loop.streamed(answer, held)
    else:
        await loop.whole(answer)


class _Loop:
    """The rounds of one answer."""

    def __init__(self, exchange: Exchange, target: Target, headers: Pairs, body: bytes) -> None:
        self.exchange = exchange
        self.target = target
        self.headers = headers
        self.body = body
        self.splice = Splice()
        self.spent = 0

    async def whole(self, answer: UpstreamResponse) -> None:
        exchange = self.exchange
        while True:
            body = await answer.read(LARGEST_ANSWER)
            exchange.reader = reader = streamed_usage.BodyReader(exchange.api)
            reader.feed(body)
            made = round_of(exchange.api, self.splice)
            try:
                value = decode(body)
            except (ValueError, RecursionError):
                value = None
            said = made.whole(value) if isinstance(value, dict) and answer.status == 200 else None
            if said is None or not made.asked:
                changed = said is not None and self.splice.round > 1
                final = encode(said) if changed else body
                exchange.note_status(answer.status)
                await exchange.respond(
                    answer.status, returned(answer.headers, changed=changed) + exchange.brim_headers(), final
                )
                exchange.done()
                return
            self._keep_usage(reader)
            answer.close()
            answer = await self._next(made)

    async def streamed(self, answer: UpstreamResponse, held: list[bytes]) -> None:
        exchange = self.exchange
        exchange.note_status(answer.status)
        await exchange.start(answer.status, returned(answer.headers, changed=True) + exchange.brim_headers())
        while True:
            made = round_of(exchange.api, self.splice)
            exchange.reader = reader = streamed_usage.StreamReader(exchange.api)
            buffer = bytearray()
            async for chunk in _all(held, answer):
                reader.feed(chunk)
                buffer += chunk
                if pieces := [piece for event in events_in(buffer) for piece in made.event(event)]:
                    await exchange.pass_on(b"".join(pieces))
            if not made.asked:
                await exchange.pass_on(b"".join(made.flush()) + bytes(buffer))
                break
            self._keep_usage(reader)
            answer.close()
            answer, held = await self._next(made), []
            if answer.status != 200:
                await self._broken(answer)
                break
        answer.close()
        await exchange.end()
        exchange.done()

    async def _next(self, made: Round) -> UpstreamResponse:
        """Answer the recalls and ask the model to go on."""
        exchange, splice = self.exchange, self.splice
        splice.round += 1
        if splice.round > ROUNDS:
            raise UpstreamFault(502, f"the model recalled {ROUNDS - 1} times without an answer", "recall_loop")
        answers = [await self._recalled_in_time(one.arguments) for one in made.asked]
        if exchange.turn is not None:
            exchange.turn.recalls += len(answers)
        field = apis.APIS[exchange.api].list_field
        self.body = extended(self.body, field, made.turns(answers))
        return await exchange.send_upstream(self.target, self.headers, self.body)

    async def _recalled_in_time(self, arguments: Any) -> str:
        """The recalled content. If the store fails or hangs, only this recall is lost, not the model's answer."""
        with incidents.collected() as found:
            try:
                return await self.exchange.gateway.fitter.in_time(self._recalled, arguments)
            except (Exception, OutOfTime) as problem:
                incidents.note("store", problem)
                return "[the archive cannot be read now: go on without it, or ask again later]"
            finally:
                self.exchange.survived(found)

    def _recalled(self, arguments: Any) -> str:
        result = self.exchange.result
        if result is None or result.model is None:
            return "[nothing of this conversation was shortened or archived]"
        count = self.exchange.gateway.fitter.counter(result.model, self.exchange.api, result.actuals).text
        room = int((result.limit - result.upper - self.spent) * SHARE)
        text = recalled(
            _Earlier(self.exchange.gateway.fitter, result.live), arguments, min(room, result.limit // 4), count
        )
        size = count(text)
        self.spent += size + 64
        tell("recalled", session=result.live.id, tokens=size, room=room)
        return text

    def _keep_usage(self, reader: streamed_usage.UsageReader) -> None:
        """The first round is the fitted request; the others cost money but teach nothing."""
        found = reader.usage()
        if found is not None:
            self.exchange.rounds.append(found)

    async def _broken(self, answer: UpstreamResponse) -> None:
        """The continuation failed after the client received a part, so send an event on which its SDK raises."""
        body = await answer.read(1 << 20)
        self.exchange.note_status(answer.status)
        text = f"the upstream answered {answer.status} in the middle of a recall"
        tell("recall failed", status=answer.status, size=len(body))
        await self.exchange.pass_on(error_bodies.stream_error(self.exchange.api, answer.status, text, "recall_failed"))


class _Earlier:
    """A conversation's earlier content, for the tool."""

    def __init__(self, fitter: Fitter, live: Live) -> None:
        self._fitter = fitter
        self._live = live

    def get(self, handle: str) -> str | None:
        return self._fitter.archived(self._live, handle)

    def search(self, query: str) -> dict[str, str]:
        return self._fitter.search(self._live, query, FOUND)

    def handles(self) -> list[str]:
        return list(self._live.archive)


async def _all(held: list[bytes], answer: UpstreamResponse) -> AsyncIterator[bytes]:
    for chunk in held:
        yield chunk
    async for chunk in answer.chunks():
        yield chunk
