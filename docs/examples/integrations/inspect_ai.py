from inspect_ai.agent import react

from brim.integrations.inspect_ai import BrimCompactionStrategy

agent = react(tools=tools, compaction=BrimCompactionStrategy("gpt-4o", budget=7_000))
