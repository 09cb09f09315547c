from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.function_choice_behavior import (
    FunctionChoiceBehavior,
)

from brim.integrations.semantic_kernel import brim_service

agent = ChatCompletionAgent(
    service=brim_service(service, "gpt-4o", budget=8_000),
    plugins=plugins,
    function_choice_behavior=FunctionChoiceBehavior.Auto(
        maximum_auto_invoke_attempts=50
    ),
)


async def ask() -> str:
    return str((await agent.get_response(request)).message)
