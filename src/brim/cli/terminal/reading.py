"""Reads the commands' input: a file or standard input, as a text or as a request."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from brim import models, settings
from brim.errors import BadInput
from brim.planning.policies.policy import Policy
from brim.settings.policy import owner_of

BOM = b"\xef\xbb\xbf"
LISTS = ("messages", "input", "contents")
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model"})
ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})


_NUMBER = re.compile(r"(-?\d[\d_,]*(?:\.\d+)?)([km]?)", re.IGNORECASE)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def tokens(text: str) -> int:
    """A number of tokens as people write it. Example: "8000", "8_000", "8,000", "8k" -> 8000; "1.5M" -> 1500000"""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens: give 8000, 8_000 or 8k")
    size = float(found[1].replace("_", "").replace(",", "")) * _TIMES[found[2].lower()]
    if size < 1 or size != int(size):
        raise argparse.ArgumentTypeError(f"{text} is not a number of tokens: give 1 or more")
    return int(size)


def reserved(text: str) -> int:
    """A number of tokens that may be 0. Example: "0" -> 0; "1k" -> 1000"""
    return 0 if text.strip() == "0" else tokens(text)


def read_bytes(name: str) -> bytes:
    """The content of a file or standard input, without a UTF-8 byte order mark."""
    if name != "-":
        return Path(name).read_bytes().removeprefix(BOM)
    if sys.stdin.isatty():
        print("reading standard input: end it with Ctrl-D, or name a file", file=sys.stderr)
    return sys.stdin.buffer.read().removeprefix(BOM)


def names_model(request: Any) -> bool:
    """Whether a request from `request_in` names its model."""
    value = _json(request) if isinstance(request, bytes) else request
    return isinstance(value, dict) and bool(value.get("model"))


def as_text(data: bytes, name: str) -> str:
    """The text of a file; invalid UTF-8 is replaced, with a warning."""
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        print(
            f"{place_of(name)} is not UTF-8 text (byte {problem.start:,}): what cannot be read is replaced",
            file=sys.stderr,
        )
        return data.decode("utf-8", "replace")


def place_of(name: str) -> str:
    return "standard input" if name == "-" else name


def request_in(data: bytes) -> Any | None:
    """The request in a file, a body or a list of messages; None if the file is just text.

    A file with one JSON message per line is a list of messages too.
    """
    value = _json(data)
    if isinstance(value, list) and value and all(map(_is_message, value)):
        return value
    if isinstance(value, dict) and any(isinstance(value.get(key), (list, str)) for key in LISTS):
        return data
    return None


def _json(data: bytes) -> Any | None:
    """The JSON value of a file, or the list of its lines' values; None if it isn't JSON."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(data)
    except ValueError:
        return _lines(data)
    except RecursionError:
        return None


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    named = (item.get("role"), ROLES), (item.get("type"), ITEMS)
    return isinstance(item.get("parts"), list) or any(isinstance(name, str) and name in known for name, known in named)


def _lines(data: bytes) -> list[Any] | None:
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


def need_request(name: str) -> Any:
    """The request in a file. Raises BadInput that says what is wrong and where."""
    data = read_bytes(name)
    found = request_in(data)
    if found is not None:
        return found
    value, place = _json(data), place_of(name)
    if isinstance(value, list) and any(map(_is_message, value)):
        return value  # parsing it will say which message is invalid
    if value is None and data.lstrip()[:1] in (b"{", b"["):
        raise BadInput(place, f"is not JSON ({json_problem(data)})")
    raise BadInput(
        place, "is no request: give a JSON list of messages, or a request body with messages, input or contents"
    )


def json_problem(data: bytes) -> str:
    """Why data that begins like JSON is invalid; empty if it is valid, or something else."""
    if data.lstrip()[:1] not in (b"{", b"[") or _json(data) is not None:
        return ""
    try:
        json.loads(data)
    except ValueError as problem:
        return str(problem)
    except RecursionError:
        return "it is nested too deep"
    return ""


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", "-m", metavar="M", help="the model, such as gpt-4o or claude-sonnet-4-5")


def apply_settings() -> settings.Settings:
    """Load brim.toml and the environment, and add the models they describe to the catalog."""
    loaded = settings.load()
    for name, entry in loaded.models.items():
        models.override(name, entry.given())
    return loaded


def policy_of(loaded: settings.Settings, name: str | None = None) -> Policy:
    """The configured policy, or another one with the settings that all policies share. Raises BadSetting."""
    given = dict(loaded.policy)
    own = given.pop("name")
    if name not in (None, own):
        given = {key: value for key, value in given.items() if not owner_of(key)}
    return Policy.named(name or own, given)
