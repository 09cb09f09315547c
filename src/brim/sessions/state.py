"""What a session is made with, and what its turns leave: two frozen values."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from brim.conversation import Conversation
from brim.fallback import FIT_TIMEOUT
from brim.fitting import OnEvent, limit_of
from brim.models import Model
from brim.planning.attachments import Attachment
from brim.planning.policies.policy import Policy
from brim.sessions.prompt_cache import SentTurn
from brim.tokens.actuals import Actuals


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What a session is made with; some of it changes from request to request."""

    model: Model
    api: str
    policy: Policy
    actuals: Actuals
    budget: int | None = None
    reserve: int | None = None
    recall: str = "auto"
    breakpoints: bool = True
    system: Any = None
    tools: Any = None
    stated_api: str | None = None  # the API that the caller named
    follows: bool = True  # whether a model that a body names takes the place of this one
    fit_timeout: float | None = FIT_TIMEOUT
    on_event: OnEvent | None = None
    clock: Callable[[], float] | None = time.time

    def limit(self, conversation: Conversation | None = None) -> int:
        """The limit as it is stated, in the provider's tokens. Raises BadInput for an invalid budget or reserve."""
        given = conversation or Conversation(self.api, ())
        return limit_of(self.model, given, self.policy, self.budget, self.reserve)


class SettingsChanges(TypedDict, total=False):
    """The settings that may be others from one request to the next."""

    model: Model
    api: str
    policy: Policy
    actuals: Actuals
    budget: int | None
    reserve: int | None
    recall: str
    fit_timeout: float | None


@dataclass(frozen=True, slots=True)
class SessionState:
    """What turns leave beside the log and the view. A turn makes a new one, so undoing it puts the old one back."""

    tight: bool = False  # whether the view was ever brought under its limit
    compactions: int = 0
    head: int = 0  # tokens of instructions and tools
    misses: bool = False  # whether the newest message asks for archived content
    context: tuple[Attachment, ...] = ()  # attached to the next message
    carried: tuple[Attachment, ...] = ()  # context of earlier turns, under policies that do not append
    pins: frozenset[bytes] = frozenset()  # digests of messages that stay verbatim
    end: tuple[int, str] = (0, "")  # where what was sent last ended
    asked_at: float = 0.0  # when the last request was made; 0 where that is not known
    asked: tuple[Any, ...] | None = None  # what the last request asked for
    before: SentTurn | None = None  # the last request, for what of it the provider's cache holds
