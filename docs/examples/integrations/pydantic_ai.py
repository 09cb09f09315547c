from pydantic_ai import Agent
from pydantic_ai.usage import UsageLimits

from brim.integrations.pydantic_ai import BrimCapability

agent = Agent(model, tools=tools, capabilities=[BrimCapability("gpt-4o", budget=8_000)])
result = agent.run_sync(request, usage_limits=UsageLimits(request_limit=100))
