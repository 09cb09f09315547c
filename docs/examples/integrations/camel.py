from camel.agents import ChatAgent
from camel.memories import ChatHistoryMemory

from brim.integrations.camel import BrimContextCreator

agent = ChatAgent(
    "You look after the harbour's bookings.",
    model=model,
    tools=tools,
    summarize_threshold=None,
)
agent.memory = ChatHistoryMemory(
    BrimContextCreator("gpt-4o", budget=8_000, tools=tools)
)
agent.init_messages()
answer = agent.step(request)
