"""Asks MCP servers from the command line: starts them, shakes hands, asks, stops them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from brim.errors import BrimError
from brim.mcp.options import WrapperOptions
from brim.mcp.transport import json_rpc
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.json_rpc import RpcMessage, RpcObject
from brim.mcp.transport.upstream import Upstream
from brim.mcp.wrapper.proxy import Wrapper

# A server started by `npx` may have to be downloaded first.
WAIT = 60.0
AskServer = Callable[[str, RpcObject], Awaitable[RpcObject]]


@contextlib.asynccontextmanager
async def asking(
    upstreams: Sequence[Upstream], options: WrapperOptions, log: ChildLog, *, wait: float = WAIT
) -> AsyncIterator[tuple[Wrapper, AskServer]]:
    """The servers behind one wrapper, with a function that asks them and waits for the result."""
    answers: asyncio.Queue[RpcMessage] = asyncio.Queue()
    wrapper = Wrapper(upstreams, options, lambda line: answers.put_nowait(json_rpc.decode(line)), log=log)
    await wrapper.start()
    number = 0

    async def ask(method: str, params: RpcObject) -> RpcObject:
        nonlocal number
        number += 1
        wrapper.from_client(json_rpc.request(number, method, params))
        while True:
            try:
                message = await asyncio.wait_for(answers.get(), wait)
            except TimeoutError as error:
                raise BrimError(f"the server gave no answer to {method} in {wait:g} s") from error
            if message.is_response and message.id == number:
                if message.failed:
                    raise BrimError(f"{method} failed: {message.error().get('message')}")
                return message.result()

    try:
        client = {"name": "brim", "version": "1"}
        await ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        wrapper.from_client(json_rpc.notification("notifications/initialized"))
        yield wrapper, ask
    finally:
        await asyncio.gather(*(upstream.stop() for upstream in upstreams))
