import json
from pathlib import Path

from brim.sessions.router import SessionRouter

messages = json.loads(Path("sample.json").read_text())["messages"]
sessions = SessionRouter("brim.db", budget=8_000)  # without a path it lives as long as the process

# Two users send requests in turn. Each is fitted by its own conversation, found by its id and its messages.
for end in (20, 40, 60):
    for user in ("ada", "ben"):
        session = sessions.of({"model": "gpt-4o", "messages": messages[:end]}, client_id=user)
        fitted = session.fit(messages[:end])
        print(user, end, fitted.tokens <= 8_000, len(session.log))
