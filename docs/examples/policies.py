import json
from pathlib import Path

import brim

messages = json.loads(Path("sample.json").read_text())["messages"]

agent = brim.fit(messages, model="gpt-4o", budget=6_000)
rolling = brim.fit(
    messages, model="gpt-4o", policy=brim.Policy.rolling(max_prompt_tokens=6_000)
)
concise = brim.fit(
    messages,
    model="gpt-4o",
    budget=6_000,
    policy=brim.Policy.concise(history_chars=8_000),
)
layered = brim.fit(
    messages, model="gpt-4o", policy=brim.Policy.layered(total_budget=10_096)
)
for fitted in (agent, rolling, concise, layered):
    print(fitted.report.policy, fitted.tokens <= 6_000)
