from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from haystack.hooks.compaction import CompactionHook

from brim.integrations.haystack import BrimCompactor, BrimTokenCounter

hook = CompactionHook(
    BrimCompactor("gpt-4o"),
    context_window=8_000,
    compact_at=0.9,
    compact_to=0.6,
    token_counter=BrimTokenCounter("gpt-4o"),
)
agent = Agent(chat_generator=generator, tools=tools, hooks={"before_llm": [hook]})
result = agent.run(messages=[ChatMessage.from_user(request)])
