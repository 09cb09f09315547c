"""CrewAI: an LLM with fitted calls.

Example: Agent(role="…", goal="…", backstory="…", llm=brim_llm(LLM("gpt-4o"), budget=8_000))
"""

from __future__ import annotations

from typing import Any, TypeVar

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter, PlainCodec
from brim.integrations.conversion.messages import ChatDict
from brim.integrations.conversion.overridden import overridden, own

try:
    from crewai.llms.base_llm import BaseLLM
except ImportError as problem:
    raise MissingFramework("brim.integrations.crewai", "crewai>=1.15,<2") from problem

L = TypeVar("L", bound=BaseLLM)


def brim_llm(inner: L, model: Any = None, budget: int | None = None, **settings: Any) -> L:
    """The same LLM with calls fitted beside their tools; the executor's own messages keep everything."""
    fitter: MessageFitter[ChatDict] = MessageFitter(PlainCodec(), model, budget, **settings)

    def beside(self: BaseLLM, tools: Any) -> dict[str, Any]:
        return {"tools": tools, "model": self.model}

    def call(self: BaseLLM, messages: Any, tools: Any = None, *args: Any, **asked: Any) -> Any:
        if not isinstance(messages, str):
            messages = fitter.fit(messages, **beside(self, tools))
        return own(self, "call")(messages, tools, *args, **asked)

    async def acall(self: BaseLLM, messages: Any, tools: Any = None, *args: Any, **asked: Any) -> Any:
        if not isinstance(messages, str):
            messages = await fitter.afit(messages, **beside(self, tools))
        return await own(self, "acall")(messages, tools, *args, **asked)

    return overridden(inner, {"call": call, "acall": acall})
