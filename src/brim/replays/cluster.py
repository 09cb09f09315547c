"""Ray clusters: connects to one, and runs a share of a replay on one of its machines."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from brim.errors import BadInput, MissingExtra
from brim.replays.parts import ReplayPlan, ReplayWork
from brim.replays.sharing import Batch, WorkerLost

try:
    import ray
    from ray.exceptions import RayActorError, RaySystemError
except ImportError:
    raise MissingExtra("--ray", "batch") from None

# Seconds to wait for a connection to a cluster; Ray itself tries for minutes and then ends the process.
PATIENCE = 5.0
_ADDRESS = re.compile(r"(?:ray://)?\[?(?P<host>[^/\[\]]+)\]?:(?P<port>\d+)")


@contextmanager
def connected(address: str) -> Iterator[int]:
    """Connect this process to the cluster at an address if necessary; returns its number of cores. Raises BadInput."""
    own = not ray.is_initialized()
    if own:
        _reach(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RaySystemError) as problem:
            raise BadInput("--ray", f"{address}: no Ray cluster answers there ({problem})") from None
    try:
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if own:
            ray.shutdown()


class ReplayActor:
    """A worker on any machine of the cluster."""

    def __init__(self, plan: ReplayPlan) -> None:
        # Don't reserve cores: if a machine is lost, the others must take its share, however busy they are.
        self._actor: Any = ray.remote(num_cpus=0, scheduling_strategy="SPREAD")(ReplayWork).remote(plan)

    def take(self, batch: Batch) -> Any:
        return self._actor.take.remote(batch)

    def sums(self) -> Any:
        return self._actor.sums.remote()

    def wait(self, asked: Any) -> Any:
        try:
            return ray.get(asked)
        except RayActorError:
            raise WorkerLost from None

    def close(self) -> None:
        ray.kill(self._actor)


def _reach(address: str) -> None:
    """Raises BadInput if nothing listens at an address."""
    named = _ADDRESS.fullmatch(address)
    if named is None:
        return  # such as "auto", which Ray looks up
    try:
        socket.create_connection((named["host"], int(named["port"])), PATIENCE).close()
    except (OSError, OverflowError) as problem:
        raise BadInput("--ray", f"{address}: no Ray cluster answers there ({problem})") from None
