"""The class that reads a round of recall, for every API whose answers the gateway can continue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from brim.apis.anthropic.recall import MessagesRound
from brim.apis.gemini.recall import GeminiRound
from brim.apis.openai_chat.recall import ChatRound
from brim.apis.openai_responses.recall import ResponsesRound
from brim.apis.recall_dialect import Round, Splice

_ROUNDS: dict[str, Callable[[Splice], Round]] = {
    "openai_chat": ChatRound,
    "anthropic": MessagesRound,
    "openai_responses": ResponsesRound,
    "gemini": GeminiRound,
}

RECALLING: Final = frozenset(_ROUNDS)


def round_of(api: str, splice: Splice) -> Round:
    return _ROUNDS[api](splice)
