"""One request of a client, from its arrival to the last byte of its answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from brim import apis, incidents
from brim.apis import Usage, error_bodies, streamed_usage
from brim.apis.addresses import keeps_nothing
from brim.apis.openai_responses import compaction
from brim.deadline import OutOfTime
from brim.errors import BadBody, BrimError, BudgetTooSmall, TooDeep
from brim.fitting import cut_output
from brim.gateway.fitting.fit_result import FitResult
from brim.gateway.fitting.large import fit_large, in_pieces, learn_large, refit_large
from brim.gateway.limits.admission import Grant
from brim.gateway.limits.tenant_limits import UNLIMITED
from brim.gateway.limits.virtual_keys import VirtualKey
from brim.gateway.observe.content_log import log_content, overheard
from brim.gateway.observe.logs import log, tell
from brim.gateway.observe.turns import GatewayTurn, TurnOutcome, slim
from brim.gateway.proxy import compacting, overflow
from brim.gateway.proxy.asked import AskedFor, peek
from brim.gateway.proxy.controls import Controls, controls_of
from brim.gateway.proxy.downstream import JSON, ClientSide
from brim.gateway.proxy.fallbacks import first_answer
from brim.gateway.proxy.faults import ClientGone, ExchangeFault, Limited, Refused, UpstreamFault
from brim.gateway.proxy.headers import Pairs, forwarded, returned
from brim.gateway.proxy.larger import fitted_larger
from brim.gateway.proxy.outgoing import Outgoing
from brim.gateway.proxy.provider_options import prepared
from brim.gateway.proxy.routes import Route, api_of
from brim.gateway.proxy.saving import Saving
from brim.gateway.proxy.upstream_response import UpstreamResponse
from brim.gateway.proxy.upstreams import Target, choose, without
from brim.gateway.recall import RECALLING, offered, relay_with_recall
from brim.gateway.server import access, bodies
from brim.gateway.server.client_watch import Lookout
from brim.gateway.server.concurrency_limit import Gates
from brim.gateway.server.protocol import LINES
from brim.incidents import Incident
from brim.models.discovery import with_default

if TYPE_CHECKING:
    from brim.gateway.server.app import Gateway


class Exchange(ClientSide):
    """Reads, fits, sends and relays one request, and records the outcome."""

    def __init__(
        self,
        gateway: Gateway,
        scope: Mapping[str, Any],
        receive: Any,
        send: Any,
        headers: dict[bytes, bytes],
        route: Route,
        tenant: str = "",
        secret: str = "",
    ) -> None:
        super().__init__(send)
        self.gateway = gateway
        self.options = gateway.options
        self.scope = scope
        self.receive = receive
        self.headers = headers
        self.route = route
        self.tenant = tenant
        self._secret = secret
        self.api = api_of(route, headers)
        self.began = time.perf_counter()
        self.result: FitResult | None = None
        self.reader: streamed_usage.UsageReader | None = None
        self.rounds: list[Usage] = []
        self.spoken: list[bytes] = []
        self._lookout = Lookout(scope, headers, gateway.lookouts, gateway.options.gateway.body_timeout)
        self._gates: Gates | None = None
        self.grant: Grant | None = None
        self._compacted_there = False  # then the upstream's usage is for less than what was sent
        self.fell_back = False  # usage from another upstream teaches nothing about the first
        self._held = gateway.holding.by(tenant)

    @property
    def key(self) -> VirtualKey | None:
        """The virtual key in the request."""
        return self.grant.key if self.grant is not None else None

    async def run(self) -> None:
        """Serve the request. Faults become answers in the provider's form; nothing is raised."""
        self._lookout.begin()
        try:
            limits = self.options.tenant_limits if self.route.kind != "models" else UNLIMITED
            self.grant = await self.gateway.admission.admit(self._secret, self.tenant, limits)
            self._check_shared()
            if self.route.kind in ("fit", "compact"):
                await self._served()
            else:
                await self._passed()
        except ClientGone:
            self._finish("gone")
        except asyncio.CancelledError:
            await self._cancelled()
        except ExchangeFault as fault:
            await self.fail(fault)
        except Exception:
            log.exception("fault inside the gateway")
            await self.fail(ExchangeFault(500, "a fault inside the gateway: its log has the details", "gateway_fault"))
        finally:
            self._lookout.end()
            self._held.release()
            if self.grant is not None:
                self.grant.settle(self._used())
            if self._gates is not None:
                self._gates.leave(self.tenant)

    def _check_shared(self) -> None:
        """Refuse what all virtual keys of an upstream share, as they stand for one key of the provider."""
        if self.key is not None and not keeps_nothing(self.scope["method"], self.route.path):
            told = (
                "a virtual key is for models alone: files, batches and stored answers belong to all who share one key"
            )
            raise Refused(403, told, "path_not_allowed")

    async def _served(self) -> None:
        """Fit the request and send it, or answer a Responses client that asks for a compaction."""
        incoming = await self._read()
        if apis.APIS[self.api].compacts:
            said = await compacting.whole(incoming, self.options.gateway.body_limit)
            incoming = await compacting.opened(incoming, said)
            if self.route.kind == "compact" or compaction.asks(said):
                await compacting.compact(self, incoming, said)
                return
            del said
        outgoing = await self.fitted(incoming)
        # Keep no reference to the body, so that it is freed when the answer begins, which may stream for minutes.
        del incoming
        if outgoing is not None:
            await self._exchange(outgoing)

    async def _read(self) -> bodies.Incoming:
        """Read the body. A request counts as in flight only once its body is there."""
        incoming = await bodies.read(
            self.receive,
            self.headers,
            self.options.gateway.body_limit,
            hold=self._held.add,
            known=self.gateway.fitter.mostly_known,
        )
        self._lookout.uploaded()
        await self._enter()
        return incoming

    async def _enter(self) -> None:
        gates = self.gateway.gates
        await gates.enter(self.tenant)
        self._gates = gates

    async def _cancelled(self) -> None:
        """The task was cancelled: the client left, its body didn't arrive, or something else cancelled it."""
        if not self._lookout.take_cancellation():
            self._finish("failed")
            raise asyncio.CancelledError
        if self._lookout.slow:
            await self.fail(bodies.too_slow())
            return
        # A client that leaves after the last event got all it wanted.
        ended = self.reader is not None and self.started and self.reader.ended
        self._finish("done" if ended else "gone")

    async def _passed(self) -> None:
        """Relay a request that isn't fitted, streaming its body through."""
        await self._enter()
        target = self.target_of(self.route.model)
        access.check_key(self.headers, self.options, target)
        models = self.route.kind == "models"
        headers = forwarded(self.scope["headers"], target, self.api, fitted=models, token=self.gateway.token_bytes)
        length = self.headers.get(b"content-length")
        body = None
        if length not in (None, b"0") or b"transfer-encoding" in self.headers:
            body = bodies.Upload(self.receive, self.headers, self.options.gateway.body_limit)
            if length is not None:
                headers.append((b"content-length", length))
        else:
            self._lookout.uploaded()
        try:
            answer = await self.send_upstream(target, headers, body.pieces() if body else None)
        except UpstreamFault:
            if body is not None and body.problem is not None:  # the upload failed, not the upstream
                raise body.problem from None
            raise
        async with answer:
            if not self._lookout.has_body:
                self._lookout.uploaded()
            if models and answer.status == 200:
                await self._models(answer, target)
            else:
                await self.relay(answer, [])

    def target_of(self, model: str) -> Target:
        """The upstream of this request; the first one if the path names no API and none offers the likely one."""
        targets, host = self.options.targets, self.route.host
        if self.key is not None:
            return self._granted(self.key.upstream, host, model)
        spoken = {api for target in targets for api in target.apis}
        likely = {api for target in targets if target.built_in == targets[0].built_in for api in target.apis}
        if not self.route.api and not self.route.upstream and self.api not in likely and targets:
            self.api = targets[0].own_api
        return choose(targets, host if host in spoken else self.api, model, self.route.upstream)

    def _granted(self, name: str, host: str, model: str) -> Target:
        """The upstream that a virtual key is for. Brim's own key is used there, or nothing is sent."""
        if self.route.upstream not in ("", name):
            raise Refused(403, f"this virtual key is for the upstream {name!r} alone", "upstream_not_allowed")
        target = choose(self.options.targets, host or self.api, model, name)
        if target.key is None:
            raise Refused(503, f"Brim has no key of its own for {name!r}: set upstreams.{name}.key_env", "no_key")
        return target

    async def _models(self, answer: UpstreamResponse, target: Target) -> None:
        """Relay a list of models, marking the one used last as default, and learn their windows."""
        body = await answer.read(16 << 20)
        if not answer.header("content-encoding"):
            self.gateway.discovery.learn(target, body)
            last = await self.gateway.fitter.last_models.find("provider", target.name, self.tenant)
            body = with_default(body, last) if last else body
        await self.respond(answer.status, returned(answer.headers), body)

    def send_upstream(self, target: Target, headers: Pairs, body: Any) -> Awaitable[UpstreamResponse]:
        query = without(self.scope["query_string"].decode("latin-1"), self.options.token)
        query = without(query, (self.grant.secret if self.grant is not None else "") or None)
        url = target.address(self.route.path, query, self.api)
        if isinstance(body, tuple):
            headers = [*headers, (b"content-length", b"%d" % sum(map(len, body)))]
            body = in_pieces(body)
        return self.gateway.client.send(self.scope["method"], url, headers, body)

    async def fitted(self, incoming: bodies.Incoming) -> Outgoing | None:
        """The request to send; None if it can't be made to fit and was answered here."""
        if incoming.large:
            return await fit_large(self, incoming)
        controls = controls_of(self.headers, self.options.policy, self.tenant)
        content = incoming.content
        # If only one upstream is possible, the body is parsed only once, by the fit.
        told = self.route.upstream or controls.bypass or self.key is not None
        target = None if told else self.options.only.get(self.route.host or self.api)
        asked = peek(content) if target is None else AskedFor()
        if target is None:
            target = self.target_of(self.route.model or asked.model)
        access.check_key(self.headers, self.options, target)
        self.open_turn(target, controls, asked)
        if not controls.bypass:
            if self.options.recall == "tool" and not controls.dry_run and self.api in RECALLING:
                content = offered(content, self.api, self.route.streamed, self.scope["query_string"])
            try:
                self.result = self._unread(content, target, controls) or await self.fit(content, target, controls)
            except BudgetTooSmall as refusal:
                assert self.turn is not None
                self.turn.model = self.turn.model or peek(content).model
                moved = await fitted_larger(self, content, target, controls)
                if moved is None:
                    await self.too_long(refusal)
                    return None
                content, target = moved
        result = self.result
        if result is None:
            content = incoming.content  # no recall tool in a request that Brim couldn't parse
        sent = content if result is None or controls.dry_run else result.body
        assert self.turn is not None
        if result is not None:
            self.note_fit(result)
        elif not self.turn.model:
            self.turn.model = peek(content).model
        headers = forwarded(self.scope["headers"], target, self.api, fitted=True, token=self.gateway.token_bytes)
        if apis.APIS[self.api].context_options and self.options.context_management and not controls.bypass:
            plain = sent
            sent, headers = prepared(sent, headers, self.turn.model, self.options.context_management, self.api)
            self._compacted_there = sent is not plain and not apis.APIS[self.api].edits_context
        self.turn.added_ms = (time.perf_counter() - self.began) * 1e3
        if sent is incoming.content:
            sent = incoming.raw  # as received, compressed or not
        else:
            headers = [pair for pair in headers if pair[0] != b"content-encoding"]
        return Outgoing(target, headers, sent, content, controls)

    def _unread(self, content: bytes, target: Target, controls: Controls) -> FitResult | None:
        """The request as it is, if it needs no reading to know that it fits, and nothing asks for reading it."""
        gateway, settings = self.gateway, self.options.gateway
        if settings.fail != "open" or settings.log_content:
            return None
        try:
            return gateway.fitter.passed_unread(content, self.api, self.route.model, target.name, controls)
        except Exception as problem:  # then it is read like any other
            self.survived([incidents.note("planning", problem)])
            return None

    async def fit(self, content: bytes, target: Target, controls: Controls) -> FitResult | None:
        """Fit the request. One that can't be parsed is forwarded unchanged or refused, as `fail_open` says."""
        with incidents.collected() as found:
            try:
                return await self._fit_anyhow(content, target, controls)
            except (BudgetTooSmall, ExchangeFault):
                raise
            except TooDeep as problem:
                raise Refused(400, str(problem)[:300], "nested_too_deep") from None
            except BadBody as problem:
                self.unfitted(f"not fitted, {problem}", 400)
            except BrimError as problem:  # settings that make no sense for this request: there is no limit to enforce
                raise Refused(500, f"not fitted, {problem}"[:300], "not_fitted") from None
            finally:
                self.survived(found)
        return None

    async def _fit_anyhow(self, content: bytes, target: Target, controls: Controls) -> FitResult:
        """Fit the request; if that fails, use the plain planner. An oversized request is never forwarded."""
        fitter = self.gateway.fitter
        given = (content, self.api, self.route.model, target.name, controls)
        try:
            return await fitter.fit(*given)
        except BrimError:
            raise
        except OutOfTime as problem:
            incidents.note("timeout", problem)
        except Exception as problem:
            incidents.note("planning", problem)
        try:
            return await fitter.plainly(*given)
        except BrimError:
            raise
        except Exception as problem:
            log.exception("the plain planner failed")
            incident = incidents.note("planning", problem)
            raise Refused(500, f"not fitted, {incident.fingerprint} inside Brim", "not_fitted") from None

    def survived(self, found: list[Incident]) -> None:
        """Count the faults that the request survived, and mention them in its log entry."""
        for incident in found:
            self.gateway.metrics.add("brim_faults_total", (incident.kind,))
        if found and self.turn is not None:
            self.turn.faults += len(found)
            self.turn.note = self.turn.note or str(found[-1])[:300]

    def unfitted(self, note: str, status: int) -> None:
        assert self.turn is not None
        self.turn.note = note[:300]
        if self.options.gateway.fail == "closed":
            raise Refused(status, note[:300], "not_fitted")

    async def _exchange(self, out: Outgoing) -> None:
        """Send, refit once if the upstream says "too long", and relay."""
        if self.grant is not None:
            await self.grant.reserve(self.result.after if self.result is not None else 0)
        saving = Saving(self)
        answer = await first_answer(self, out)
        over, held = await overflow.told(answer) if overflow.may_tell(answer, self.api) else (None, [])
        if over is not None:
            self.gateway.metrics.add("brim_faults_total", ("overflow",))
            again = await self._refit(over, out)
            if again is not None:
                answer.close()
                plain = [pair for pair in out.headers if pair[0] != b"content-encoding"]
                out.body, saving = again, Saving(self)
                answer, held = await self.send_upstream(out.target, plain, out.body), []
        async with answer:
            await saving.done()
            tooled = self.options.recall == "tool" and self.result is not None and not out.controls.dry_run
            if tooled and answer.status == 200 and self.api in RECALLING:
                body = b"".join(out.body) if isinstance(out.body, tuple) else out.body
                await relay_with_recall(self, answer, held, out.target, out.headers, body)
            else:
                out.answered()
                if self.result is not None and not self.options.gateway.log_content:
                    self.result.answered()
                await self.relay(answer, held)

    async def _refit(self, over: overflow.ReportedOverflow, out: Outgoing) -> bytes | tuple[bytes, ...] | None:
        """The request fitted below what the upstream stated; None if that isn't possible."""
        turn = self.turn
        if self.result is None or out.controls.dry_run or turn is None:
            return None
        again: FitResult | None
        body: bytes | tuple[bytes, ...]
        with incidents.collected() as found:
            try:
                if self.result.number is not None:
                    large = await refit_large(self, over, out.target, out.controls)
                    again, body = large if large is not None else (None, ())
                else:
                    again = await self.gateway.fitter.refit(
                        self.result, out.content, out.target.name, out.controls, over.tokens, over.window
                    )
                    body = again.body if again is not None else b""
            except BrimError as problem:
                turn.note = f"not refitted, {problem}"[:300]
                return None
            except (Exception, OutOfTime) as problem:  # the client gets the upstream's answer
                incident = incidents.note("timeout" if isinstance(problem, OutOfTime) else "planning", problem)
                turn.note = f"not refitted, {incident.fingerprint} inside Brim"[:300]
                return None
            finally:
                self.survived(found)
        if again is None:
            return None
        turn.refits += 1
        self.result = again
        self.note_fit(again)
        return body

    async def relay(self, answer: UpstreamResponse, held: list[bytes]) -> None:
        """Stream an answer to the client, reading its usage in passing."""
        if self.turn is not None:
            self.turn.status = answer.status
            self.reader = streamed_usage.reader_for(
                self.api, answer.header("content-type"), answer.header("content-encoding")
            )
        feed: Callable[[bytes], None] = self.reader.feed if self.reader is not None else _ignore
        if self.options.gateway.log_content and self.turn is not None:
            feed = overheard(self.spoken, feed)
        await self._begin(answer)
        send = self.send
        for chunk in held:
            feed(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        length = answer.header("content-length")
        left = int(length) - sum(map(len, held)) if length.isdigit() else -1
        if left == 0 or not await self._rest(answer, feed, left):
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        self.done()

    def _begin(self, answer: UpstreamResponse) -> Awaitable[None]:
        """Start the answer with the upstream's headers and Brim's own, as raw bytes if the server accepts those."""
        headers = returned(answer.headers)
        add = self.scope.get("extensions", {}).get(LINES)
        lines = self.brim_lines() if add is not None else None
        if lines is not None:
            add(lines)
        else:
            headers += self.brim_headers()
        return self.start(answer.status, headers)

    async def _rest(self, answer: UpstreamResponse, feed: Callable[[bytes], None], left: int) -> bool:
        """Relay this many bytes, or (if negative) to the end; returns whether the last piece was marked as the last."""
        read, at_end, send = answer.next, answer.at_end, self.send
        with answer.faults():
            answer.waiting = True
            while chunk := await read():
                answer.waiting = False
                feed(chunk)
                left = 0 if left < 0 and at_end() else left - len(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": left != 0})
                answer.waiting = True
        return left == 0

    def done(self) -> None:
        reader, turn = self.reader, self.turn
        if turn is None or reader is None:
            return
        if turn.status == 200 and not reader.ended:
            turn.note = turn.note or "the stream ended without its last event"
            self._finish("incomplete")
        else:
            self._finish("done")

    async def fail(self, fault: ExchangeFault) -> None:
        """End with an error in the provider's form. An answer that has begun is cut off, not ended."""
        if isinstance(fault, UpstreamFault):
            self.gateway.metrics.add("brim_faults_total", (fault.code or "upstream",))
        if self.turn is not None:
            self.turn.note = self.turn.note or fault.message
            self.turn.status = self.turn.status if self.started else fault.status
        if not self.started:
            if isinstance(fault, Limited):
                body = error_bodies.limited(self.api, fault.limit, fault.retry_after, fault.code)
            else:
                body = error_bodies.error(self.api, fault.status, fault.message, fault.code)
            extra: Pairs = [(b"connection", b"close")] if fault.status in (408, 413) else []
            if isinstance(fault, Refused) and fault.retry_after:
                extra += [(b"retry-after", b"%d" % fault.retry_after)]
            extra += [(b"www-authenticate", b'Bearer realm="brim"')] if fault.status == 401 else []
            await self.respond(fault.status, [JSON, *extra, *self.brim_headers()], body)
        self._finish("refused" if isinstance(fault, Refused) else "failed")

    async def too_long(self, refusal: BudgetTooSmall) -> None:
        """Answer in the provider's own words that the prompt can't be made to fit, with Brim's numbers in headers."""
        turn = self.turn
        assert turn is not None
        found = self.gateway.fitter.models.find(turn.model, turn.upstream, self.tenant)
        window = found.window if found else refusal.budget
        turn.status, turn.before, turn.after, turn.limit = 400, refusal.needed, 0, refusal.budget
        turn.window = window
        turn.note = str(refusal)[:300]
        body = error_bodies.too_long(self.api, refusal.needed, refusal.budget, window, max(0, window - refusal.budget))
        told = [
            (b"x-brim-needed", b"%d" % refusal.needed),
            (b"x-brim-budget", b"%d" % refusal.budget),
            (b"x-brim-must-stay", _largest(refusal)),
        ]
        await self.respond(400, [JSON, *self.brim_headers(), *told], body)
        self._finish("refused")

    def open_turn(self, target: Target, controls: Controls, asked: AskedFor) -> GatewayTurn:
        self.turn = GatewayTurn(
            id=self.gateway.next_id(),
            number=0,
            session=controls.session,
            at=time.time(),
            api=self.api,
            model=self.route.model or asked.model,
            upstream=target.name,
            client=controls.client,
            tenant=controls.tenant,
            streamed=self.route.streamed or asked.stream is True,
            policy=controls.policy or self.options.policy,
        )
        return self.turn

    def note_fit(self, result: FitResult) -> None:
        turn = self.turn
        assert turn is not None
        live = result.live
        turn.model = turn.model or result.name
        turn.streamed = turn.streamed or result.streamed
        if not turn.number:
            self.gateway.fitter.conversations.add(live, turn)
            self.gateway.journal.opened(turn, len(result.body))
        live.client, live.model, live.api = turn.client or live.client, turn.model or live.model, turn.api
        turn.session = live.id
        turn.before, turn.after, turn.upper, turn.limit = result.before, result.after, result.upper, result.limit
        turn.archived, turn.changed = result.archived, result.changed
        turn.recalled += max(0, result.recalled - live.recalled)
        live.recalled = result.recalled
        turn.found, turn.window = result.model, result.model.window if result.model else 0
        turn.about = result.parsed is None and result.number is None
        turn.unread = result.body if turn.about else None
        turn.came = slim(result.parsed) if result.parsed is not None else None
        turn.went = slim(result.planned) if result.planned is not None else None
        turn.fitted, turn.told = result.fitted, result.told
        if result.fitted is not None:
            self.gateway.journal.planned(turn)
            result.fitted = result.told = None  # they hold the whole log, and answers may be long
        if result.model is None:
            turn.note = f"not fitted, nothing is known of the model {turn.model!r}"[:300]
            self.gateway.discovery.wanted(turn.upstream, self.scope["headers"], self.gateway.token_bytes)
        elif result.parsed is not None:
            for notice in cut_output(result.parsed, result.model.window):
                turn.note = notice.message
                tell("answer cut", logging.WARNING, session=turn.session, model=turn.model, **notice.numbers)
        self._used_model(turn.client, "", turn.model)

    def _used_model(self, client: str, provider: str, model: str) -> None:
        """Remember the model that a client, or a provider, was used with last."""
        for name, value in self.gateway.fitter.last_models.used(client, provider, self.tenant, model).items():
            self.gateway.journal.keep_value(name, value)

    def _finish(self, outcome: TurnOutcome) -> None:
        turn = self.turn
        if turn is None or turn.outcome != "running":
            return
        turn.outcome = outcome
        turn.total_ms = (time.perf_counter() - self.began) * 1e3
        last = self.reader.usage() if self.reader is not None else None
        # The first round is the fitted request; later rounds, from recalls, cost money but teach nothing.
        found, extra = (self.rounds[0], [*self.rounds[1:], last]) if self.rounds else (last, [])
        result = self.result
        if result is not None:
            turns = result.live.turns
            turn.settle(found, turns[-2].before if len(turns) > 1 else 0, [one for one in extra if one])
        else:
            turn.usage = found
        self.gateway.journal.finish(turn)
        if turn.status == 200:  # a model that the provider doesn't have isn't a choice
            self._used_model("", turn.upstream, turn.model)
        if self.options.gateway.log_content:
            log_content(turn, result, self.spoken)
        told = apis.APIS[self.api].edits_context and self.reader is not None and self.reader.edited
        edited = told or self._compacted_there or self.fell_back
        if result is not None and found is not None and turn.status == 200 and not edited:
            if result.number is not None:
                self.gateway.beside(learn_large(self, found.input))
            elif not self._learn(result, found.input):
                self.gateway.metrics.add("brim_usage_ignored_total", (self.api,))
        if result is not None:
            self.gateway.fitter.summarize(result.live)

    def _used(self) -> int:
        """The tokens of all rounds, as the provider reported them, otherwise the counted input."""
        if self.turn is None or self.turn.status != 200:
            return 0
        last = self.reader.usage() if self.reader is not None else None
        reported = [one for one in (*self.rounds, last) if one is not None]
        return sum(one.input + one.output for one in reported) if reported else self.turn.after

    def _learn(self, result: FitResult, tokens: int) -> bool:
        """Learn from the reported usage; returns whether it was believed. Faults on the way are counted."""
        if not self.gateway.fitter.worth_learning(result, tokens):
            return True
        with incidents.collected() as found:
            believed = self.gateway.fitter.record(result, tokens)
        self.survived(found)
        return believed


def _ignore(_: bytes) -> None:
    """Nothing is learned from answers of routes that aren't fitted."""


def _largest(refusal: BudgetTooSmall) -> bytes:
    """The largest part that must stay, with its size, for a header. Example: b"pinned user messages[2] 454" """
    told = "; ".join(f"{what} {tokens}" for what, tokens in refusal.must_stay[:4])
    return told.encode("ascii", "replace").translate(None, bytes(range(32)))
