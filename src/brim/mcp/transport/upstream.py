"""The interface of a server: lines go in, lines come out, and it may end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Protocol

from brim.mcp.transport.child_process import Child, ChildLog, LineReader
from brim.mcp.transport.json_rpc import RpcMessage

_RESTARTS = 3
_RESTART_WINDOW = 60.0


class Events(Protocol):
    """Receives a server's events."""

    def from_server(self, upstream: Upstream, line: bytes) -> None: ...

    def oversized(self, upstream: Upstream, ends: bytes, size: int) -> None: ...

    def gone(self, upstream: Upstream, how: str) -> None: ...

    def hold_client(self, held: bool) -> None: ...


class Upstream(Protocol):
    """One server, over any transport."""

    name: str
    alive: bool

    async def start(self, events: Events) -> None: ...

    def send(self, line: bytes, message: RpcMessage | None = None) -> None: ...

    def may_restart(self) -> bool: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    async def stop(self) -> None: ...

    def kill(self) -> None: ...


class _Flow(asyncio.BaseProtocol):
    """Pauses the client's input while a server isn't reading."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def pause_writing(self) -> None:
        self._events.hold_client(True)

    def resume_writing(self) -> None:
        self._events.hold_client(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._events.hold_client(False)


class StdioUpstream:
    """A server run as a child process, restarted on demand after it died."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        log: ChildLog,
        largest: int = 512 << 20,
    ) -> None:
        self.name = name
        self.alive = False
        self._command = list(command)
        self._env = env
        self._cwd = cwd
        self._log = log
        self._largest = largest
        self._child: Child | None = None
        self._starts: list[float] = []
        self._stopping = False
        self._end: asyncio.Task[None] | None = None

    async def start(self, events: Events) -> None:
        self._starts.append(monotonic())
        child = Child(self._command, env=self._env, cwd=self._cwd, log=self._log)
        lines = LineReader(
            lambda line: events.from_server(self, line),
            lambda: self._ending(child, events),
            self._largest,
            lambda ends, size: events.oversized(self, ends, size),
        )
        await child.start(lines, _Flow(events))
        self._child = child
        self.alive = True

    def _ending(self, child: Child, events: Events) -> None:
        self._end = asyncio.get_running_loop().create_task(self._ended(child, events))

    async def _ended(self, child: Child, events: Events) -> None:
        await child.wait()
        if child is self._child:
            self.alive = False
            if self._stopping:
                return
            await child.stop(0.2)  # it closed its output and may still run, but nothing more can come
            events.gone(self, child.last_words())

    def send(self, line: bytes, message: RpcMessage | None = None) -> None:
        if self._child is not None:
            self._child.send(line)

    def may_restart(self) -> bool:
        """Whether a restart is allowed; limited, for servers that die at every start."""
        recent = [at for at in self._starts if monotonic() - at < _RESTART_WINDOW]
        return not self._stopping and len(recent) <= _RESTARTS

    def pause(self) -> None:
        if self._child is not None:
            self._child.pause()

    def resume(self) -> None:
        if self._child is not None:
            self._child.resume()

    async def stop(self) -> None:
        self._stopping = True
        if self._child is not None:
            await self._child.stop()

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
