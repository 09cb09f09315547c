"""Runs another library in its own environment, so that nothing of it comes into Brim's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "peers"


def ask(program: list[str], timeout: float, stdin: str = "") -> Any | str:
    """What a peer printed as JSON; or a text that says why there is nothing: not installed, failed, too slow."""
    try:
        done = subprocess.run(
            program, input=stdin, capture_output=True, text=True, timeout=timeout, check=False, cwd=HERE
        )
    except subprocess.TimeoutExpired:
        return f"more than {timeout:.0f} s"
    except FileNotFoundError:
        return f"no {program[0]} here"
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        missing = "ModuleNotFoundError" in done.stderr or "ERR_MODULE_NOT_FOUND" in done.stderr
        return "not installed: " + lines[-1] if missing else "failed: " + lines[-1]
    return json.loads(done.stdout.strip().splitlines()[-1])


def python(given: Path | None) -> str:
    """The interpreter of the peers' environment."""
    return str(given) if given else sys.executable
