"""Faults of every kind, one after the other: a process, the database, the network and the cache."""

from __future__ import annotations

import json
import random
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scale_parts import partition
from tests.stores.servers import Postgres, Valkey

if TYPE_CHECKING:
    from scale import Gateways

# Longer than a session's lease (60 s), and than requests wait for a connection that says nothing (10 s).
LONG_PAUSE, LONG_CUT = 65.0, 12.0
# A gateway finds its store again with the first request some seconds after it is back.
RECOVERY = 20.0


class Faults:
    """Makes faults; `made` counts them by kind."""

    def __init__(
        self, gateways: Gateways, server: Postgres, cache: Valkey | None, dice: random.Random, *, apart: bool
    ) -> None:
        self._gateways, self._server, self._cache, self._dice = gateways, server, cache, dice
        self.made: Counter[str] = Counter()
        self.kinds = ["kill", "pause", "restart"]
        self.kinds += ["flush", "lose the cache"] if cache is not None else []
        self.kinds += ["partition"] if apart else []

    def one(self, kind: str = "") -> None:
        """A fault, to its end."""
        name = self._dice.randrange(len(self._gateways.processes))
        kind = kind or self._dice.choice(self.kinds)
        if kind == "kill":
            self._gateways.kill(name)
        elif kind == "pause":
            self._gateways.pause(name, self._dice.choice((1.0, 3.0, 8.0)))
        elif kind == "pause past the lease":
            self._gateways.pause(name, LONG_PAUSE)
        elif kind == "restart":
            self._server.stop(self._dice.choice(("fast", "immediate")))
            self._server.start()
        elif kind == "partition":
            partition.cut(name)
            time.sleep(self._dice.choice((2.0, 5.0, LONG_CUT)))
            partition.heal(name)
        else:
            self._cache_fault(kind)
        self._wait()
        self.made[kind] += 1

    def _wait(self) -> None:
        """Until the store is well again for every gateway, one fault at a time; while requests come."""
        end = time.monotonic() + RECOVERY
        for url in self._gateways.urls:
            while not _well(url) and time.monotonic() < end:
                time.sleep(0.2)
            if not _well(url):
                print(f"not well {RECOVERY} s after the fault: {url}", file=sys.stderr)

    def _cache_fault(self, kind: str) -> None:
        assert self._cache is not None
        if kind == "flush":
            self._cache.flush()
        else:
            self._cache.kill()
            time.sleep(self._dice.choice((0.5, 3.0)))
            self._cache.start()


def _well(url: str) -> bool:
    """Whether a gateway takes requests and its store takes writes."""
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            told = json.loads(answer.read())
    except OSError:
        return False
    return bool(told["ready"]) and told["store"] == "ok"


class Failover:
    """A database with a replica that has every acknowledged turn; `happen` loses the first and promotes the second."""

    def __init__(self, folder: Path) -> None:
        self.first = Postgres(folder / "first", options="-c synchronous_standby_names=*")
        self.second = Postgres(folder / "second", replica_of=self.first)
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in (self.first, self.second))
        self.url = f"postgresql://brim@{hosts}/postgres?target_session_attrs=read-write"

    def happen(self) -> None:
        self.first.stop("immediate")
        self.second.promote()

    def stop(self) -> None:
        self.second.stop("immediate")
