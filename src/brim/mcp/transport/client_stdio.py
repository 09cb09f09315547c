"""The client side of a wrapper: its own standard streams."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO, Literal

from brim.mcp.options import WrapperOptions
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.transport.child_process import ChildLog, LineReader, widen
from brim.mcp.transport.upstream import Upstream
from brim.mcp.wrapper.proxy import Wrapper

_LAST_ANSWERS = 10.0


class _Output(asyncio.BaseProtocol):
    """Tells the wrapper when the client stops reading."""

    def __init__(self) -> None:
        self.wrapper: Wrapper | None = None
        self.lost = asyncio.Event()

    def pause_writing(self) -> None:
        if self.wrapper:
            self.wrapper.hold_servers(True)

    def resume_writing(self) -> None:
        if self.wrapper:
            self.wrapper.hold_servers(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


async def wrap_stdio(upstreams: Sequence[Upstream], options: WrapperOptions, log: ChildLog) -> int:
    """Serve the client on stdin and stdout until it closes them; returns 0, or 1 if a server can't start."""
    loop = asyncio.get_running_loop()
    output = _Output()
    stdin, stdout = _own(sys.stdin.buffer, "rb"), _own(sys.stdout.buffer, "wb")
    writer = await _writer(loop, output, stdout)
    archive = MemoryArchive()
    wrapper = Wrapper(upstreams, options, lambda line: writer.write(line + b"\n"), log=log, archive=archive)
    output.wrapper = wrapper
    ended, stopped = asyncio.Event(), asyncio.Event()
    lines = LineReader(wrapper.from_client, ended.set, options.largest_message, lambda ends, size: None)
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stopped.set)
    try:
        await wrapper.start(_hold(lines))
        await _reader(loop, lines, stdin)
        await _first(ended, stopped, output.lost)
        if not stopped.is_set() and not output.lost.is_set():
            await asyncio.wait_for(_first(stopped, output.lost, idle=wrapper), _LAST_ANSWERS)
    except TimeoutError:
        log.say("some calls had no answer yet")
    except OSError as error:
        log.say(f"the server cannot be started: {error}")
        stdin.close()
        await asyncio.sleep(0.05)
        return 1
    finally:
        await asyncio.gather(*(upstream.stop() for upstream in upstreams))
        writer.close()
        archive.close()
    return 0


def _own(stream: BinaryIO, mode: Literal["rb", "wb"]) -> BinaryIO:
    """A standard stream to be closed here: a transport closes what it is given, and the interpreter flushes its own."""
    return os.fdopen(os.dup(stream.fileno()), mode)


def _hold(lines: LineReader) -> Callable[[bool], None]:
    def hold(held: bool) -> None:
        transport = lines.transport
        if transport is not None and not transport.is_closing():
            (transport.pause_reading if held else transport.resume_reading)()

    return hold


async def _first(*events: asyncio.Event, idle: Wrapper | None = None) -> None:
    """Wait until one of the events happens or, with `idle`, until that wrapper has answered everything."""
    while not any(event.is_set() for event in events) and not (idle is not None and not idle.busy):
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=0.01 if idle else None)
        for wait in waits:
            wait.cancel()


async def _reader(loop: asyncio.AbstractEventLoop, lines: LineReader, stdin: BinaryIO) -> None:
    """Read stdin through the event loop, or in a thread if it is a file or the system can't."""
    try:
        widen(stdin)
        await loop.connect_read_pipe(lambda: lines, stdin)
    except (ValueError, NotImplementedError, OSError):
        threading.Thread(target=_read_all, args=(loop, lines, stdin.fileno()), daemon=True).start()


def _read_all(loop: asyncio.AbstractEventLoop, lines: LineReader, descriptor: int) -> None:
    while data := os.read(descriptor, 1 << 16):
        loop.call_soon_threadsafe(lines.data_received, data)
    loop.call_soon_threadsafe(lines.eof_received)
    loop.call_soon_threadsafe(lines.connection_lost, None)


class _FileWriter:
    """A writer for a stdout that isn't a pipe."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, data: bytes) -> None:
        self._out.write(data)
        self._out.flush()

    def close(self) -> None:
        self._out.flush()


async def _writer(
    loop: asyncio.AbstractEventLoop, output: _Output, stdout: BinaryIO
) -> asyncio.WriteTransport | _FileWriter:
    try:
        widen(stdout)
        writer, _ = await loop.connect_write_pipe(lambda: output, stdout)
    except (ValueError, NotImplementedError, OSError):
        return _FileWriter(stdout)
    return writer
