"""Messages between the gateway and its worker processes: small values, followed by bodies in pieces.

Both ends are Brim, and the socket between them has no name that anyone else could open.
"""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from brim.gateway.proxy.controls import Controls
from brim.incidents import Incident
from brim.models import Model
from brim.planning.policies.policy import Policy

# Bytes of a body per read; copying them takes at most a tenth of a millisecond.
STEP: Final = 1 << 18
_HEAD: Final = struct.Struct("!QQ")


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Read the body that follows, and say what it asks for."""

    api: str
    packing: str
    limit: int
    path_model: str
    streamed: bool
    query: bytes


@dataclass(frozen=True, slots=True)
class BodyAsks:
    """What a body asks for, and its decompressed size."""

    model: str = ""
    stream: bool = False
    size: int = 0


@dataclass(frozen=True, slots=True)
class FitJob:
    """Fit the body that was just read."""

    model: Model | None
    upstream: str
    controls: Controls
    policy: Policy
    recall: str
    ship: bool
    """Send what was archived along: the store of the gateway is not one that both can open."""


@dataclass(frozen=True, slots=True)
class RefitJob:
    """Fit the last body again, below the size that its upstream stated."""

    number: int
    model: Model | None
    upstream: str
    controls: Controls
    tokens: int | None
    window: int | None
    ship: bool


@dataclass(frozen=True, slots=True)
class LearnJob:
    """Learn from the provider's usage for the last request."""

    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class FitDone:
    """The result of a fit; if `changed`, the new body follows."""

    number: int
    live: str
    engaged: bool
    name: str
    streamed: bool
    before: int
    after: int
    upper: int
    limit: int
    archived: int
    changed: bool
    window: int | None = None
    """What the upstream has stated as its window, if that can be believed."""
    report: bytes = field(default=b"", repr=False)
    handles: dict[str, int] = field(default_factory=dict, repr=False)
    originals: tuple[bytes, ...] = field(default=(), repr=False)
    incidents: tuple[Incident, ...] = ()
    """Faults inside Brim that it survived."""


@dataclass(frozen=True, slots=True)
class JobFailed:
    """Why a job failed: the Brim error to raise, or the name of another error."""

    kind: str
    given: tuple[Any, ...] = ()


class Channel:
    """One end of the socket. Raises EOFError if the other end is gone, TimeoutError if it is silent."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, value: Any, pieces: Sequence[bytes] = ()) -> None:
        head = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        try:
            self._end.sendall(_HEAD.pack(len(head), sum(map(len, pieces))) + head)
            for piece in pieces:
                self._end.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            raise EOFError from None

    def receive(self, patient: Callable[[], bool] = lambda: False) -> tuple[Any, list[bytes]]:
        """The next message from the other end; waits as long as `patient` says so."""
        size, more = _HEAD.unpack(b"".join(self._pieces(_HEAD.size, patient)))
        value = pickle.loads(b"".join(self._pieces(size, patient)))
        return value, list(self._pieces(more, patient))

    def _pieces(self, size: int, patient: Callable[[], bool]) -> Iterator[bytes]:
        while size > 0:
            try:
                piece = self._end.recv(min(size, STEP))
            except ConnectionResetError:
                raise EOFError from None
            except TimeoutError:
                if patient():
                    continue
                raise
            if not piece:
                raise EOFError
            size -= len(piece)
            yield piece

    def close(self) -> None:
        self._end.close()
