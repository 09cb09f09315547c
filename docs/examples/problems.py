from pathlib import Path

import brim

Path("traffic.jsonl").write_text(
    '{"messages": [}\n'
    '{"messages": [{"role": "user", "content": "hi"}]}\n'
    '{"model": "gpt-4o", "messages": [{"role": "robot", "content": "hi"}]}\n'
    '{"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}\n'
)
found = brim.replay("traffic.jsonl", on_problem=print)
print(found.requests, "replayed,", found.left_out, "left out")
