"""What callers give to sessions, checked where it comes in: one clear error that names the place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from brim import apis
from brim.apis.api import name_of
from brim.conversation import encode
from brim.errors import BadInput, NotFound
from brim.stores.protocol import Store

T = TypeVar("T")
GivenStore = TypeVar("GivenStore", bound=Store | str | Path | None)


def text(at: str, given: object) -> str:
    """Refuse what is no text. Raises BadInput."""
    if not isinstance(given, str):
        raise BadInput(at, f"must be text, not {name_of(given)}")
    return given


def whole(at: str, given: object, least: int = 0) -> int:
    """Refuse what is no whole number of at least so much. Raises BadInput."""
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise BadInput(at, f"must be a whole number of at least {least}, not {given!r}")
    return given


def session_id(given: object) -> str:
    """An id that every store can hold. Raises BadInput."""
    try:
        text("id", given).encode()
        return str(given)
    except UnicodeEncodeError:
        raise BadInput("id", f"{given!r} has half of a surrogate pair in it, which no store can hold") from None


def api_name(given: object) -> str:
    """The name of a wire format. Raises BadInput."""
    return apis.api_of(text("api", given)).name


def store(given: GivenStore) -> GivenStore:
    """A store, the path of one, or None for one in memory. Raises BadInput."""
    if given is None or isinstance(given, (str, Path)) or callable(getattr(given, "get_session", None)):
        return given
    raise BadInput("store", f"must be a store or the path of one, not {name_of(given)}")


def summarizer(given: T) -> T:
    """What makes summaries, or None. Raises BadInput."""
    if given is None or callable(getattr(given, "summarize", None)):
        return given
    wrap = ": a function goes into LlmSummarizer(…) of brim.summaries.llm" if callable(given) else ""
    raise BadInput("summarizer", f"must be an object with a method `summarize`, not {name_of(given)}{wrap}")


def function(at: str, given: T) -> T:
    """What can be called, or None. Raises BadInput."""
    if given is None or callable(given):
        return given
    raise BadInput(at, f"must be a function, not {name_of(given)}")


def encoded(at: str, value: object) -> bytes:
    """The JSON of a value. Raises BadInput where it has none."""
    try:
        return encode(value)
    except (OverflowError, RecursionError, TypeError, ValueError) as problem:
        raise BadInput(at, f"is no message: {problem}") from None


def lines(given: Iterable[str] | Path) -> list[str]:
    """The lines of an export, or of the file that one is in. Raises BadInput, NotFound."""
    if isinstance(given, Path):
        try:
            data = given.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            raise BadInput(str(given), f"is not UTF-8 text (byte {problem.start:,})") from None
        except OSError as problem:
            raise NotFound(f"{str(given)!r} cannot be read: {problem.strerror or problem}") from None
        return [line for line in data.replace("\r\n", "\n").split("\n") if line]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise BadInput("lines", f"must be the lines of an export or a Path, not {name_of(given)}")
    return [text(f"line {number}", line) for number, line in enumerate(given, 1)]
