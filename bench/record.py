"""What was measured, when, on what and with which versions: the file that every number in the documentation is from."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import table

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/benchmarks"
OURS = ("brim", "splintr-rs", "msgspec")


def made(
    command: str, tables: Mapping[str, Sequence[table.Cells]], versions: Mapping[str, str], seconds: float
) -> dict[str, Any]:
    """The content of docs/benchmarks/NAME.json."""
    return {
        "command": command,
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {**versions, **{name: version(name) for name in OURS}, "commit": commit()},
        "seconds": round(seconds),
        "tables": {name: [table.rounded(row) for row in rows] for name, rows in tables.items()},
    }


def write(folder: Path, name: str, measured: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read(folder: Path, name: str) -> dict[str, Any] | None:
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def machine() -> str:
    """Example: "2 cores of Intel Xeon, x86_64, Linux, CPython 3.11.7" """
    return (
        f"{os.cpu_count()} cores of {_processor()}, {platform.machine()}, {platform.system()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model"):
                return " ".join(value.split())
    return platform.processor() or "an unnamed processor"


def commit() -> str:
    """The commit that was measured, with a + where files differ from it."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            capture_output=True, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def command(names: Sequence[str], flags: Sequence[str]) -> str:
    """Example: command(["fit"], ["--no-peers"]) -> "brim bench fit --data DIR --no-peers" """
    return " ".join(["brim bench", *names, "--data DIR", *flags])
