import json
from pathlib import Path

import brim

messages = json.loads(Path("sample.json").read_text())["messages"]
session = brim.Session(model="gpt-4o", budget=8_000)

# Clients send the whole history each time. What was sent before stays as it was sent, so caches hold.
sent, stable, turns = "", 0, range(2, len(messages) + 1, 3)
for end in turns:
    fitted = session.fit(messages[:end])
    now = json.dumps(fitted.messages)[:-1]
    stable += now.startswith(sent)
    sent = now
print(f"{stable} of {len(turns)} requests begin with the one before; {session.compactions} compactions")
