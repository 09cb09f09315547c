"""The work of every adapter: read messages, fit them, and write back the changes."""

from __future__ import annotations

import asyncio
import contextlib
import operator
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import brim
from brim import Policy, Session
from brim.integrations.conversion.messages import ChatDict, Codec, bare, count, from_chat, text_of, to_chat
from brim.models import Model, model_of
from brim.stores.protocol import Store

M = TypeVar("M")
# Conversations in memory. An evicted one starts over if it continues: its next request is fitted from the whole
# history, and only the provider's cache of its prefix is lost.
HELD = 256
# The share of the budget to compact to, as in sessions.
COMPACT_TO = 0.6


class MessageFitter(Generic[M]):
    """Fits a framework's messages. Conversations with an id are sessions, whose prefix is stable between compactions.

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
        api: str = "openai_chat",
    ) -> None:
        self.api = api
        self.codec = codec
        self.model = model
        self._settings: dict[str, Any] = {"budget": budget, "reserve": reserve, "policy": policy}
        self._store = store
        self._sessions: OrderedDict[tuple[str, str | Model], Session] = OrderedDict()
        self._lock = threading.Lock()

    def fit(self, messages: Sequence[M], **beside: Any) -> list[M]:
        """The messages within the budget; unchanged ones are the same objects. See `fit_beside`."""
        return self.fit_beside(messages, **beside)[0]

    async def afit(self, messages: Sequence[M], **beside: Any) -> list[M]:
        """`fit` off the event loop."""
        return (await self.afit_beside(messages, **beside))[0]

    async def afit_beside(self, messages: Sequence[M], **beside: Any) -> tuple[list[M], str | None]:
        """`fit_beside` off the event loop."""
        return await asyncio.to_thread(partial(self.fit_beside, messages, **beside))

    def fit_beside(
        self,
        messages: Sequence[M],
        *,
        instructions: str | None = None,
        tools: Any = None,
        conversation: str | None = None,
        model: str | None = None,
    ) -> tuple[list[M], str | None]:
        """The messages within the budget, and the instructions that the framework sends separately.

        Without `conversation`, every call is fitted by itself. `model` is the model that the framework asks, if the
        fitter has none. Raises BudgetTooSmall.
        """
        given = to_chat(messages, self.codec)
        if not given:
            return list(messages), instructions
        beside = {"tools": tools or None, "system": instructions or None}
        fitted = self._fit(given, beside, conversation, self.model or model or "")
        found = list(fitted.messages)
        if not instructions:
            return from_chat(found, given, messages, self.codec), instructions
        # In an API without a field for instructions, they are the first message.
        system = fitted.system if fitted.system is not None else found.pop(0)["content"]
        return from_chat(found, given, messages, self.codec), text_of(system)

    def compact(self, messages: Sequence[M], **beside: Any) -> list[M] | None:
        """For frameworks that keep the result: None while the messages fit, else the messages fitted to `COMPACT_TO`.

        This leaves room for many steps, whose requests then only append to the previous one.
        """
        fitted = self.fit(messages, **beside)
        if len(fitted) == len(messages) and all(map(operator.is_, fitted, messages)):
            return None
        model = self.model or beside.get("model") or ""
        budget = self._settings["budget"] or model_of(model).max_input(self._settings["reserve"])
        settings = {**self._settings, "budget": max(1, int(budget * COMPACT_TO))}
        try:
            return MessageFitter(self.codec, model, api=self.api, **settings).fit(messages, **beside)
        except brim.BudgetTooSmall:
            return fitted

    def count(self, messages: Sequence[M], model: str | None = None) -> int:
        """The tokens of the messages, which may be any part of a conversation."""
        return count(messages, self.codec, self.model or model or "")

    def sessions_of(self, conversation: str | None) -> list[Session]:
        """The sessions of a conversation, one for each model it used."""
        with self._lock:
            return [session for (held, _), session in self._sessions.items() if held == conversation]

    def _fit(
        self, given: list[ChatDict], beside: dict[str, Any], conversation: str | None, model: str | Model
    ) -> brim.Fitted:
        if conversation is None:
            return brim.fit(given, model=model, api=self.api, **beside, **self._settings)
        return self._session(conversation, model).fit(given, **beside)

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
            with contextlib.suppress(brim.NotFound):  # the first time, there is none to continue
                return Session.load(conversation, store=self._store, **settings)
        return Session(id=conversation, store=self._store, api=self.api, **settings)


class PlainCodec:
    """Messages that are already dicts of an API."""

    def read(self, message: ChatDict) -> list[ChatDict]:
        return [message]

    def write(self, chats: list[ChatDict], original: ChatDict | None) -> ChatDict:
        return bare(chats[0])
