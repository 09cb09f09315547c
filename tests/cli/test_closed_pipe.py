"""A reader that has seen enough, as `head` has, is no error."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("command", [[], ["--version"], ["models"], ["demo"]])
def test_a_reader_that_goes_away_ends_a_command_in_silence(command: list[str]) -> None:
    running = subprocess.Popen(
        [sys.executable, "-u", "-m", "brim", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    running.stdout.close()
    _, told = running.communicate(timeout=60)
    assert told == b""
    assert running.returncode in (0, 1)  # tables end with 1
