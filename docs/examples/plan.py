import json
from pathlib import Path

import brim

body = json.loads(Path("sample.json").read_text())
fitted = brim.fit(body["messages"], tools=body["tools"], model="gpt-4o", budget=4_000)
print(fitted.plan)
