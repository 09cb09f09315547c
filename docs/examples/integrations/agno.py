from agno.agent import Agent

from brim.integrations.agno import brim_model

agent = Agent(model=brim_model(model, "gpt-4o", budget=8_000), tools=tools)
answer = agent.run(request).content
