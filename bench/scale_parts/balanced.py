"""The real HAProxy before gateways, with the configuration of deploy/, and gateways restarted one after the other."""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.stores.servers import free_port

if TYPE_CHECKING:
    from scale_parts.load import Gateways, Load

ROOT = Path(__file__).resolve().parents[2]
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
SHIPPED = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
BY_HASH = "balance hash var(txn.route)\n    hash-type consistent sdbm avalanche"
# Each request goes to a gateway by chance.
BY_CHANCE = SHIPPED.replace(BY_HASH, "balance random(1)")
_SERVERS = SHIPPED[SHIPPED.index("    server gateway-1") :]


@dataclass
class Balanced:
    """What the clients know: one address."""

    urls: list[str]


def for_many(configuration: str, number: int) -> str:
    """The configuration with so many gateways."""
    servers = "".join(f'    server gateway-{n} "${{BRIM_GATEWAY_{n}}}"\n' for n in range(1, number + 1))
    return configuration.replace(_SERVERS, servers)


@contextmanager
def balancer(folder: Path, configuration: str, gateways: list[str]) -> Iterator[Balanced]:
    """HAProxy in front of gateways, once they are found ready; its log is in the folder."""
    if HAPROXY is None:
        raise RuntimeError("HAProxy is not installed: apt-get install haproxy")
    file, port = folder / "haproxy.cfg", free_port()
    file.write_text(for_many(configuration, len(gateways)))
    places = {f"BRIM_GATEWAY_{n}": url.removeprefix("http://") for n, url in enumerate(gateways, 1)}
    env = {**os.environ, **places, "BRIM_BIND": f"127.0.0.1:{port}", "BRIM_HAPROXY_USER": getpass.getuser()}
    with (folder / "haproxy.log").open("wb") as told:
        process = subprocess.Popen([HAPROXY, "-db", "-f", str(file)], env=env, stdout=told, stderr=told)
    try:
        _wait_until_ready(process, f"http://127.0.0.1:{port}/readyz", folder / "haproxy.log")
        yield Balanced([f"http://127.0.0.1:{port}"])
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        if process.poll() is not None:
            break
    raise RuntimeError(f"HAProxy serves nothing: {log.read_text()[-2000:]}")


def served_by(log: Path) -> dict[str, int]:
    """Requests that each gateway answered, by HAProxy's own log."""
    found: dict[str, int] = {}
    for line in log.read_text().splitlines():
        words = line.split()
        if "POST" in words:
            found[words[-2]] = found.get(words[-2], 0) + 1
    return found


async def restarted(gateways: Gateways, load: Load, first: int) -> None:
    """End each gateway as a deployment does, and start it again, the next when it is ready; under load."""
    while load.outcome.answered < first:
        await asyncio.sleep(0.05)
    for name in range(len(gateways.urls)):
        await asyncio.to_thread(gateways.kill, name, signal.SIGTERM)
        await asyncio.sleep(3)  # the balancer looks once a second
