from smolagents import ToolCallingAgent

from brim.integrations.smolagents import BrimModel

agent = ToolCallingAgent(
    tools, model=BrimModel(model, "gpt-4o", budget=8_000), max_steps=100
)
answer = agent.run(request)
