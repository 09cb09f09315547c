"""Several processes that serve one port: the system gives each connection to one of them.

What they share is the store: sessions, archives, what was learnt, virtual keys and their budgets. One that dies is
started again; a signal to the first process is a signal to all. They end when it does, however it does.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

from brim.errors import BadSetting
from brim.gateway.server.listening import bound_to

# A process that has died is started again after so long, so that one that cannot start does not use up a core.
AGAIN_SECONDS = 1.0
_LOOK_SECONDS = 0.2
# What a process ends with where its settings or arguments are wrong: another one would not start either.
_WRONG = 2


class ServingProcesses:
    """Starts them, keeps them running, and ends with them."""

    def __init__(self, count: int, arguments: Sequence[str], ready: Callable[[], None]) -> None:
        self._ready = ready
        self._command = [sys.executable, "-m", "brim.cli.service.serve", *arguments, "--share-port"]
        self._running: list[subprocess.Popen[bytes] | None] = [None] * count
        self._died = [-AGAIN_SECONDS] * count
        self._stop = threading.Event()

    def run(self) -> int:
        """Serve until a signal ends it; the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._passed_on)
        code = self._looked_after()
        for process in self._running:
            assert process is not None
            assert process.stdout is not None
            process.stdout.readline()  # it listens, or has ended
        self._ready()
        while not self._stop.wait(_LOOK_SECONDS) and not code:
            code = self._looked_after()
        self._signal(signal.SIGTERM)
        ended = [process.wait() for process in self._running if process is not None]
        # One that was only starting has no time to drain: the signal itself ends it.
        return code or max((abs(one) for one in ended if one != -signal.SIGTERM), default=0)

    def _looked_after(self) -> int:
        """Start what does not run; an exit code where that makes no sense."""
        for place, process in enumerate(self._running):
            if process is not None and process.poll() is not None:
                if process.returncode == _WRONG:
                    return _WRONG
                self._running[place], self._died[place] = None, time.monotonic()
            elif process is None and time.monotonic() - self._died[place] >= AGAIN_SECONDS:
                # A session of its own: a key pressed in the terminal reaches it once, by this process.
                self._running[place] = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
                )
        return 0

    def _passed_on(self, number: int, frame: object) -> None:
        if number == signal.SIGHUP:
            self._signal(number)
        elif self._stop.is_set():
            self._signal(number)  # the second one: what still runs stops at once
        else:
            self._stop.set()

    def _signal(self, number: int) -> None:
        for process in self._running:
            if process is not None and process.poll() is None:
                process.send_signal(number)


def reserved(host: str, port: int) -> socket.socket:
    """A socket that keeps a port for processes that share it, and takes no connection. Raises BadSetting."""
    if sys.platform != "linux":
        raise BadSetting("--workers", "is for Linux, which shares connections out: start several with a balancer")
    bound_to(host, port).close()  # nobody else has it, not even processes that share
    return bound_to(host, port, shared=True)
