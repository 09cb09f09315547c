"""`brim doctor`: check everything that Brim needs, and say what to fix."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import brim
from brim import settings
from brim.cli.agents.catalog import AGENTS
from brim.cli.agents.setup import backup_of
from brim.cli.agents.wrap import answers
from brim.errors import BrimError
from brim.settings.secrets import without_password
from brim.stores.resilient import is_address, open_store

_EXAMPLES = """examples:
  brim doctor            check everything, and say what to fix
  brim doctor --offline  without asking the upstreams
  brim doctor --json
"""
# Without them plain Python does the same, more slowly.
COMPILED = ("brim.tokens._claude", "brim.tokens._pieces", "brim.relevance._scan", "brim.relevance._share")
# Extras that stand for other extras, or for development.
COLLECTIONS = ("all", "dev")
# Example: 'psycopg[binary]>=3.2; extra == "postgres"' -> ("psycopg", "postgres")
NEEDED = re.compile(r"([\w.-]+)[^;]*;\s*extra\s*==\s*[\"']([\w-]+)[\"']\s*$")
# Request signatures and certificates fail when the clock is off by a few minutes.
CLOCK_SECONDS = 120
CheckState = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `fix` says what to do, if anything."""

    what: str
    state: CheckState
    found: str
    fix: str = ""


def add(subparsers: Any) -> None:
    """Register `doctor` with the command line."""
    parser = subparsers.add_parser(
        "doctor",
        help="check the installation and say what to fix",
        description="Check installation, extras, settings, store, port, upstreams, clock and agents.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--offline", action="store_true", help="ask no upstream")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    found = list(findings(args.offline))
    if args.json:
        print(json.dumps([asdict(finding) for finding in found]))
    else:
        for finding in found:
            print(f"{finding.state:5}  {finding.what}: {finding.found}")
            if finding.fix:
                print(f"       → {finding.fix}")
    return 1 if any(finding.state == "wrong" for finding in found) else 0


def findings(offline: bool) -> Iterator[Finding]:
    yield Finding("brim", "ok", f"{brim.__version__} on Python {sys.version.split()[0]}")
    yield _compiled()
    yield from _extras()
    try:
        loaded = settings.load()
    except BrimError as problem:
        yield Finding("settings", "wrong", str(problem), "correct the file; `brim init --stdout` shows every setting")
        return
    yield Finding("settings", "ok", "read without an error")
    yield _store(loaded)
    yield _port(loaded)
    if not offline:
        yield from _upstreams(loaded)
    yield from _agents(f"http://127.0.0.1:{loaded.gateway.port}")


def _compiled() -> Finding:
    missing = [name for name in COMPILED if importlib.util.find_spec(name) is None]
    if not missing:
        return Finding("compiled parts", "ok", "installed")
    told = f"{', '.join(missing)} missing: plain Python does the same, more slowly"
    return Finding("compiled parts", "note", told, "install a C compiler, then `pip install --force-reinstall brim`")


def _extras() -> Iterator[Finding]:
    """What the installed package says of its extras, and which of their packages are there."""
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("brim") or ():
        if (found := NEEDED.match(line)) and found[2] not in COLLECTIONS:
            extras.setdefault(found[2], []).append(found[1])
    for name, packages in sorted(extras.items()):
        missing = [package for package in packages if not _installed(package)]
        if not missing:
            yield Finding(f"extra {name}", "ok", "installed")
            continue
        told = "not installed" if len(missing) == len(packages) else f"without {', '.join(missing)}"
        yield Finding(f"extra {name}", "note", told, f"pip install 'brim[{name}]' if you need it")


def _installed(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def _store(loaded: settings.Settings) -> Finding:
    place = loaded.store_place
    if is_address(place):
        return _database(place)
    path = Path(place).expanduser()
    folder = next(parent for parent in path.parents if parent.exists())
    try:
        probe = folder / ".brim-doctor"
        probe.touch()
        probe.unlink()
    except OSError as problem:
        return Finding("store", "wrong", f"{path}: {problem.strerror}", "make the folder writable, or set store.path")
    return Finding(
        "store", "ok", f"{path} ({path.stat().st_size:,} bytes)" if path.exists() else f"{path}, not yet made"
    )


def _database(address: str) -> Finding:
    shown = without_password(address)
    try:
        store = open_store(address)
    except BrimError as problem:
        return Finding("store", "wrong", str(problem), "follow what it says, or set store.path")
    try:
        if store.degraded:
            return Finding("store", "wrong", f"{shown}: {store.degraded}", "see that the server runs and lets you in")
        return Finding("store", "ok", f"{shown} ({store.size():,} bytes)")
    finally:
        store.close()


def _port(loaded: settings.Settings) -> Finding:
    port = loaded.gateway.port
    if answers(f"http://127.0.0.1:{port}"):
        return Finding("port", "ok", f"a gateway of Brim answers at {port}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return Finding("port", "wrong", f"something else listens at {port}", "set gateway.port to a free one")
    return Finding("port", "note", f"nothing listens at {port}", "start the gateway with `brim serve`")


def _upstreams(loaded: settings.Settings) -> Iterator[Finding]:
    for name, upstream in loaded.upstreams.items():
        try:
            with urllib.request.urlopen(upstream.base_url, timeout=5) as answer:
                date = answer.headers.get("date")
        except urllib.error.HTTPError as refused:  # the server is there and wants a key
            date = refused.headers.get("date")
        except (OSError, ValueError) as problem:
            yield Finding(
                f"upstream {name}", "wrong", f"{upstream.base_url}: {problem}", "check the address and the network"
            )
            continue
        yield Finding(f"upstream {name}", "ok", f"{upstream.base_url} answers")
        if date and abs(parsedate_to_datetime(date).timestamp() - time.time()) > CLOCK_SECONDS:
            yield Finding("clock", "wrong", f"differs from {name}'s: {date}", "set this machine's clock")


def _agents(url: str) -> Iterator[Finding]:
    for name, agent in AGENTS.items():
        path = Path.home() / agent.file
        pointed = path.exists() and url in path.read_text(encoding="utf-8", errors="replace")
        if pointed:
            state: CheckState = "ok" if answers(url) else "wrong"
            fix = "" if state == "ok" else f"`brim serve`, or `brim setup {name} --undo`"
            yield Finding(f"agent {name}", state, f"{path} points at {url}", fix)
        elif backup_of(name).exists():
            yield Finding(f"agent {name}", "note", f"{path} was set up, and changed since", f"brim setup {name} --undo")
