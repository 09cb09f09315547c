"""Structured logs: one JSON object a line, with digests and sizes; content only on request, and redacted."""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

log = logging.getLogger("brim.gateway")
# Keys are always masked, whatever the settings say.
_KEYS: Final = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|csk|pplx|r8|nvapi|fw)[-_][\w-]{8,}|AIza[\w-]{20,}|\bgh[pousr]_\w{16,}|\bhf_\w{16,}"
    r"|\bAKIA[A-Z0-9]{12,}|\beyJ[\w-]{10,}\.[\w.-]+|(?i:bearer)\s+[^\s\"']{6,}"
)
MASK: Final = "[redacted]"
# Frames of a trace to log.
DEEPEST: Final = 12


class Redaction:
    """Masks anything that looks like a key or matches the settings' patterns.

    Example: Redaction([r"\\d{4}-\\d{4}"])("card 1234-5678") -> "card [redacted]"
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [_KEYS, *(re.compile(pattern) for pattern in patterns)]

    def __call__(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(MASK, text)
        return text

    def deep(self, value: Any) -> Any:
        """Mask every text inside a JSON value."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {key: self.deep(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.deep(inner) for inner in value]
        return value


def tell(kind: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event. Example: tell("fitted", session="a1", before=9000, after=8000)"""
    if log.isEnabledFor(level):
        log.log(level, kind, extra={"fields": fields})


class Lines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def __init__(self, redact: Redaction) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        entry: dict[str, Any] = {"at": stamp, "level": record.levelname.lower(), "event": record.getMessage()}
        entry.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            entry["error"] = type(record.exc_info[1]).__name__
            entry["trace"] = trace_of(record.exc_info[1])
        return msgspec.json.encode(self._redact.deep(entry), enc_hook=str).decode()


class Words(Lines):
    """The same for a person at a terminal. Example: "04:30:49 warning: failed  status=502 note=the upstream …" """

    def format(self, record: logging.LogRecord) -> str:
        entry = msgspec.json.decode(super().format(record))
        clock, level = entry.pop("at")[11:19], entry.pop("level")
        event = " ".join(str(entry.pop("event")).split())
        told = "  ".join(f"{name}={value}" for name, value in entry.items() if value not in (None, "", []))
        return f"{clock} {'' if level == 'info' else level + ': '}{event}  {told}".rstrip()


def trace_of(problem: BaseException) -> list[str]:
    """Where an exception came from: its causes first, the innermost place last.

    It contains neither messages nor source lines, because a message may quote what a client sent.
    Example: ["KeyError", "brim/apis/api.py:91 message", "brim/apis/api.py:60 want"]
    """
    chain: list[BaseException] = [problem]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    told: list[str] = []
    for one in reversed(chain):
        told.append(type(one).__name__)
        frames = traceback.extract_tb(one.__traceback__)[-DEEPEST:]
        told += [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]
    return told


def _short(path: str) -> str:
    """The end of a path. Example: "/usr/lib/python3.11/asyncio/tasks.py" -> "python3.11/asyncio/tasks.py" """
    return "/".join(Path(path).parts[-3:])


def set_up(redact: Redaction, level: int = logging.INFO) -> logging.Handler:
    """Log to standard error; returns the handler, so that a reload can replace it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Words(redact) if sys.stderr.isatty() else Lines(redact))
    for name in ("brim", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [one for one in logger.handlers if not isinstance(one.formatter, Lines)]
        logger.addHandler(handler)
        logger.setLevel(level if name == "brim" else logging.WARNING)
        logger.propagate = False
    return handler
