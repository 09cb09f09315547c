"""What the commands read: a file or standard input, as a text or as a request."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from brim import catalog, settings
from brim.errors import BadInput


def read_bytes(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def read_text(name: str) -> str:
    return read_bytes(name).decode("utf-8", "replace")


def request_in(data: bytes) -> Any | None:
    """The request that a file holds: a body, or a list of messages; None if it is just text.

    A file with one JSON object a line, each a message, is a list of messages too.
    """
    head = data.lstrip()[:1]
    if head not in (b"{", b"["):
        return None
    try:
        value = json.loads(data)
    except ValueError:
        value = _lines(data)
    if isinstance(value, list) and value and all(isinstance(item, dict) and _is_message(item) for item in value):
        return value
    if isinstance(value, dict) and any(
        isinstance(value.get(key), (list, str)) for key in ("messages", "input", "contents")
    ):
        return data if data.lstrip()[:1] == b"{" and data.count(b"\n{") == 0 else value
    return None


def _is_message(item: dict[str, Any]) -> bool:
    return (
        "role" in item
        or "parts" in item
        or item.get("type") in ("message", "function_call", "function_call_output", "reasoning")
    )


def _lines(data: bytes) -> list[Any] | None:
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()]
    except ValueError:
        return None


def need_request(name: str) -> Any:
    found = request_in(read_bytes(name))
    if found is None:
        raise BadInput(
            "standard input" if name == "-" else name,
            "is no request: give a JSON list of messages, or a request body with messages, input or contents",
        )
    return found


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", "-m", metavar="M", help="the model, such as gpt-4o or claude-sonnet-4-5")


def apply_settings() -> settings.Settings:
    """Load brim.toml and the environment; models that they describe are known from here on."""
    loaded = settings.load()
    for name, entry in loaded.models.items():
        catalog.override(name, entry.given())
    return loaded
