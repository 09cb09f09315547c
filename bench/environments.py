"""The environment of each other library: made from its pins in bench/peers/, kept, and never mixed with Brim's.

    make("litellm", Path(".bench")) -> Environment(name="litellm", program=".bench/litellm-3f2a…/bin/python")

A Python library has `peers/NAME.txt` (pip), a JavaScript one `peers/NAME/package-lock.json` (npm). What cannot be
installed has a reason instead of a program, and that reason stands in the tables.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).resolve().parent / "peers"
READY = ".ready"
PATIENCE = 900.0


@dataclass(frozen=True)
class Environment:
    """A program that can run a library's worker, or the reason why there is none."""

    name: str
    program: tuple[str, ...] = ()
    folder: Path = Path()
    problem: str = ""


class NotInstalled(Exception):
    """What an installer said at last."""


def make(name: str, kept: Path) -> Environment:
    """The environment of a library, made if it is not there yet."""
    try:
        if (PEERS / name / "package-lock.json").is_file():
            folder = _node(name, kept)
            return Environment(name, ("node", str(PEERS / name / "worker.mjs"), str(folder)), folder)
        folder = _python(name, kept)
    except NotInstalled as problem:
        return Environment(name, problem=f"not installed: {problem}")
    worker = str(PEERS / "worker.py")
    return Environment(name, (str(_interpreter(folder)), worker, f"by_{name}"), folder)


def ours() -> Environment:
    """Brim itself, run in the same way as the others."""
    return Environment("brim", (sys.executable, str(PEERS / "worker.py"), "by_brim"))


def vocabularies(environments: list[Environment]) -> Path | None:
    """The folder of vocabularies that LiteLLM's wheel brings along, so that tiktoken downloads nothing.

    Where LiteLLM is not installed there is none, and tiktoken downloads what it needs.
    """
    for environment in environments:
        found = sorted(environment.folder.glob("lib/python*/site-packages/litellm/litellm_core_utils/tokenizers"))
        if environment.name == "litellm" and found:
            return found[0]
    return None


def command(environment: Environment, name: str) -> str:
    """The program of a proxy: a command of Python's, or a file that node runs.

    Example: command(of litellm, "litellm") -> ".bench/litellm-3f2a…/bin/litellm"
    """
    if environment.program[0] == "node":
        return str(next(environment.folder.glob("node_modules/@*/*/build/start-server.js")))
    return str(Path(environment.program[0]).parent / name)


def version(environment: Environment, package: str) -> str:
    """The version of a package in an environment."""
    if environment.program[0] == "node":
        about = (environment.folder / "node_modules" / package / "package.json").read_text(encoding="utf-8")
        return str(json.loads(about)["version"])
    code = f"from importlib.metadata import version; print(version({package!r}))"
    asked = [environment.program[0], "-c", code]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def _python(name: str, kept: Path) -> Path:
    pins = PEERS / f"{name}.txt"
    folder = _folder(name, kept, pins.read_bytes() + sys.version.encode())
    if not (folder / READY).exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
        pip = [sys.executable, "-m", "pip", "--python", str(_interpreter(folder)), "install", "--quiet"]
        # What is not imported is not compiled: that is most of it, and half of the time.
        _install([*pip, "--disable-pip-version-check", "--no-compile", "--no-deps", "-r", str(pins)], folder)
    return folder


def _node(name: str, kept: Path) -> Path:
    pins = PEERS / name / "package-lock.json"
    folder = _folder(name, kept, pins.read_bytes())
    if not (folder / READY).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(PEERS / name / file, folder)
        _install(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)], folder)
    return folder


def _folder(name: str, kept: Path, pins: bytes) -> Path:
    """Other pins, another folder: what was measured is what is pinned."""
    return kept.resolve() / f"{name}-{hashlib.sha256(pins).hexdigest()[:12]}"


def _interpreter(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _install(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except FileNotFoundError:
        raise NotInstalled(f"there is no {command[0]} here") from None
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{command[0]} took more than {PATIENCE:.0f} s") from None
    if done.returncode:
        raise NotInstalled(_said(done.stderr) or f"{Path(command[0]).name} ended with {done.returncode}")
    (folder / READY).touch()


def _said(stderr: str) -> str:
    """The error that an installer names, without its warnings and on one line.

    Example: "WARNING: x\\nERROR: No matching distribution for y\\n" -> "No matching distribution for y"
    """
    lines = [line.strip() for line in stderr.splitlines() if not line.startswith(("WARNING", "[notice]"))]
    errors = [line.partition(":")[2].strip() for line in lines if line.startswith(("ERROR:", "npm error"))]
    return next(filter(None, reversed(errors or lines)), "")[:200]
