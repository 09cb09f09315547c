from autogen_agentchat.agents import AssistantAgent

from brim.integrations.autogen import BrimContext

instructions = "You look after the harbour's bookings."
agent = AssistantAgent(
    "harbour",
    client,
    tools=tools,
    system_message=instructions,
    model_context=BrimContext(
        "gpt-4o", budget=8_000, instructions=instructions, tools=tools
    ),
    max_tool_iterations=100,
)
