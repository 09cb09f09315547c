import asyncio
import json
from pathlib import Path

import brim


async def ask(system: str, text: str, tokens: int) -> str:
    """Ask your model."""
    return "An order was late; the cause was found in the webhook log, and fixed."


messages = json.loads(Path("sample.json").read_text())["messages"]
session = brim.Session(
    model="gpt-4o", budget=6_000, summarizer=brim.LlmSummarizer(ask, max_tokens=500_000)
)
for end in range(2, 40, 3):
    session.fit(messages[:end])

print(
    asyncio.run(session.summarize())
)  # made now; without this call it is made after session.record(...)
sent = [session.fit(messages[:end]).messages for end in range(40, len(messages) + 1, 3)]
print(any("webhook log" in str(request) for request in sent))
