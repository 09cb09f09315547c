"""Several processes serve one port; the operating system gives each connection to one of them.

They share the store: sessions, archives, learned sizes, virtual keys and their budgets. A process that dies is
restarted; a signal to the parent goes to all. They end when the parent does, for whatever reason.
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

# Seconds before restarting a process that died, so that one that can't start doesn't use up a core.
AGAIN_SECONDS = 1.0
_LOOK_SECONDS = 0.2
# The exit code for wrong settings or arguments; another process wouldn't start either.
_WRONG = 2


class ServingProcesses:
    """Starts the processes, keeps them running, and ends with them."""

    def __init__(self, count: int, arguments: Sequence[str], ready: Callable[[], None]) -> None:
        self._ready = ready
        self._command = [sys.executable, "-m", "brim.cli.service.serve", *arguments, "--share-port"]
        self._running: list[subprocess.Popen[bytes] | None] = [None] * count
        self._died = [-AGAIN_SECONDS] * count
        self._stop = threading.Event()

    def run(self) -> int:
        """Serve until a signal ends it; returns the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._passed_on)
        code = self._looked_after()
        for process in self._running:
            assert process is not None
            assert process.stdout is not None
            process.stdout.readline()  # it is listening, or it ended
        self._ready()
        while not self._stop.wait(_LOOK_SECONDS) and not code:
            code = self._looked_after()
        self._signal(signal.SIGTERM)
        ended = [process.wait() for process in self._running if process is not None]
        # A process that was still starting doesn't drain; the signal itself ends it.
        return code or max((abs(one) for one in ended if one != -signal.SIGTERM), default=0)

    def _looked_after(self) -> int:
        """Start the processes that aren't running; returns an exit code if that is pointless."""
        for place, process in enumerate(self._running):
            if process is not None and process.poll() is not None:
                if process.returncode == _WRONG:
                    return _WRONG
                self._running[place], self._died[place] = None, time.monotonic()
            elif process is None and time.monotonic() - self._died[place] >= AGAIN_SECONDS:
                # Its own process group, so that Ctrl-C reaches it only once, through this process.
                self._running[place] = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
                )
        return 0

    def _passed_on(self, number: int, frame: object) -> None:
        if number == signal.SIGHUP:
            self._signal(number)
        elif self._stop.is_set():
            self._signal(number)  # the second signal: everything stops immediately
        else:
            self._stop.set()

    def _signal(self, number: int) -> None:
        for process in self._running:
            if process is not None and process.poll() is None:
                process.send_signal(number)


def reserved(host: str, port: int) -> socket.socket:
    """A socket that reserves a port for several processes and accepts nothing itself. Raises BadSetting."""
    if sys.platform != "linux":
        raise BadSetting("--workers", "is for Linux, which shares connections out: start several with a balancer")
    bound_to(host, port).close()  # check that nobody else has it, not even processes that share it
    return bound_to(host, port, shared=True)
