from strands import Agent

from brim.integrations.strands import BrimConversationManager

agent = Agent(
    model=model,
    tools=tools,
    system_prompt="You look after the harbour's bookings.",
    conversation_manager=BrimConversationManager("gpt-4o", budget=8_000),
)
result = agent(request)
