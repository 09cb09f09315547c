import brim

# Every definition stands in the request; the model sees its own search,
# and what that has found.
schema = {"type": "object", "properties": {"berth": {"type": "integer"}}}
search = {
    "name": "find_tools",
    "description": "Find tools by what they do.",
    "input_schema": {"type": "object"},
}
said = {
    "move_crane": "Move a crane to a berth.",
    "send_letter": "Write to an owner.",
    "read_log": "Read a day's log.",
}
deferred = [
    {"name": name, "description": text, "input_schema": schema, "defer_loading": True}
    for name, text in said.items()
]


def answer(call):
    """The result of a call of `find_tools`."""
    found = brim.find_tools(deferred, call["input"]["query"], limit=1)
    references = [
        {"type": "tool_reference", "tool_name": tool["name"]} for tool in found
    ]
    return {"type": "tool_result", "tool_use_id": call["id"], "content": references}


call = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "find_tools",
    "input": {"query": "move the crane"},
}
print(answer(call)["content"])

messages = [{"role": "user", "content": "Move the crane to berth 12."}]
loaded = [
    *messages,
    {"role": "assistant", "content": [call]},
    {"role": "user", "content": [answer(call)]},
]
for sent in (messages, loaded):
    print(
        brim.count(
            {"messages": sent, "tools": [search, *deferred]},
            model="claude-sonnet-4-5",
            api="anthropic",
        ).tokens
    )
