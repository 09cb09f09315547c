from agent_framework import Agent

from brim.integrations.agent_framework import BrimCompaction

instructions = "You look after the harbour's bookings."
agent = Agent(
    client,
    instructions,
    tools=tools,
    compaction_strategy=BrimCompaction(
        "gpt-4o", budget=8_000, instructions=instructions
    ),
)


async def ask(question):
    return await agent.run(question)
