"""pydantic-ai: a capability that fits each model request.

Example: Agent("openai:gpt-4o", capabilities=[BrimCapability("gpt-4o", budget=8_000)])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import brim
from brim.errors import MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.messages import tool
from brim.integrations.conversion.pydantic_ai_messages import PydanticCodec

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import InstructionPart, ModelMessage
except ImportError as problem:
    raise MissingFramework("brim.integrations.pydantic_ai", "pydantic-ai-slim>=2.66,<3") from problem


class BrimCapability(AbstractCapability[Any]):
    """Fits each attempt of a model request; the run's own messages keep everything.

    With `tool_results`, a longer text from a tool is shortened once, before it joins the history.
    """

    def __init__(
        self, model: Any = None, budget: int | None = None, *, tool_results: int | None = None, **settings: Any
    ) -> None:
        self.tool_results = tool_results
        self.fitter: MessageFitter[ModelMessage] = MessageFitter(PydanticCodec(), model, budget, **settings)

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        asked = request_context.model_request_parameters
        given = asked.instruction_parts or []
        said = "\n\n".join(part.content for part in given)
        messages, instructions = await self.fitter.afit_beside(
            request_context.messages,
            instructions=said or None,
            tools=[
                tool(one.name, one.description or "", one.parameters_json_schema)
                for one in (*asked.function_tools, *asked.output_tools)
            ],
            conversation=ctx.conversation_id,
            model=request_context.model.model_name,
        )
        if instructions is not None and instructions != said:
            asked = replace(asked, instruction_parts=[InstructionPart(instructions)])
        return replace(request_context, messages=messages, model_request_parameters=asked)

    async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        if self.tool_results is None or not isinstance(result, str) or len(result) <= self.tool_results:
            return result  # no text has more tokens than characters
        return brim.compact(result, self.tool_results).text
