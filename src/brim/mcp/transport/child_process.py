"""A server process: started with pipes, read by lines of any length, never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

if sys.platform == "linux":
    import fcntl

_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031
_TAIL = 4_096
_PR_SET_PDEATHSIG = 1
OnLine = Callable[[bytes], None]


class LineReader(asyncio.Protocol):
    """Cuts a stream into lines without a limit on their length, save one that guards the memory.

    A line beyond `largest` is not kept: `oversized` gets its first and last bytes and its length.
    """

    def __init__(self, line: OnLine, ended: Callable[[], None], largest: int, oversized: Callable[[bytes, int], None]):
        self._line = line
        self._ended = ended
        self._largest = largest
        self._oversized = oversized
        self._parts: list[bytes] = []
        self._held = 0
        self._skipped = 0
        self.transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            self._finish()
            start = end + 1
        if start < len(data):
            self._add(data[start:] if start else data)

    def _add(self, data: bytes) -> None:
        self._parts.append(data)
        self._held += len(data)
        if self._held > self._largest:
            ends = b"".join(self._parts)
            self._skipped += len(ends) - 2 * _TAIL
            self._parts = [ends[:_TAIL], ends[-_TAIL:]]
            self._held = 2 * _TAIL

    def _finish(self) -> None:
        line = b"".join(self._parts)
        skipped, self._parts, self._held, self._skipped = self._skipped, [], 0, 0
        if skipped:
            self._oversized(line, len(line) + skipped)
        elif line.strip():
            self._line(line)

    def eof_received(self) -> bool | None:
        if self._parts:
            self._finish()
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended()


class ChildLog:
    """Writes to stderr from its own thread, dropping text rather than waiting for a reader."""

    def __init__(self, out: BinaryIO | None = None) -> None:
        self._out = out or sys.stderr.buffer
        self._queue: queue.Queue[bytes] = queue.Queue(maxsize=256)
        self._dropped = 0
        threading.Thread(target=self._run, daemon=True).start()

    def write(self, data: bytes) -> None:
        try:
            if self._dropped:
                self._queue.put_nowait(b"brim: %d blocks of stderr were dropped\n" % self._dropped)
                self._dropped = 0
            self._queue.put_nowait(data)
        except queue.Full:
            self._dropped += 1

    def say(self, text: str) -> None:
        self.write(f"brim: {text}\n".encode("utf-8", "replace"))

    def _run(self) -> None:
        while True:
            data = self._queue.get()
            try:
                self._out.write(data)
                self._out.flush()
            except (OSError, ValueError):
                return  # nobody reads stderr anymore


class _Stderr(asyncio.Protocol):
    def __init__(self, log: ChildLog) -> None:
        self._log = log
        self.tail = b""

    def data_received(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_TAIL:]
        self._log.write(data)


class Child:
    """One run of a server's command."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str] | None, cwd: str | None, log: ChildLog
    ) -> None:
        self._command = list(command)
        self._env = {**os.environ, **env} if env else None
        self._cwd = cwd
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._stdout: asyncio.ReadTransport | None = None
        self._stderr: asyncio.ReadTransport | None = None
        self._errors: _Stderr | None = None

    async def start(self, lines: LineReader, flow: asyncio.BaseProtocol) -> None:
        """Start the process; raise OSError when the command cannot be run."""
        options: dict[str, Any] = {"start_new_session": True, "preexec_fn": _die_with_parent()}
        if os.name == "nt":
            options = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, stderr=pipe, env=self._env, cwd=self._cwd, bufsize=0, **options
        )
        loop = asyncio.get_running_loop()
        for stream in (self._process.stdin, self._process.stdout):
            widen(stream)
        errors = _Stderr(self._log)
        self._errors = errors
        self._stdin, _ = await loop.connect_write_pipe(lambda: flow, self._process.stdin)
        self._stdout, _ = await loop.connect_read_pipe(lambda: lines, self._process.stdout)
        self._stderr, _ = await loop.connect_read_pipe(lambda: errors, self._process.stderr)

    def send(self, line: bytes) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(line + b"\n")

    def pause(self) -> None:
        if self._stdout is not None and not self._stdout.is_closing():
            self._stdout.pause_reading()

    def resume(self) -> None:
        if self._stdout is not None and not self._stdout.is_closing():
            self._stdout.resume_reading()

    def last_words(self) -> str:
        """How the process ended, and its last line on stderr."""
        code = self._process.poll() if self._process else None
        tail = self._errors.tail.decode("utf-8", "replace").strip() if self._errors else ""
        said = f"; it last said: {tail.splitlines()[-1][:300]}" if tail else ""
        how = "" if code is None else f" with status {code}" if code >= 0 else f" by signal {-code}"
        return f"ended{how}{said}"

    async def stop(self, grace: float = 2.0) -> None:
        """Close its input, then terminate, then kill the process and everything in its group."""
        process = self._process
        if process is None:
            return
        if self._stdin is not None:
            self._stdin.close()
        if not await _gone(process, grace):
            _signal(process, signal.SIGTERM)
            await _gone(process, grace / 2)
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        await _gone(process, 1.0)
        for transport in (self._stdout, self._stderr):
            if transport is not None:
                transport.close()
        await asyncio.sleep(0)  # the loop closes the pipes in its next iteration

    def kill(self) -> None:
        """Kill immediately, for a wrapper without time left."""
        if self._process is not None:
            _signal(self._process, getattr(signal, "SIGKILL", signal.SIGTERM))

    async def wait(self) -> None:
        """Until the process has ended, so that its status is known."""
        if self._process is not None:
            await _gone(self._process, 1.0)


async def _gone(process: subprocess.Popen[bytes], seconds: float) -> bool:
    # Polling is enough, because it only happens at the end of a process, and it needs no child watcher.
    pause = 0.002
    while process.poll() is None:
        if seconds <= 0:
            return False
        await asyncio.sleep(pause)
        seconds -= pause
        pause = min(pause * 2, 0.05)
    return True


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, number)


def widen(stream: Any) -> None:
    """Give a pipe a larger buffer, where the system can: fewer wake-ups for a large result."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(stream.fileno(), _F_SETPIPE_SZ, _PIPE_BYTES)


def _die_with_parent() -> Callable[[], None] | None:
    """On Linux the kernel ends the child when this process is killed and cannot do it itself."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    return ask
