"""Brim: a session that holds the conversation, and `fit` that knows nothing of it."""

from __future__ import annotations

import json
from typing import Any

import brim

PACKAGES = ("brim", "splintr-rs")
REFUSALS = (brim.BudgetTooSmall,)
MODEL = "gpt-4o"
Chat = list[dict[str, Any]]


class InSession:
    """One session a conversation, as in an agent's loop or behind the gateway."""

    def __init__(self) -> None:
        self._session: brim.Session | None = None

    def __call__(self, messages: Chat, budget: int) -> Chat:
        if self._session is None:
            self._session = brim.Session(model=MODEL, budget=budget, fit_timeout=None)
        return self._session.fit(messages).messages

    def held(self, value: str) -> bool:
        return self._session is not None and any(value in text for _, text in self._session.search(value))


def alone(messages: Chat, budget: int) -> Chat:
    return brim.fit(messages, model=MODEL, budget=budget, fit_timeout=None).messages


def unpacked(text: str) -> str:
    """What a lossless form means, as minified JSON."""
    value = brim.decode(text) if text.startswith("#brim") else json.loads(text)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


FITS = {"session": InSession, "fit": lambda: alone}
COUNTS = {
    "count": lambda: lambda request: brim.count(request, model=request["model"]).tokens,
    "text": lambda: lambda text: brim.count(text, model=MODEL).tokens,
    "text of gpt-4": lambda: lambda text: brim.count(text, model="gpt-4").tokens,
}
PACKS = {"lossless": lambda: (lambda text: brim.compact(text).text, unpacked)}
CUTS = {"compact": lambda: lambda text, budget: brim.compact(text, budget).text}
