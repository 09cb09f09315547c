"""The result of fitting a request."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from brim import apis, fitting
from brim.conversation import Conversation
from brim.gateway.fitting.conversations import Live
from brim.gateway.fitting.fast_path import Known
from brim.models import Model
from brim.planning.reports.decisions import Report
from brim.tokens.actuals import Actuals


class FitResult(msgspec.Struct, eq=False):
    """A request ready to send, and how it was made. `model` is None if it is unknown and nothing was done."""

    body: bytes
    live: Live
    api: str
    name: str
    streamed: bool = False
    parsed: Conversation | None = None
    """The request as it came; None where it was not read, because its bytes showed that it fits, or is not needed."""
    planned: Conversation | None = None
    """What is sent in its place, where that is not the same."""
    model: Model | None = None
    before: int = 0
    after: int = 0
    upper: int = 0
    limit: int = 0
    archived: int = 0
    recalled: int = 0
    """Passages that were archived and stand in the prompt again."""
    changed: bool = False
    fitted: fitting.Fitted | None = None
    told: Callable[[], Report] | None = None
    """What tells later how it came to be, where that is small enough to be kept."""
    number: int | None = None
    """Of a large request: what its worker knows it by."""
    known: Known | None = None
    """What later requests that go on from this one are told by."""
    actuals: Actuals | None = None
    """Where what the provider reports of it is kept: the numbers of its upstream and tenant."""
    save: Callable[[], None] | None = None
    """What writes the turn, until it is written."""

    def answered(self) -> None:
        """Free what only a refit needs, because an answer may stream for minutes and the request may be large."""
        if self.planned is not None:
            self.parsed = None
        if self.planned is not None or self.parsed is not None:
            self.body = b""

    @property
    def original(self) -> Conversation:
        """The request as received, parsed now if it wasn't before. Raises BadBody."""
        if self.parsed is None:
            self.parsed = apis.parse(self.body, self.api, model=self.name)
        return self.parsed

    @property
    def sent(self) -> Conversation:
        """The request as sent. Raises BadBody."""
        return self.planned or self.original
