import json
from pathlib import Path

import brim

chat = json.loads(Path("sample.json").read_text())

# How large is it? Tools and framing count too.
count = brim.count(chat["messages"], tools=chat["tools"], model="gpt-4o")
print(count.tokens, count.upper, count.source)

# Bring it into a budget. What comes back has the form that was given.
fitted = brim.fit(chat["messages"], tools=chat["tools"], model="gpt-4o", budget=8_000)
print(fitted.report)
print(brim.count(fitted.messages, tools=chat["tools"], model="gpt-4o").tokens <= 8_000)

# Why? The plan has a form and a reason for every item.
largest = max(fitted.plan, key=lambda decision: decision.before)
print(largest.item, largest.form, largest.before, "->", largest.after)

# Nothing is lost: what left the prompt is in the archive,
# by the handle that stands in its place.
print(
    all(handle.startswith("brim:") for handle in fitted.archive),
    len(fitted.archive) > 0,
)
