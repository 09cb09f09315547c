import json
from pathlib import Path

import brim

# From: brim demo --save sample.json
messages = json.loads(Path("sample.json").read_text())["messages"]
print(brim.count(messages, model="gpt-4o").tokens)
fitted = brim.fit(messages, model="gpt-4o", budget=8_000)
print(fitted.report)  # fitted.messages is what to send
