"""The proxy between one client and its servers.

Messages pass byte for byte unless a rule applies: to tool lists and tool calls, to the handshake if the wrapper
adds something, and to names, ids and lists if there are several servers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from brim.mcp.options import WrapperOptions
from brim.mcp.results.archive import MemoryArchive, ResultArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.within_budget import text_result
from brim.mcp.timed_archive import TimedArchive
from brim.mcp.tools.tool_list import ToolList
from brim.mcp.transport import json_rpc
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.json_rpc import Id, Malformed, RpcMessage, RpcObject, is_modern, meta_of
from brim.mcp.transport.upstream import Upstream
from brim.mcp.wrapper import server_merge
from brim.mcp.wrapper.handshake import Answers, ServerError
from brim.mcp.wrapper.request_ids import Renaming
from brim.mcp.wrapper.tool_calls import ToolCalls

# Share of the time for one result that archiving its original may take; the rest is for compacting it.
ARCHIVE_SHARE = 0.25
_LINKS_SINCE = "2025-06-18"
_TOOLS_CHANGED = "notifications/tools/list_changed"
# Requests without a timeout: by their nature, or because the server is starting.
_SILENT = ("subscriptions/listen", "tasks/result", "initialize", "server/discover")


@dataclass(slots=True)
class Pending:
    """A request sent to a server. `finish` processes its answer; without it, the answer passes unchanged."""

    upstream: Upstream
    method: str
    modern: bool = False
    finish: Callable[[RpcMessage], None] | None = None
    token: object = None
    timer: asyncio.TimerHandle | None = None


class Wrapper:
    """Routes messages; `send` writes a line to the client."""

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        options: WrapperOptions,
        send: Callable[[bytes], None],
        *,
        log: ChildLog,
        archive: ResultArchive | None = None,
    ) -> None:
        self.upstreams = list(upstreams)
        self.options = options
        self.log = log
        self.archive: ResultArchive = TimedArchive(archive or MemoryArchive(), ARCHIVE_SHARE * options.fit_timeout)
        self.tools = ToolList(options, count_tokens)
        self.version = ""
        self.faults: Counter[str] = Counter()  # faults that results survived, by kind
        self.send = send
        self.pending: dict[Id, Pending] = {}
        self._calls = ToolCalls(self)
        self._several = len(self.upstreams) > 1
        self.by_name = {upstream.name: upstream for upstream in self.upstreams}
        self._answers = Answers(self)
        self.tools_known = False
        self.tool_changes = 0
        self._learning: asyncio.Task[None] | None = None
        self._asked = 0
        self.renaming = Renaming()
        self._hello: RpcMessage | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._waiting: dict[str, list[tuple[bytes, RpcMessage | None]]] = {}
        self._hold: Callable[[bool], None] = lambda held: None

    async def start(self, hold: Callable[[bool], None] | None = None) -> None:
        """Start every server. Raises OSError if one can't be started."""
        self._hold = hold or self._hold
        for upstream in self.upstreams:
            await upstream.start(self)

    @property
    def recalls(self) -> bool:
        """Whether `brim_recall` is offered: exactly if results may be compacted."""
        return self.options.compact and "brim_recall" not in self.tools.entries

    def links(self, modern: bool) -> bool:
        return modern or self.version >= _LINKS_SINCE

    # From the client

    def from_client(self, line: bytes) -> None:
        try:
            for part in json_rpc.split(line):
                self._client_message(json_rpc.decode(part))
        except Malformed as problem:
            self.log.say(f"the client sent a line that is no JSON-RPC: {problem.problem}")
            if problem.id is not None:
                self.send(json_rpc.error_response(problem.id, -32600, problem.problem))

    def _client_message(self, message: RpcMessage) -> None:
        if message.is_response:
            self._answer_server(message)
        elif message.id is None:
            self._client_notification(message)
        else:
            self._client_request(message, message.id)

    def _client_request(self, message: RpcMessage, id: Id) -> None:
        method = message.method
        if method == "tools/call" and not self._calls.idle:
            if self.tools_known:
                self._calls.request(message, id)
            else:
                self._run(id, self._call_once_known(message, id))
        elif method == "tools/list" and (self._several or not self.options.transparent):
            self._run(id, self._answers.list_tools(message, id))
        elif method in ("initialize", "server/discover"):
            self._hello = message if method == "initialize" else self._hello
            self._run(id, self._answers.greet(message, id))
        elif self._known(message, id):
            return
        elif self._several:
            self._run(id, self._answers.route(message, id))
        else:
            self.forward(message, self.upstreams[0])

    async def _call_once_known(self, message: RpcMessage, id: Id) -> None:
        """Handle a call once the tool lists are read; they say which tools are read-only or must pass unchanged."""
        if self._learning is None or self._learning.done():
            self._learning = self._spawn(self._answers.learn_tools(message.params()))
        await asyncio.shield(self._learning)
        self._calls.request(message, id)

    def _known(self, message: RpcMessage, id: Id) -> bool:
        """Handle a message about a result that the wrapper gave or is waiting for; False if it is about none."""
        method = message.method or ""
        if method.startswith("resources/"):
            return self._answers.own_resource(message, id)
        return method.startswith("tasks/") and self._calls.task(message, id)

    def _client_notification(self, message: RpcMessage) -> None:
        if message.method == "notifications/cancelled":
            self._cancel(message)
        elif message.method == "notifications/progress" and self._several:
            owner = self.renaming.owner(message.params().get("progressToken"))
            for upstream in [owner] if owner else self.upstreams:
                self.to_server(upstream, message.line)
        else:
            for upstream in self.upstreams:
                self.to_server(upstream, message.line, message)

    def _cancel(self, message: RpcMessage) -> None:
        id = message.params().get("requestId")
        if not isinstance(id, int | float | str):
            return
        waiting = self.pending.pop(id, None)
        if waiting is not None:
            self._stop_timer(waiting)
            self.to_server(waiting.upstream, message.line, message)
        elif id in self._running:
            self._running[id].cancel()

    def _answer_server(self, message: RpcMessage) -> None:
        """Pass the client's answer on to the server that asked."""
        if not self._several:
            self.to_server(self.upstreams[0], message.line, message)
            return
        found = self.renaming.answer(message)
        if found is not None:
            upstream, line = found
            self.to_server(upstream, line, message)

    # To a server

    def forward(
        self,
        message: RpcMessage,
        upstream: Upstream,
        line: bytes | None = None,
        finish: Callable[[RpcMessage], None] | None = None,
    ) -> None:
        """Forward a client's request; its answer goes to `finish`, or unchanged to the client."""
        assert message.id is not None
        assert message.method is not None
        waiting = Pending(upstream, message.method, finish=finish)
        if self.options.call_timeout > 0 or self._several:
            params = message.params()
            waiting.token = meta_of(params).get("progressToken")
            waiting.modern = is_modern(params)
        self.pending[message.id] = waiting
        self._start_timer(message.id, waiting)
        self.to_server(upstream, line or message.line, message)

    def to_server(self, upstream: Upstream, line: bytes, message: RpcMessage | None = None) -> None:
        if upstream.alive:
            queue = self._waiting.get(upstream.name)
            if queue is None:
                upstream.send(line, message)
            else:
                queue.append((line, message))
        elif message is not None and message.is_request:
            self._revive(upstream, line, message)

    def own_id(self) -> str:
        self._asked += 1
        return f"brim/{self._asked}"

    async def ask(self, upstream: Upstream, method: str, params: RpcObject, id: str = "") -> RpcObject:
        """Send one of the wrapper's own requests; returns the result or raises ServerError."""
        id = id or self.own_id()
        answer: asyncio.Future[RpcMessage] = asyncio.get_running_loop().create_future()

        def finish(message: RpcMessage) -> None:
            if not answer.done():
                answer.set_result(message)

        waiting = self.pending[id] = Pending(upstream, method, finish=finish)
        self._start_timer(id, waiting)
        line = json_rpc.request(id, method, params)
        self.to_server(upstream, line, json_rpc.decode(line))
        try:
            message = await answer
        except asyncio.CancelledError:
            self._stop_timer(waiting)
            self.pending.pop(id, None)
            self.to_server(upstream, json_rpc.notification("notifications/cancelled", {"requestId": id}))
            raise
        if message.failed:
            raise ServerError(message.error())
        return message.result()

    def _revive(self, upstream: Upstream, line: bytes, message: RpcMessage) -> None:
        queue = self._waiting.get(upstream.name)
        if queue is not None:
            queue.append((line, message))
        elif upstream.may_restart():
            self._waiting[upstream.name] = [(line, message)]
            self._spawn(self._restart(upstream))
        elif message.id is not None:
            self._fail(
                message.id, json_rpc.SERVER_GONE, f"the server {upstream.name} has ended and does not start again"
            )

    async def _restart(self, upstream: Upstream) -> None:
        """Restart a dead server, repeat the handshake, then send what was waiting for it."""
        self.log.say(f"starting the server {upstream.name} again".replace("  ", " "))
        try:
            await upstream.start(self)
        except OSError as error:
            self._waiting.pop(upstream.name, None)
            self.gone(upstream, f"cannot be started: {error}")
            return
        if self._hello is not None:
            waiting = self._waiting.pop(upstream.name)
            try:
                await self.ask(upstream, "initialize", self._hello.params())
            except ServerError as error:
                self.log.say(f"the server {upstream.name} refuses the handshake: {error}")
            upstream.send(json_rpc.notification("notifications/initialized"))
            waiting += self._waiting.pop(upstream.name, [])
        else:
            waiting = self._waiting.pop(upstream.name)
        for line, message in waiting:
            upstream.send(line, message)

    # From a server

    def from_server(self, upstream: Upstream, line: bytes) -> None:
        try:
            for part in json_rpc.split(line):
                self._server_message(upstream, json_rpc.decode(part))
        except Malformed as problem:
            shown = line[:120].decode("utf-8", "replace")
            self.log.say(f"the server {upstream.name} sent a line that is no JSON-RPC: {shown}")
            if problem.id in self.pending and line.lstrip()[:1] in (b"{", b"["):
                self._fail(problem.id, json_rpc.BAD_MESSAGE, f"the server's answer is no JSON-RPC: {problem.problem}")

    def _server_message(self, upstream: Upstream, message: RpcMessage) -> None:
        if message.is_response:
            waiting = self.pending.pop(message.id, None) if message.id is not None else None
            if waiting is None:
                self.log.say(f"dropped an answer that nobody waits for (id {message.id!r})")
                return
            self._stop_timer(waiting)
            if waiting.finish is None:
                self.send(message.line)
            else:
                waiting.finish(message)
        elif message.is_request and self._several:
            self.send(self.renaming.request(upstream, message))
        else:
            if message.method == "notifications/progress":
                self._progressed(message)
            elif message.method == _TOOLS_CHANGED:
                self.tools_known = False
                self.tool_changes += 1
            line = self.renaming.notification(upstream, message) if self._several else message.line
            if line:
                self.send(line)

    def oversized(self, upstream: Upstream, ends: bytes, size: int) -> None:
        id = json_rpc.guess_id(ends)
        most = self.options.largest_message
        text = f"the server's answer of {size:,} bytes is over the limit of {most:,}: ask for less at a time"
        if id is not None and id in self.pending:
            self._fail(id, json_rpc.TOO_LARGE, text)
        else:
            self.log.say(text)

    def gone(self, upstream: Upstream, how: str) -> None:
        self.log.say(f"the server {upstream.name} {how}".replace("  ", " "))
        self.renaming.gone(upstream)
        lost = [id for id, waiting in self.pending.items() if waiting.upstream is upstream]
        for id in lost:
            self._fail(id, json_rpc.SERVER_GONE, f"the server {upstream.name} {how}".replace("  ", " "))

    def hold_client(self, held: bool) -> None:
        self._hold(held)

    def hold_servers(self, held: bool) -> None:
        """Pause the servers while the client doesn't read."""
        for upstream in self.upstreams:
            (upstream.pause if held else upstream.resume)()

    # Time

    def _start_timer(self, id: Id, waiting: Pending) -> None:
        seconds = self.options.call_timeout
        if seconds > 0 and waiting.method not in _SILENT:
            loop = asyncio.get_running_loop()
            waiting.timer = loop.call_later(seconds, self._timed_out, id, waiting)

    def _stop_timer(self, waiting: Pending) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()

    def _progressed(self, message: RpcMessage) -> None:
        if self.options.call_timeout <= 0:
            return
        token = message.params().get("progressToken")
        for id, waiting in self.pending.items():
            if waiting.token == token and token is not None:
                self._stop_timer(waiting)
                self._start_timer(id, waiting)

    def _timed_out(self, id: Id, waiting: Pending) -> None:
        seconds = self.options.call_timeout
        text = f"the server {waiting.upstream.name} gave no answer to {waiting.method} in {seconds:g} s"
        self.to_server(
            waiting.upstream,
            json_rpc.notification("notifications/cancelled", {"requestId": id, "reason": "timed out"}),
        )
        self._fail(id, json_rpc.TIMED_OUT, text.replace("  ", " "))

    def _fail(self, id: Id, code: int, text: str) -> None:
        """Report an error for one call: for tools as a result that a model can read, otherwise as a JSON-RPC error."""
        waiting = self.pending.pop(id, None)
        if waiting is None:
            return
        self._stop_timer(waiting)
        line = json_rpc.error_response(id, code, text)
        if waiting.finish is not None and str(id).startswith("brim/"):
            waiting.finish(json_rpc.decode(line))
        elif waiting.method == "tools/call":
            self.send(json_rpc.response(id, text_result(text, error=True, modern=waiting.modern)))
        elif waiting.finish is not None:
            waiting.finish(json_rpc.decode(line))
        else:
            self.send(line)

    # Tasks

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _run(self, id: Id, work: Coroutine[Any, Any, None]) -> None:
        """Answer a multi-step request; a server's error becomes the answer."""

        async def guarded() -> None:
            try:
                await work
            except ServerError as error:
                self.send(json_rpc.dump({"jsonrpc": "2.0", "id": id, "error": error.error}))

        def ended(_: asyncio.Task[None]) -> None:
            self._running.pop(id, None)
            work.close()  # it never started if the client cancelled immediately

        self._running[id] = self._spawn(guarded())
        self._running[id].add_done_callback(ended)

    @property
    def busy(self) -> bool:
        return bool(self.pending or self._tasks)

    # Tools

    def tools_changed(self) -> None:
        """Notify a client (of the handshake versions) that a group was opened or closed."""
        self.send(json_rpc.notification(_TOOLS_CHANGED))

    def owner_of(self, tool: str) -> tuple[Upstream, str] | None:
        """The server of a tool and the tool's name there."""
        if not self._several:
            return self.upstreams[0], tool
        found = server_merge.split_name(tool, list(self.by_name))
        return (self.by_name[found[0]], found[1]) if found else None

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        self._spawn(work)
