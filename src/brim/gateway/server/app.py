"""The ASGI application: proxy routes are handled directly, Brim's own pages and API through Starlette."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

from brim import incidents
from brim.apis import error_bodies
from brim.gateway.admin.http_api import admin_app
from brim.gateway.admin.settings_editor import SettingsEditor
from brim.gateway.admin.views import Views
from brim.gateway.fitting.fitter import Fitter
from brim.gateway.fitting.large_store import StoreFile
from brim.gateway.fitting.summarizing import Summarizing
from brim.gateway.limits.admission import Admission
from brim.gateway.limits.virtual_keys import secret_of
from brim.gateway.observe.journal import Journal
from brim.gateway.observe.logs import Redaction, log, tell
from brim.gateway.observe.metrics import Metrics
from brim.gateway.observe.others import Others
from brim.gateway.proxy.client import Client
from brim.gateway.proxy.discovery import Discovery, key_of
from brim.gateway.proxy.exchange import Exchange
from brim.gateway.proxy.faults import Refused
from brim.gateway.proxy.routes import api_of, route_of
from brim.gateway.server import access
from brim.gateway.server.client_watch import Lookouts
from brim.gateway.server.concurrency_limit import Gates, Holding
from brim.gateway.server.memory_trim import Collecting, Trimming
from brim.gateway.server.offload import Offload
from brim.gateway.server.options import Options
from brim.gateway.server.origins import foreign_origin, is_preflight, preflight
from brim.gateway.server.tenant import Tenants
from brim.gateway.server.tokenizer_preload import Warming
from brim.stores.protocol import Store

if TYPE_CHECKING:
    from brim.stores.counters import SharedCounters

DashboardMaker = Callable[[Views], ASGIApp]
_OWN = ("/brim", "/metrics", "/healthz", "/readyz")
# Paths at which clients of a compression service expect answers; no provider uses them.
_COMPRESSING = ("/v1/compress", "/v1/retrieve/")
_NO_WEBSOCKET = (
    "the gateway speaks HTTP, not WebSocket: open realtime sessions at the provider's own address "
    "(such as wss://api.openai.com/v1/realtime), and send chat, responses and messages here"
)
_DRAINING = "the gateway is shutting down and takes no more requests: send this one again in a moment"


class Gateway:
    """Everything that lives as long as the gateway, and the entry point of every request.

    `store` keeps usage, models and calibration over restarts; without one they live in memory. `large_store` is the
    file of the processes that large bodies are handled in. `group` names the processes that share its address.
    """

    def __init__(
        self,
        options: Options,
        *,
        store: Store | None = None,
        large_store: StoreFile | None = None,
        dashboard: DashboardMaker | None = None,
        group: str = "",
    ) -> None:
        self.options = options
        self.store = store
        self.metrics = Metrics()
        process = _process()
        self.journal = Journal(self.metrics, store, process)
        self.tenants = Tenants(store)
        self._trimming = Trimming()
        self._collecting = Collecting()
        self.lookouts = Lookouts()
        self.fitter = Fitter(
            options.policy,
            options.catalog(),
            store,
            recall=options.recall,
            fit_timeout=options.gateway.fit_timeout,
        )
        self.fitter.saves = False  # while the upstream works: `proxy.saving`
        self.fitter.large_store = large_store
        follow = self.fitter.conversations.follow
        self.others = Others(store, self.journal, group or process, process, follow)
        self.journal.before_flush = self.others.tell
        self.admission = Admission(store, self.journal.keep_value, self.fitter.in_time, _shared_counters(options))
        self._warming = Warming(self.fitter, options)
        self.summarizing = self.fitter.summarizer = self._summarizing(options)
        self.redact = Redaction(options.gateway.redact)
        self.token_bytes = options.token.encode() if options.token else None
        self.uncompacting: set[str] = set()
        """The upstreams that have answered a request for compaction with something else."""
        self.editor: SettingsEditor | None = None
        """What changes settings in their files; None where there are none."""
        self.leaving = False
        """It was told to end: `/readyz` says so, and requests are still taken for a moment."""
        self.draining = False
        self.ready = False
        self.client: Client
        self.discovery: Discovery
        self.views = Views(self)
        self._own = admin_app(self, dashboard(self.views) if dashboard else None)
        self._bound(options)
        self.offload = Offload(large_store, workers=options.gateway.workers, seconds=options.gateway.large_timeout)
        self._beside: set[asyncio.Task[None]] = set()
        self._boot = secrets.token_hex(6)
        self._ids = itertools.count(1)
        self._idle = asyncio.Event()
        self._idle.set()

    def _summarizing(self, options: Options) -> Summarizing | None:
        if options.summarizer is None:
            return None
        return Summarizing(options.settings.summarizer, options.summarizer, self.fitter.models.find, self.journal)

    def beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    def next_id(self) -> str:
        """A request id that is unique across processes."""
        return f"{self._boot}{next(self._ids):08x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "the gateway speaks HTTP only"})

    def _http(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        headers = dict(scope["headers"])
        path = scope["raw_path"].decode("latin-1")
        method = scope["method"]
        prefix = self.options.gateway.path_prefix
        if prefix and path.startswith(f"{prefix}/"):
            path = path[len(prefix) :]
            scope = {**scope, "root_path": prefix}
        origins = self.options.origins
        if origins.configured:
            send = origins.added_to(send, foreign_origin(headers))
        if path == "/healthz":
            return self._own(scope, receive, send)
        try:
            if is_preflight(method, headers):
                return self._preflight(headers, send)
            own = path.startswith(_OWN)
            secret = "" if own or path.startswith(_COMPRESSING) else secret_of(scope)
            access.check(headers, self.options, method, own=own, keyed=secret != "")  # which one is checked later
            tenant = self.tenants.of(scope, self.options)
            if headers.get(b"upgrade", b"").lower() == b"websocket":
                raise Refused(501, _NO_WEBSOCKET, "websocket_not_supported")
            if path == "/":
                return self._root(headers, method, send, scope.get("root_path", ""))
            if own:
                scope["brim.tenant"] = tenant
                scope["brim.viewer"] = viewer = access.viewer(headers, self.options, self.tenants, tenant)
                access.check_viewer(viewer, path, self.options)
                access.check_page(headers, method, path)
                return self._own(scope, receive, send) if path == "/readyz" else self._shown(scope, receive, send)
            if path.startswith(_COMPRESSING):
                scope["brim.tenant"] = tenant
                return self._own(scope, receive, send)
            route = route_of(method, path)
            if route is None:
                raise Refused(404, f"{path} is nothing that a provider has", "unknown_route")
        except Refused as refused:
            if path == "/readyz":  # balancers have no token; they get yes or no, and nothing about the store
                return self._readiness(send)
            return _refuse(refused, send)
        if self.draining:
            return _refuse(Refused(503, _DRAINING, "draining"), send, api_of(route, headers))
        return self._proxy(Exchange(self, scope, receive, send, headers, route, tenant, secret))

    async def _shown(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A page, or an answer of the JSON API, that knows of all processes on the store."""
        if scope["method"] == "GET":
            await self.others.fresh()
        await self._own(scope, receive, send)

    def _preflight(self, headers: dict[bytes, bytes], send: Send) -> Awaitable[None]:
        """Answer a browser's preflight request, which carries no token."""
        origin = foreign_origin(headers)
        if origin is not None:
            access.check_origin(origin, self.options)
        return _answer(send, 204, None, preflight(headers))

    async def _proxy(self, exchange: Exchange) -> None:
        self.metrics.running += 1
        self._idle.clear()
        try:
            await exchange.run()
        finally:
            self.metrics.running -= 1
            self._collecting.ended()
            if not self.metrics.running:
                self._idle.set()

    def _readiness(self, send: Send) -> Awaitable[None]:
        taking = self.ready and not self.leaving
        return _answer(send, 200 if taking else 503, b'{"ready":true}' if taking else b'{"ready":false}')

    async def _root(self, headers: dict[bytes, bytes], method: str, send: Send, prefix: str) -> None:
        """Clients probe with `HEAD /`; people are redirected to the dashboard."""
        if method == "GET" and b"text/html" in headers.get(b"accept", b""):
            await _answer(send, 307, b"", [(b"location", f"{prefix}/brim/".encode())])
        else:
            await _answer(send, 200, b'{"name":"brim","dashboard":"/brim/"}' if method == "GET" else b"")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def start(self) -> None:
        """Open connections and start discovery; models known from the last run are available immediately."""
        self._connect(self.options)
        await self._restore()
        self.journal.start()
        self._trimming.start()
        self._warming.start()
        if self.store is not None:
            await asyncio.to_thread(self._remember, self.store, self.options)
        self.discovery.start()
        self.ready = True

    def _remember(self, store: Store, options: Options) -> None:
        """Load the models and defaults saved by earlier processes; waits for the store."""
        for target in options.targets:
            self.discovery.remember(target, store.get_value(key_of(target)))
        self.fitter.last_models.restore([target.name for target in options.targets])

    async def _restore(self) -> None:
        """Load the sessions of earlier processes; if the store fails, continue without them."""
        try:
            self.fitter.conversations.restore(await asyncio.to_thread(self.journal.restore, time.time()))
        except Exception as problem:  # statistics must not keep requests from being served
            incidents.note("store", problem)

    def _bound(self, options: Options) -> None:
        """Set the concurrency limits; requests in flight count under the old ones until they end."""
        settings = options.gateway
        self.gates = Gates(settings.concurrency, settings.tenant_concurrency)
        self.holding = Holding(settings.held_bytes, settings.tenant_bytes)

    def _connect(self, options: Options) -> None:
        settings = options.gateway
        self.client = Client(
            connect_timeout=settings.connect_timeout,
            read_timeout=settings.read_timeout,
            connections=settings.concurrency,
        )
        self.discovery = Discovery(self.client, options.targets, self.fitter.models.catalog, self.journal.keep_value)

    async def reload(self, options: Options) -> None:
        """Apply new options; requests in flight finish under the old ones. The address and what was learned stay."""
        client, discovery, summarizing = self.client, self.discovery, self.summarizing
        self.options = options
        self.redact = Redaction(options.gateway.redact)
        self.token_bytes = options.token.encode() if options.token else None
        self.fitter.policy = options.policy
        self.fitter.models.catalog = options.catalog()
        self.fitter.recall = options.recall
        self.fitter.fit_timeout = options.gateway.fit_timeout
        self.summarizing = self.fitter.summarizer = self._summarizing(options)
        self._bound(options)
        self._connect(options)
        self.discovery.go_on_from(discovery)
        self.discovery.start()
        await discovery.close()
        if summarizing is not None:
            await summarizing.close()
        tell("reloaded", upstreams=[target.name for target in options.targets])
        # The old connections are needed until their requests end.
        self._closing = asyncio.get_running_loop().create_task(self._close_later(client))

    async def _close_later(self, client: Client) -> None:
        await self._idle.wait()
        await client.close()

    def drain(self) -> None:
        """Stop accepting requests, and end the streams that would never end by themselves."""
        self.leaving = self.draining = True
        self.journal.end_watching()

    async def drained(self) -> None:
        """Wait until no request is in flight."""
        await self._idle.wait()

    async def close(self) -> None:
        self.ready = False
        await self._trimming.close()
        await self._warming.close()
        if self.summarizing is not None:
            await self.summarizing.close()
        await self.discovery.close()
        await self.client.close()
        await self.admission.close()
        self.others.forget()
        await self.journal.close()
        self.fitter.close()
        await self.offload.close()
        if self.store is not None:
            await asyncio.to_thread(self.store.close)
        log.log(logging.INFO, "stopped")


def _shared_counters(options: Options) -> SharedCounters | None:
    """The counters in Valkey, if the settings name one; its driver is an extra."""
    place = options.settings.cache_place
    return import_module("brim.stores.counters").SharedCounters(place) if place else None


def _process() -> str:
    """A name unique to this process: several may serve one port, and containers share host names and process ids."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


# Headers of a refusal: browsers ask for the token, clients retry, or close the connection.
_WITH_REFUSAL = {
    401: [(b"www-authenticate", b'Basic realm="brim"')],
    501: [(b"connection", b"close")],
    503: [(b"retry-after", b"1"), (b"connection", b"close")],
}


async def _refuse(refused: Refused, send: Send, api: str = "") -> None:
    body = error_bodies.error(api, refused.status, refused.message, refused.code)
    await _answer(send, refused.status, body, _WITH_REFUSAL.get(refused.status))


async def _answer(
    send: Send, status: int, body: bytes | None, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    told = list(headers or [])
    if body is not None:
        told[:0] = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body or b""})
