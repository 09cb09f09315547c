import json
from pathlib import Path

import brim

messages = json.loads(Path("sample.json").read_text())["messages"]
session = brim.Session(model="gpt-4o", budget=8_000)

# An agent's client sends its whole history before every step.
for number, message in enumerate(messages):
    if message["role"] == "assistant":
        request = session.fit(messages[:number])  # send request.messages
        if request.report.before > 25_900:
            print(request.report)
print(f"compacted {session.compactions} times in {len(messages)} messages")
