"""The gateway with a heart that beats on its loop: how long the loop was held up, and how much of that it was at work.

Run as `python watched.py FILE ARGUMENTS…`, with the arguments of `brim serve`; FILE is written when it ends. On a busy
machine a beat is late because another process has the core. What the gateway itself holds up is at most the processor
time that it took between two beats, all of its threads together, and that the machine's load does not change.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import runpy
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from brim.gateway.server.serving import Server

PAUSE = 0.002
# Gaps that are noted, in seconds.
LONG = 0.004


def queued(thread: int) -> float:
    """Seconds that a thread was ready to run and had no core."""
    return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[1]) / 1e9


class Heart:
    """Beats, and notes of each long gap when it ended, how long it was, the processor time and the wait for a core."""

    def __init__(self) -> None:
        self.gaps: list[tuple[float, float, float, float]] = []
        self.stacks: list[tuple[float, str]] = []
        self.collections: list[tuple[float, float, int]] = []
        self.last = self._began = time.monotonic()

    async def beat(self) -> None:
        thread = threading.get_native_id()
        while True:
            self.last, cpu, waited = time.monotonic(), time.process_time(), queued(thread)
            await asyncio.sleep(PAUSE)
            gap = time.monotonic() - self.last
            if gap > LONG:
                self.gaps.append((self.last + gap, gap, time.process_time() - cpu, queued(thread) - waited))

    def collecting(self, phase: str, about: dict[str, int]) -> None:
        """Note the garbage collections, which hold up every thread."""
        if phase == "start":
            self._began = time.monotonic()
        elif (took := time.monotonic() - self._began) > LONG / 4:
            self.collections.append((time.monotonic(), took, about["generation"]))

    def look(self) -> None:
        """What all threads do while a beat is late; who holds the interpreter is seen as soon as it lets go."""
        while True:
            time.sleep(PAUSE)
            if time.monotonic() - self.last > 2 * LONG:
                stacks = [traceback.format_stack(frame, 8) for frame in sys._current_frames().values()]
                self.stacks.append((time.monotonic(), "\n".join("".join(one) for one in stacks)))


def main() -> None:
    place, heart = sys.argv.pop(1), Heart()
    gc.callbacks.append(heart.collecting)
    serve = Server.main_loop

    async def main_loop(server: Server) -> None:
        beating = asyncio.get_running_loop().create_task(heart.beat())
        await serve(server)
        beating.cancel()
        Path(place).write_text(json.dumps({"gaps": heart.gaps, "stacks": heart.stacks, "gc": heart.collections}))

    Server.main_loop = main_loop  # type: ignore[method-assign]
    if os.environ.get("BRIM_STACKS"):
        threading.Thread(target=heart.look, daemon=True).start()
    serving: Any = "brim.cli.service.serve"
    runpy.run_module(serving, run_name="__main__")


if __name__ == "__main__":
    main()
