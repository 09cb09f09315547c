"""OpenAI Agents: a filter that fits each model call, and a session in a Brim store.

Example: RunConfig(call_model_input_filter=BrimInputFilter("gpt-4o", budget=8_000))
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter, PlainCodec
from brim.integrations.conversion.kept_list import KeptList
from brim.stores.protocol import Store

try:
    from agents import FunctionTool, RunContextWrapper
    from agents.run_config import CallModelData, ModelInputData
except ImportError as problem:
    raise MissingFramework("brim.integrations.openai_agents", "openai-agents>=0.24,<0.25") from problem


class BrimInputFilter:
    """A `call_model_input_filter` that fits the items and the instructions of each model call.

    The SDK doesn't say which conversation a call belongs to. Pass it as `conversation`, with one filter per
    conversation, to keep its prefix stable between compactions.
    """

    def __init__(
        self, model: Any = None, budget: int | None = None, *, conversation: str | None = None, **settings: Any
    ) -> None:
        self.conversation = conversation
        self.fitter = MessageFitter(PlainCodec(), model, budget, api="openai_responses", **settings)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        asked = data.agent.model
        items, instructions = await self.fitter.afit_beside(
            data.model_data.input,
            instructions=data.model_data.instructions,
            tools=await _tools(data),
            conversation=self.conversation,
            model=asked if isinstance(asked, str) else getattr(asked, "model", None),
        )
        return ModelInputData(input=items, instructions=instructions)


async def _tools(data: CallModelData[Any]) -> list[dict[str, Any]]:
    """The agent's tools, in the format of a request."""
    offered = await data.agent.get_all_tools(RunContextWrapper(data.context))
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_json_schema,
            "strict": tool.strict_json_schema,
        }
        for tool in offered
        if isinstance(tool, FunctionTool)
    ]


class BrimSession:
    """The `Session` protocol in a Brim store, which keeps the items of a run for the next one."""

    session_settings = None

    def __init__(self, session_id: str, store: Store | str | Path) -> None:
        self.session_id = session_id
        self.kept = KeptList(f"openai_agents:{session_id}", store)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        items = await asyncio.to_thread(self.kept.values)
        return items if limit is None else items[-limit:] if limit > 0 else []

    async def add_items(self, items: list[Any]) -> None:
        await asyncio.to_thread(self.kept.add, items)

    async def pop_item(self) -> Any:
        return await asyncio.to_thread(self.kept.pop)

    async def clear_session(self) -> None:
        await asyncio.to_thread(self.kept.clear)
