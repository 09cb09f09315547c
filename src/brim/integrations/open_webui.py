"""
title: Brim
description: Keeps every chat inside the model's context window: full to the brim, never over.
requirements: brim
"""

# A Function for Open WebUI: paste this file at Admin Panel > Functions > +, save it, and enable it.

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from brim.errors import BadInput, UnknownModel
from brim.integrations.conversion.fitter import MessageFitter, PlainCodec
from brim.integrations.conversion.messages import ChatDict


class Filter:
    """Fits the requests of a chat; the chat itself keeps everything."""

    class Valves(BaseModel):
        budget: int = Field(default=0, description="tokens of a request at most; 0: what the model's window leaves")
        model: str = Field(default="", description="a model that Brim knows, such as gpt-4o; empty: the chat's own")
        reserve: int = Field(default=4_096, description="tokens kept for the answer and the tools")
        priority: int = Field(default=100, description="filters with a smaller number come before")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self._fitters: dict[tuple[int, str, int], MessageFitter[ChatDict]] = {}

    async def inlet(self, body: dict[str, Any], __metadata__: dict[str, Any] | None = None) -> dict[str, Any]:
        """The request with fitted messages. The chat shows raised errors: which valve to set, or what must stay."""
        valves = self.valves
        key = (valves.budget, valves.model, valves.reserve)
        if key not in self._fitters:
            # An explicit budget needs no reserve.
            room: dict[str, Any] = {"budget": valves.budget} if valves.budget else {"reserve": valves.reserve}
            self._fitters = {key: MessageFitter(PlainCodec(), valves.model or None, **room)}
        beside = {"tools": body.get("tools"), "model": str(body.get("model") or "")}
        try:
            chat = (__metadata__ or {}).get("chat_id")
            messages = await self._fitters[key].afit(body["messages"], conversation=chat, **beside)
        except UnknownModel as problem:
            told = f"{problem.name!r} is none that Brim knows: name one like it in the valve `model` of Brim's filter"
            raise BadInput("model", told) from None
        return {**body, "messages": messages}
