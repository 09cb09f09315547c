"""Prompts and answers in the log, if content logging is on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brim import apis
from brim.gateway.fitting.fit_result import FitResult
from brim.gateway.observe.logs import tell
from brim.gateway.observe.turns import GatewayTurn

# Bytes of a request or an answer to log.
LONGEST_LOGGED = 100_000


def overheard(spoken: list[bytes], feed: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Also keep a copy of the beginning of an answer in `spoken`."""

    def both(chunk: bytes) -> None:
        feed(chunk)
        if sum(map(len, spoken)) < LONGEST_LOGGED:
            spoken.append(chunk)

    return both


def log_content(turn: GatewayTurn, result: FitResult | None, spoken: list[bytes]) -> None:
    """Log prompt and answer; the log masks secrets."""
    asked = [message.text[:LONGEST_LOGGED] for message in turn.sent.messages] if turn.sent else []
    said = b"".join(spoken)[:LONGEST_LOGGED].decode("utf-8", "replace")
    # The whole original request, so that `brim replay` can read it from the log.
    came = apis.value_of(result.original) if result and result.number is None else None
    about: dict[str, Any] = {"session": turn.session, "turn": turn.number, "api": turn.api, "model": turn.model}
    tell("content", **about, body=came, request=asked, answer=said)
