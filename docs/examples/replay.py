import json
from pathlib import Path

import brim

# A recording: one request body a line, as a client sent them
# while the conversation grew.
messages = json.loads(Path("sample.json").read_text())["messages"]
bodies = [
    {"model": "gpt-4o", "messages": messages[:end]}
    for end in range(2, len(messages) + 1, 3)
]
Path("traffic.jsonl").write_text("\n".join(map(json.dumps, bodies)))

found = brim.replay(
    "traffic.jsonl", budget=[8_000, 16_000], policy=["agent", "layered"]
)
print(found)

best = min(found.outcomes, key=lambda outcome: outcome.usd_after)
print(
    best.label, f"saves {best.tokens_saved:.0%} of the tokens and ${best.usd_saved:.2f}"
)
print(best.kinds[0].kind, best.kinds[0].before, "->", best.kinds[0].after)
