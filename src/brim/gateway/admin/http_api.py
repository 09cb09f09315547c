"""Brim's own addresses: health, metrics, the JSON API, the OpenAPI document, and the dashboard under /brim/."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.types import ASGIApp

import brim
from brim import apis, content, counting, fitting
from brim import models as catalog
from brim.conversation import encode
from brim.errors import BadInput, BadSetting, BrimError, BudgetTooSmall, NotFound, UnknownModel
from brim.gateway.admin.compressing import CompressBody, Compressor, counted_as, room_of
from brim.gateway.admin.openapi import document
from brim.gateway.admin.views import Views
from brim.gateway.observe.others import FRESH_SECONDS
from brim.gateway.observe.redaction import without_content
from brim.gateway.proxy.faults import ClientGone, ExchangeFault, Refused
from brim.gateway.proxy.upstreams import choose
from brim.gateway.server import bodies
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.settings.schema import ApiName
from brim.tokens.actuals import Actuals

if TYPE_CHECKING:
    from brim.gateway.server.app import Gateway

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Mount, Route
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise brim.errors.MissingExtra("the gateway", "gateway") from problem

LONGEST_QUERY = 200
RouteHandler = Callable[[Request], Awaitable[Response]]
_STATUS: tuple[tuple[type[BrimError], int, str], ...] = (
    (NotFound, 404, "not_found"),
    (BudgetTooSmall, 409, "budget_too_small"),
    (UnknownModel, 404, "unknown_model"),
    (BadSetting, 422, "bad_setting"),
    (BadInput, 422, "bad_input"),
)


class JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encode(content)


class CountBody(msgspec.Struct, forbid_unknown_fields=True):
    """A text or a request, and the model to count it for."""

    model: str | None = None
    text: str | None = None
    request: dict[str, Any] | list[Any] | None = None
    api: ApiName | None = None
    upstream: str = ""
    strict: bool = False


class FitBody(msgspec.Struct, forbid_unknown_fields=True):
    request: dict[str, Any] | list[Any]
    model: str | None = None
    budget: int | None = None
    reserve: int | None = None
    policy: str | dict[str, Any] | None = None
    api: ApiName | None = None
    upstream: str = ""
    session: str = ""


class CompactBody(msgspec.Struct, forbid_unknown_fields=True):
    """A text to shorten; without a budget it is only re-encoded losslessly."""

    text: str
    budget: int | None = None
    model: str | None = None
    query: str = ""


class PlanBody(msgspec.Struct, forbid_unknown_fields=True):
    budget: int


# So often whoever watches is told that the connection is still there.
QUIET_SECONDS = 15.0


class Admin:
    """The handlers. Long work runs in a thread."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._compressor = Compressor(gateway.fitter.sessions.store)

    def _views(self, request: Request) -> Views:
        """The views that the caller is allowed to see."""
        viewer: str | None = request.scope["brim.viewer"]
        return self._gateway.views if viewer is None else Views(self._gateway, viewer)

    async def health(self, request: Request) -> Response:
        return JsonResponse({"status": "ok", "version": brim.__version__})

    async def ready(self, request: Request) -> Response:
        gateway = self._gateway
        store = gateway.store.degraded if gateway.store is not None else None
        ok = gateway.ready and not gateway.leaving
        told = {"ready": ok, "draining": gateway.leaving, "store": store or "ok", "running": gateway.metrics.running}
        return JsonResponse(told, status_code=200 if ok else 503)

    async def metrics(self, request: Request) -> Response:
        return PlainTextResponse(self._gateway.others.metrics().render(), media_type="text/plain; version=0.0.4")

    async def openapi(self, request: Request) -> Response:
        return JsonResponse(document())

    async def count(self, request: Request) -> Response:
        body = await self._body(request, CountBody)
        if (body.text is None) == (body.request is None):
            raise BadInput("text", "give either a text or a request")
        content: Any = body.text if body.text is not None else body.request
        warning = {}
        try:
            known, actuals = self._learnt(request, body)
        except UnknownModel as unknown:
            if body.strict:
                raise
            known, actuals = counting.approximate(unknown.name), None
            warning = {"warning": counting.approximation(known, unknown.near)}
        found = await asyncio.to_thread(counting.count, content, model=known, api=body.api, actuals=actuals)
        told = {"tokens": found.tokens, "upper": found.upper, "source": found.source}
        return JsonResponse({**told, "messages": list(found.messages), "head": found.head, **warning})

    async def fit(self, request: Request) -> Response:
        body = await self._body(request, FitBody)
        for name in ("budget", "reserve"):
            _positive(name, getattr(body, name))
        given: dict[str, Any] = {"budget": body.budget, "reserve": body.reserve, "policy": self._policy(body.policy)}
        given["model"], given["actuals"] = self._learnt(request, body)
        if body.session:
            fitted = await asyncio.to_thread(self._in_session, body, request.scope["brim.tenant"], given)
        else:
            fitted = await asyncio.to_thread(fitting.fit, body.request, api=body.api, **given)
        redact = self._gateway.redact
        return JsonResponse(
            {"request": fitted.body, "tokens": fitted.tokens, "report": redact.deep(fitted.report.as_dict())}
        )

    async def compact(self, request: Request) -> Response:
        body = await self._body(request, CompactBody)
        _positive("budget", body.budget)
        found = await asyncio.to_thread(
            content.compact, body.text, body.budget, model=body.model or "gpt-4o", query=body.query
        )
        told = {"text": found.text, "tokens": found.tokens, "kind": found.kind, "fidelity": found.fidelity}
        return JsonResponse({**told, "handle": found.handle, "kept": round(found.kept, 4)})

    async def compress(self, request: Request) -> Response:
        body = await self._body(request, CompressBody)
        tenant = request.scope["brim.tenant"]
        try:
            known = self._gateway.fitter.models.catalog.find(body.model)
        except UnknownModel:
            known = None
        room = room_of(body, known.window if known is not None else None)
        told = await asyncio.to_thread(self._compressor.compress, body, tenant, counted_as(body.model), room)
        return JsonResponse(told)

    async def retrieve(self, request: Request) -> Response:
        hash, tenant = request.path_params["hash"], request.scope["brim.tenant"]
        query = request.query_params.get("query", "")[:LONGEST_QUERY]
        return JsonResponse(await asyncio.to_thread(self._compressor.retrieve, hash, tenant, query))

    async def live(self, request: Request) -> Response:
        return JsonResponse(self._views(request).live(_number(request, "limit", 50, 500)))

    async def status(self, request: Request) -> Response:
        return JsonResponse(self._views(request).status())

    async def sessions(self, request: Request) -> Response:
        limit, query = _number(request, "limit", 50, 500), request.query_params.get("query", "")
        if len(query) > LONGEST_QUERY:
            raise BadInput("query", f"must have at most {LONGEST_QUERY} characters")
        return JsonResponse({"sessions": self._views(request).sessions(limit, query)})

    async def session(self, request: Request) -> Response:
        return self._told(self._views(request).session(request.path_params["id"]))

    async def turn(self, request: Request) -> Response:
        id, number = request.path_params["id"], request.path_params["number"]
        return self._told(await asyncio.to_thread(self._views(request).turn, id, number))

    async def plan(self, request: Request) -> Response:
        body = await self._body(request, PlanBody)
        _positive("budget", body.budget)
        id, number = request.path_params["id"], request.path_params["number"]
        return self._told(await asyncio.to_thread(self._views(request).planned_at, id, number, body.budget))

    async def archived(self, request: Request) -> Response:
        id, handle = request.path_params["id"], request.path_params["handle"]
        return self._told(await asyncio.to_thread(self._views(request).archived, id, handle))

    def _told(self, view: dict[str, Any]) -> Response:
        """A view with content; the content is left out unless `gateway.log_content` is on."""
        return JsonResponse(view if self._gateway.options.gateway.log_content else without_content(view))

    async def models(self, request: Request) -> Response:
        return JsonResponse({"models": self._views(request).models()})

    async def usage(self, request: Request) -> Response:
        days = _number(request, "days", 30, 3_650)
        return JsonResponse(await asyncio.to_thread(self._views(request).usage, days))

    async def settings(self, request: Request) -> Response:
        return JsonResponse({"settings": self._views(request).settings()})

    async def events(self, request: Request) -> Response:
        events = self._events(self._views(request))
        return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _events(self, views: Views) -> AsyncIterator[bytes]:
        queue = await views.watch()
        try:
            yield b": live\n\n"
            quiet = time.monotonic()
            while not self._gateway.draining:
                try:
                    async with asyncio.timeout(FRESH_SECONDS):
                        turn = await queue.get()
                    if turn is None:
                        break
                    if views.shows(turn.tenant):
                        yield b"event: turn\ndata: " + encode(turn.as_dict()) + b"\n\n"
                        quiet = time.monotonic()
                except TimeoutError:
                    await self._gateway.others.fresh()
                    if time.monotonic() - quiet >= QUIET_SECONDS:
                        yield b": still here\n\n"
                        quiet = time.monotonic()
        finally:
            views.unwatch(queue)

    def _in_session(self, body: FitBody, tenant: str, given: dict[str, Any]) -> fitting.Fitted:
        """Fit as the next request of a conversation, keeping what was sent before."""
        conversation = apis.parse(body.request, body.api, model=given["model"] or "")
        model = given["model"] or catalog.model_of(None, conversation.model)
        sessions = self._gateway.fitter.sessions
        session = sessions.of(conversation, body.session, tenant=tenant, **{**given, "model": model})
        names = "policy", "actuals", "budget", "reserve"
        session.configure(model=model, **{name: given[name] for name in names})
        try:
            return session.fit_parsed(body.request, conversation)
        finally:
            sessions.grown(session)

    def _policy(self, given: str | dict[str, Any] | None) -> Policy:
        """The gateway's policy, a named one, or one with given settings. Raises BadSetting with the place."""
        if not given:
            return self._gateway.options.policy
        if isinstance(given, str):
            return Policy.named(given)
        settings = dict(given)
        own = self._gateway.options.policy
        name = settings.pop("name", own.name)
        return own.with_(**settings) if name == own.name else Policy.named(name, settings)

    def _learnt(self, request: Request, body: CountBody | FitBody) -> tuple[Model | None, Actuals | None]:
        """The named model or the request's, and what its upstream reported about sizes to this caller.

        None if no model is named, or no upstream offers the API.
        """
        told = body.request
        name = body.model or (told.get("model") if isinstance(told, dict) else None)
        if not name or not isinstance(name, str):
            return None, None
        fitter, tenant = self._gateway.fitter, request.scope["brim.tenant"]
        api = body.api or (apis.parse(told, model=name).api if told is not None else "openai_chat")
        try:
            upstream = choose(self._gateway.options.targets, api, name, body.upstream).name
        except Refused as problem:
            if body.upstream:
                raise BadInput("upstream", problem.message) from None
            return fitter.models.catalog.find(name), None
        return fitter.models.find(name, upstream, tenant) or fitter.models.catalog.find(name), fitter.learned.of(
            upstream, tenant
        )

    async def _body(self, request: Request, kind: Any) -> Any:
        # The gateway reads these requests itself.
        limit = min(self._gateway.options.gateway.body_limit, bodies.MOSTLY_KNOWN)
        try:
            async with asyncio.timeout(self._gateway.options.gateway.body_timeout):
                headers = dict(request.scope["headers"])
                incoming = await bodies.read(request.receive, headers, limit, known=lambda _: True)
        except TimeoutError:
            raise bodies.too_slow() from None
        try:
            return await asyncio.to_thread(msgspec.json.decode, incoming.content, type=kind, strict=False)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise BadInput("body", str(problem)) from None

    def routes(self) -> list[Route | Mount]:
        get, post = ["GET"], ["POST"]
        turn = "/sessions/{id}/turns/{number:int}"
        table: list[tuple[str, RouteHandler, list[str]]] = [
            ("/openapi.json", self.openapi, get),
            ("/count", self.count, post),
            ("/fit", self.fit, post),
            ("/compact", self.compact, post),
            ("/live", self.live, get),
            ("/status", self.status, get),
            ("/events", self.events, get),
            ("/sessions", self.sessions, get),
            ("/sessions/{id}", self.session, get),
            (turn, self.turn, get),
            (f"{turn}/plan", self.plan, post),
            ("/sessions/{id}/archive/{handle}", self.archived, get),
            ("/models", self.models, get),
            ("/usage", self.usage, get),
            ("/settings", self.settings, get),
        ]
        # A separate mount, so that the API rather than the dashboard answers a wrong method or path.
        api = Mount("/brim/v1", routes=[Route(path, handler, methods=methods) for path, handler, methods in table])
        return [
            Route("/healthz", self.health, methods=get),
            Route("/readyz", self.ready, methods=get),
            Route("/metrics", self.metrics, methods=get),
            Route("/v1/compress", self.compress, methods=post),
            Route("/v1/retrieve/{hash}", self.retrieve, methods=get),
            api,
        ]


