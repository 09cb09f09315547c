import json
from pathlib import Path

import brim

messages = json.loads(Path("sample.json").read_text())["messages"]
# Without a path it lives as long as the process.
sessions = brim.SessionRouter("brim.db", budget=8_000)

# Two users send requests in turn. Each is fitted by its own conversation,
# found by its id and its messages.
for end in (20, 40, 60):
    for user in ("ada", "ben"):
        session = sessions.of(
            {"model": "gpt-4o", "messages": messages[:end]}, client_id=user
        )
        fitted = session.fit(messages[:end])
        print(user, end, fitted.tokens <= 8_000, len(session.log))
