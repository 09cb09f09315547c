import json

import brim

body = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 2_000,
    "system": "You read logs.",
    "messages": [
        {"role": "user", "content": "Read app.log."},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "t1",
                    "name": "read",
                    "input": {"path": "app.log"},
                }
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": "10:00:01 INFO started\n" * 2_000,
                }
            ],
        },
    ],
}
fitted = brim.fit(body, budget=1_500)
print(fitted.report)
print(fitted.body["system"], fitted.body["messages"][1] == body["messages"][1])

# What already fits comes back as it is, byte for byte.
raw = json.dumps(body).encode()
print(brim.fit(raw).body is raw)
