"""Work with a limit on its time, where someone watches what runs."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time

import pytest

from brim.deadline import OutOfTime, run_within

# A profiler, a debugger and a coverage tool all watch by the same hook of the interpreter.
PROFILED = """
import sys
import brim
from brim.deadline import OutOfTime, run_within

messages = [{"role": "user", "content": f"hello {number} " * 50} for number in range(50)]
brim.fit(messages, model="gpt-4o", budget=2_000)
try:
    run_within(0.05, lambda: [None for _ in iter(int, 1)])
except OutOfTime:
    pass
sys.setprofile(lambda *_: None)
brim.fit(messages, model="gpt-4o", budget=1_500)
sys.setprofile(None)
print("went on")
"""


def test_a_profiled_program_goes_on_after_a_fit_and_after_work_that_was_late() -> None:
    done = subprocess.run([sys.executable, "-c", PROFILED], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "went on\n", done.stderr


def test_what_was_raised_too_late_arrives_nowhere_else() -> None:
    ended = []

    def work() -> None:
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass

    def tries() -> None:
        for _ in range(
            40
        ):  # the limit ends about when the work does: the exception arrives before, at or after its end
            with contextlib.suppress(OutOfTime):
                run_within(0.02, work)
            for _ in range(100):
                pass
            ended.append(True)

    thread = threading.Thread(target=tries)
    thread.start()
    thread.join(60)
    assert len(ended) == 40


def test_work_that_ends_in_time_gives_what_it_gives() -> None:
    assert run_within(60, lambda: 3) == 3
    with pytest.raises(OutOfTime):
        run_within(0.02, lambda: [None for _ in iter(int, 1)])
    assert run_within(60, lambda: 4) == 4


def test_work_that_waits_for_the_processor_has_longer_than_work_that_computes() -> None:
    assert run_within(1, lambda: time.sleep(1.2)) is None
    with pytest.raises(OutOfTime):
        run_within(0.05, lambda: [time.sleep(0.001) for _ in iter(int, 1)])


def test_a_process_that_is_forked_inside_late_work_watches_its_own_threads_only() -> None:
    program = """
import os, threading, time
from brim.deadline import OutOfTime, run_within
held = threading.Thread(target=run_within, args=(30, lambda: time.sleep(1)))
held.start()
child = os.fork()
if not child:
    try:
        run_within(0.05, lambda: [None for _ in iter(int, 1)])
    except OutOfTime:
        os._exit(7)
    os._exit(1)
held.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "7\n", done.stderr
