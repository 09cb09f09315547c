"""The conversations of one client: each request goes to its session, and the counter learns from the response."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brim import apis
from brim.conversation import encode
from brim.errors import BrimError
from brim.fitting import Fitted
from brim.sessions.router import SessionRouter
from brim.sessions.session import Session
from brim.stores.protocol import Store
from brim.tokens.counter import Counter

log = logging.getLogger("brim")
# The fields that may contain the usage in an event of a stream, if it isn't at the top level.
HOLDERS = ("message", "response")
USAGES = ("usage", "usageMetadata")


@dataclass(frozen=True, slots=True)
class Sent:
    """A fitted request and its session."""

    session: Session
    fitted: Fitted

    @property
    def body(self) -> Any:
        return self.fitted.body

    def told(self, response: Any) -> int:
        """The input tokens reported in a response or an event of a stream; 0 if there are none."""
        for holder in (response, *(_inside(response, name) for name in HOLDERS)):
            if holder is not None and any(_inside(holder, name) for name in USAGES):
                value = holder if isinstance(holder, Mapping) else json.loads(encode(holder))
                found = apis.usage(value, self.fitted.conversation.api)
                if found is not None and found.input:
                    return found.input
        return 0

    def learn(self, tokens: int) -> None:
        """Base the next counts on the provider's count."""
        sent = self.fitted.conversation
        try:
            Counter(self.session.model, sent.api, self.session.settings.actuals).record(sent, tokens)
        except BrimError as problem:  # the answer has arrived, so failing to learn only costs accuracy
            log.warning("the usage of a response was not learnt: %s", problem)


class Conversing:
    """Fits the requests of one client. Thread-safe."""

    def __init__(self, store: Store | str | Path | None, **settings: Any) -> None:
        self._sessions = SessionRouter(store, **settings)

    def fit(self, body: Mapping[str, Any], api: str, model: str = "") -> Sent:
        """A request fitted by its conversation's session. Raises BudgetTooSmall, UnknownModel."""
        conversation = apis.parse(body, api, model=model)
        session = self._sessions.of(conversation)
        return Sent(session, session.fit_parsed(body, conversation))


def _inside(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
