import json
from pathlib import Path

import brim

messages = json.loads(Path("sample.json").read_text())["messages"]
kinds = []
brim.fit(
    messages,
    model="gpt-4o",
    budget=5_000,
    on_event=lambda event: kinds.append(event.kind),
)
print(kinds)