def admin_app(gateway: Gateway, dashboard: ASGIApp | None) -> ASGIApp:
    """The application for all paths that don't belong to a provider."""
    mounts: list[Any] = [Mount("/brim", app=dashboard)] if dashboard is not None else []
    kinds: tuple[type[Exception], ...] = (BrimError, ClientGone, HTTPException)
    handlers: dict[Any, Any] = dict.fromkeys(kinds, _problem)
    return Starlette(routes=[*Admin(gateway).routes(), *mounts], exception_handlers=handlers)


async def _problem(request: Request, problem: Exception) -> Response:
    """An error as JSON with a machine-readable code."""
    if isinstance(problem, HTTPException):
        answer = _error(problem.status_code, "http", problem.detail)
        answer.headers.update(problem.headers or {})
        return answer
    if isinstance(problem, ExchangeFault):
        return _error(problem.status, problem.code, problem.message)
    for kind, status, code in _STATUS:
        if isinstance(problem, kind):
            return _error(status, code, str(problem))
    return _error(500, "error", str(problem))


def _error(status: int, code: str, message: str) -> Response:
    return JsonResponse({"error": {"code": code, "message": message}}, status_code=status)


def _positive(name: str, value: int | None) -> None:
    if value is not None and not 0 < value <= 100_000_000:
        raise BadInput(name, f"{value} is not a number of tokens")


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= most):
        raise BadInput(name, f"must be a number from 1 to {most}")
    return int(text)
