"""What every adapter does: read messages, fit them, and write back what was changed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import brim
from brim import Policy, Session
from brim.catalog import Model
from brim.integrations.messages import Chat, Codec, bare, count, from_chat, to_chat
from brim.memory.store import Store

M = TypeVar("M")
# Conversations held at once. One that is pushed out begins anew when it goes on: its next request is fitted from the
# whole history, and only the provider's cache of its prefix is lost.
HELD = 256


class MessageFitter(Generic[M]):
    """Fits a framework's messages. Conversations with an id are sessions, whose prefix stays between compactions.

    Example: MessageFitter(codec, "gpt-4o", 8_000).fit(messages, conversation="thread-1")
    """

    def __init__(
        self,
        codec: Codec[M],
        model: str | Model | None = None,
        budget: int | None = None,
        *,
        reserve: int | None = None,
        policy: Policy | str | None = None,
        store: Store | str | Path | None = None,
    ) -> None:
        self.codec = codec
        self.model = model
        self._settings: dict[str, Any] = {"budget": budget, "reserve": reserve, "policy": policy}
        self._store = store
        self._sessions: OrderedDict[tuple[str, str | Model], Session] = OrderedDict()
        self._lock = threading.Lock()

    def fit(
        self, messages: Sequence[M], *, tools: Any = None, conversation: str | None = None, model: str | None = None
    ) -> list[M]:
        """The messages within the budget; those that were not changed are the same objects.

        Without `conversation` every call is fitted by itself. `model` is what the framework asks, where the fitter was
        not given one. Raises BudgetTooSmall.
        """
        given = to_chat(messages, self.codec)
        if not given:
            return list(messages)
        fitted = self._fit(given, tools or None, conversation, self.model or model or "")
        return from_chat(fitted, given, messages, self.codec)

    async def afit(
        self, messages: Sequence[M], *, tools: Any = None, conversation: str | None = None, model: str | None = None
    ) -> list[M]:
        """`fit` beside the event loop."""
        return await asyncio.to_thread(self.fit, messages, tools=tools, conversation=conversation, model=model)

    def count(self, messages: Sequence[M], model: str | None = None) -> int:
        """Tokens of the messages, which may be any part of a conversation."""
        return count(messages, self.codec, self.model or model or "")

    def _fit(self, given: list[Chat], tools: Any, conversation: str | None, model: str | Model) -> list[Chat]:
        if conversation is None:
            fitted = brim.fit(given, model=model, tools=tools, api="openai_chat", **self._settings)
        else:
            fitted = self._session(conversation, model).fit(given, tools=tools)
        return list(fitted.messages)

    def _session(self, conversation: str, model: str | Model) -> Session:
        with self._lock:
            key = (conversation, model)
            found = self._sessions.pop(key, None)
            if found is None:
                found = self._loaded(conversation, model)
            self._sessions[key] = found
            if len(self._sessions) > HELD:
                self._sessions.popitem(last=False)
            return found

    def _loaded(self, conversation: str, model: str | Model) -> Session:
        settings = {"model": model, **{name: value for name, value in self._settings.items() if value is not None}}
        if self._store is not None:
            with contextlib.suppress(brim.NotFound):  # the first time there is none to go on with
                return Session.load(conversation, store=self._store, **settings)
        return Session(id=conversation, store=self._store, api="openai_chat", **settings)


class ChatCodec:
    """Messages that are OpenAI chat dicts already."""

    def read(self, message: Chat) -> list[Chat]:
        return [message]

    def write(self, chats: list[Chat], original: Chat | None) -> Chat:
        return bare(chats[0])
