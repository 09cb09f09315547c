import tempfile
from pathlib import Path

import brim

folder = tempfile.TemporaryDirectory()
store = brim.open_store(Path(folder.name) / "brim.db")
session = brim.Session(
    model="claude-sonnet-4-5",
    budget=8_000,
    system="Answer in one sentence.",
    store=store,
)

# Brim holds the conversation: say what is new, send what comes back, record the answer.
request = session.say(
    "Does a boat of ten metres fit into berth 12, which is 11 m long?"
)
print(len(request.messages), request.tokens <= 8_000)
answer = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "Yes, if it is narrower than 3.8 m."}],
    "usage": {"input_tokens": request.tokens, "output_tokens": 15},
}
session.record(answer)

# Another process, or another day.
later = brim.Session.load(session.id, store=store)
print(len(later.log), later.search("how wide is the berth", limit=1)[0][1])
store.close()
folder.cleanup()
