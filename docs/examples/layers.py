import json
from pathlib import Path

import brim

chat = json.loads(Path("sample.json").read_text())
fitted = brim.fit(chat["messages"], tools=chat["tools"], model="gpt-4o", budget=8_000)
for use in fitted.report.layers:
    print(f"L{use.layer} {use.name:20} {use.before:6,} -> {use.after:5,} tokens")

for decision in sorted(fitted.plan, key=lambda decision: -decision.before)[:4]:
    size = f"{decision.before:5,} -> {decision.after:5,}"
    print(f"{decision.item:21} {decision.form:8} {size}  {decision.reason}")
