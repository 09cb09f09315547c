import json

import brim

orders = [
    {"id": 7000 + n, "state": "paid" if n % 9 else "failed", "total": n * 3}
    for n in range(400)
]
session = brim.Session(model="gpt-4o", budget=3_000)
function = {"name": "list_orders", "arguments": "{}"}
call = {"id": "c1", "type": "function", "function": function}
messages = [
    {"role": "user", "content": "How many orders failed?"},
    {"role": "assistant", "content": None, "tool_calls": [call]},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(orders)},
    {"role": "assistant", "content": "I am counting them."},
    {"role": "user", "content": "Go on."},
]
fitted = session.fit(messages)
handle = next(iter(fitted.archive))

print(session.query(handle, "count by state"))
print(session.query(handle, ".[] | select(.total > 1190) | .id"))
