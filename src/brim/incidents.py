"""Faults inside Brim that a request survived, noted once each by type and place, never with content."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from typing import Literal

log = logging.getLogger("brim")
_ROOT = Path(__file__).parent

IncidentKind = Literal["compactor", "detector", "embeddings", "planning", "report", "store", "timeout"]
KINDS: tuple[IncidentKind, ...] = ("compactor", "detector", "embeddings", "planning", "report", "store", "timeout")
_INSTEAD: dict[IncidentKind, str] = {
    "compactor": "one text was shortened to its beginning and end",
    "detector": "one text was taken as plain text",
    "embeddings": "from now on words alone rank what was said before",
    "planning": "the plain planner fitted the request",
    "report": "the report says only what the request takes",
    "store": "the request went on without the store",
    "timeout": "planning took too long, and the plain planner fitted the request",
}


@dataclass(frozen=True, slots=True)
class Incident:
    """A fault: its kind, and a fingerprint that is the same each time the same code breaks.

    Example: Incident("compactor", "KeyError at content/json/table/emit.py:156")
    """

    kind: IncidentKind
    fingerprint: str

    def __str__(self) -> str:
        return f"a fault inside Brim, {self.fingerprint}: {_INSTEAD[self.kind]}"


_collecting: ContextVar[list[Incident] | None] = ContextVar("brim_incidents", default=None)


def note(kind: IncidentKind, problem: BaseException) -> Incident:
    """Log a fault, and pass it to the collector of the current request."""
    return tell(Incident(kind, fingerprint(problem)))


def tell(incident: Incident) -> Incident:
    """Log and pass on a fault that another process noted."""
    found = _collecting.get()
    if found is None or incident not in found:  # the same fault for a thousand messages is one event
        log.warning("%s", incident)
        if found is not None:
            found.append(incident)
    return incident


class collected:
    """Collect the faults noted inside; outer collectors get them too.

    Example: `with collected() as found: ...`
    """

    __slots__ = ("_found", "_outer", "_token")

    def __enter__(self) -> list[Incident]:
        self._found: list[Incident] = []
        self._outer = _collecting.get()
        self._token = _collecting.set(self._found)
        return self._found

    def __exit__(self, *_: object) -> None:
        _collecting.reset(self._token)
        if self._outer is not None:
            self._outer += [incident for incident in self._found if incident not in self._outer]


def fingerprint(problem: BaseException) -> str:
    """The type of an exception and the innermost place in Brim it passed, without its message, which may have content.

    Example: "KeyError at content/json/table/emit.py:156"
    """
    found = ""
    for frame, line in walk_tb(problem.__traceback__):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_ROOT) and path.name != "deadline.py":  # deadline.py is around everything
            found = f" at {path.relative_to(_ROOT).as_posix()}:{line}"
    return type(problem).__name__ + found
