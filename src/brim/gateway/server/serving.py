"""Runs the gateway: uvicorn, signals, draining and reloads."""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.util
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from brim.errors import BrimError, MissingExtra
from brim.gateway.admin.settings_editor import LoadSettings, SettingsEditor
from brim.gateway.fitting.large_store import StoreFile
from brim.gateway.observe.logs import Redaction, set_up, tell
from brim.gateway.proxy.upstreams import lacking_keys
from brim.gateway.server.app import DashboardMaker, Gateway
from brim.gateway.server.listening import bound_to
from brim.gateway.server.memory_trim import keep_little
from brim.gateway.server.options import Options, options_of
from brim.gateway.server.protocol import Doors, LimitedProtocol
from brim.settings import Settings
from brim.stores.protocol import Limits
from brim.stores.resilient import open_store

try:
    import uvicorn
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

BACKLOG = 2_048
# A planning thread yields to the event loop after this long. With Python's 5 ms, a request that needs ten turns waits
# 50 ms beside it.
SWITCH_SECONDS = 0.0005
# New objects after which Python collects the young ones by itself, besides `Collecting`: planning makes many.
COLLECT_AFTER = 2_000, 20, 20
# Part of the drain time reserved for closing connections and recording what was cut off.
CLOSING_SECONDS = 1


class Server(uvicorn.Server):
    """uvicorn with Brim's signals: TERM and INT drain, HUP reloads."""

    def __init__(self, gateway: Gateway, reload: Callable[[], Options] | None = None) -> None:
        settings = gateway.options.gateway
        config = uvicorn.Config(
            gateway,
            host=settings.host,
            port=settings.port,
            http=partial(LimitedProtocol, doors=Doors(lambda: gateway.options.gateway)),  # type: ignore[arg-type]
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=CLOSING_SECONDS,
            backlog=BACKLOG,
        )
        super().__init__(config)
        self.gateway = gateway
        self.ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._now = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reload = reload

    def handle_exit(self, sig: int, frame: object) -> None:
        """The first signal drains, the second stops immediately."""
        if self.should_exit:
            self.force_exit = True
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._now.set)
        else:
            self.gateway.leaving = True
            tell("draining", running=self.gateway.metrics.running)
        self.stop()

    def stop(self) -> None:
        """Stop: running requests get the drain time, then the rest is cut off. Thread-safe."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def main_loop(self) -> None:
        """Sleep until it is time to stop; uvicorn would wake ten times a second."""
        self._loop = asyncio.get_running_loop()
        self.ready.set()
        if not self.should_exit:
            await self._stop.wait()
        await self._drain()

    async def _drain(self) -> None:
        """Give running requests the drain time. Until then the port stays open, and `/readyz` says so."""
        self.gateway.leaving = True
        with suppress(TimeoutError):  # balancers learn of it before requests are refused
            await asyncio.wait_for(self._now.wait(), self.gateway.options.gateway.drain_notice)
        self.gateway.drain()
        waiting = {asyncio.ensure_future(self.gateway.drained()), asyncio.ensure_future(self._now.wait())}
        # Leave a little for the steps after this, so that everything ends in time.
        seconds = max(0.0, self.gateway.options.gateway.shutdown_grace - 1.25 * CLOSING_SECONDS)
        _, late = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in late:
            task.cancel()

    def listen(self, *, shared: bool = False) -> socket.socket:
        """Bind the port before anything starts; BadSetting if it is taken."""
        settings = self.gateway.options.gateway
        found = bound_to(settings.host, settings.port, shared=shared)
        found.listen(BACKLOG)  # early clients wait until everything is up
        return found

    def _parent_gone(self) -> None:
        """The parent process ended without being able to say so."""
        if not os.read(sys.stdin.fileno(), 1):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.handle_exit(signal.SIGTERM, None)

    async def run_on(self, bound: socket.socket, *, shared: bool = False) -> None:
        if self._reload is not None and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._on_hup)
        if shared:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._parent_gone)
        await self.serve(sockets=[bound])

    def _on_hup(self) -> None:
        """Reload the settings; if they are invalid, keep the current ones."""
        assert self._reload is not None
        try:
            options = self._reload()
        except BrimError as problem:
            tell("not reloaded", logging.ERROR, problem=str(problem))
            return
        set_up(Redaction(options.gateway.redact))
        self._reloading = asyncio.get_running_loop().create_task(self.gateway.reload(options))


def serve(
    load: LoadSettings,
    upstream: str = "",
    clear_tool_uses: tuple[str, ...] = (),
    *,
    in_memory: bool = False,
    otel: bool = False,
    shared: bool = False,
) -> None:
    """Serve until a signal ends it; HUP reloads the settings. The port may be `shared` with other processes."""

    def resolved(settings: Settings) -> Options:
        return options_of(settings, upstream=upstream, clear_tool_uses=clear_tool_uses)

    first = resolved(load({}))
    for name, variable in lacking_keys(first.settings).items():
        tell("no key", logging.WARNING, upstream=name, variable=variable)
    limits = limits_of(first.settings)
    path = first.settings.store_place
    kept = first.settings.store
    given = None if in_memory else path
    store = open_store(given, limits, objects=kept.objects, wait_for_disk=kept.wait_for_disk)
    file = None if in_memory else StoreFile.beside(path, limits)
    group = f"{socket.gethostname()}:{os.getppid()}" if shared else ""
    gateway = Gateway(first, store=store, large_store=file, dashboard=dashboard(), group=group)
    if otel or first.gateway.otel:
        gateway.journal.hooks.append(importlib.import_module("brim.gateway.observe.telemetry").exporting())
    gateway.editor = SettingsEditor(load, resolved, gateway.reload, _reload_all if shared else lambda: None)
    server = Server(gateway, lambda: resolved(load({})))
    bound = server.listen(shared=shared)
    if shared:
        print("ready", flush=True)  # for the parent process
    else:
        say_where(bound)
    run(server, bound, shared=shared)


def _reload_all() -> None:
    """Have all processes on this port reload the settings, through their parent."""
    os.kill(os.getppid(), signal.SIGHUP)


def limits_of(settings: Settings) -> Limits:
    return Limits(max_bytes=settings.store.max_bytes, max_age_days=settings.store.max_age_days)


def dashboard() -> DashboardMaker | None:
    """The dashboard application, if it is installed."""
    if importlib.util.find_spec("brim.dashboard.app") is None:
        return None
    maker: DashboardMaker = importlib.import_module("brim.dashboard.app").create
    return maker


def run(server: Server, bound: socket.socket, *, shared: bool = False) -> None:
    """Serve until a signal ends it."""
    set_up(server.gateway.redact)
    keep_little()
    # What is loaded now stays, so the garbage collector need not walk it with every collection.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    sys.setswitchinterval(SWITCH_SECONDS)
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.run_on(bound, shared=shared))


def say_where(bound: socket.socket, more: str = "") -> None:
    print(f"Brim listens on {address(bound)} (dashboard: {address(bound)}/brim/){more}", file=sys.stderr, flush=True)


def address(bound: socket.socket) -> str:
    """Example: a socket on port 8787 of 127.0.0.1 -> "http://127.0.0.1:8787" """
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
