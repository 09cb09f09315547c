import brim

# `client` is anthropic.Anthropic().
session = brim.Session(
    model="claude-sonnet-5", budget=8_000, system="Answer in one sentence."
)
for question in ("Is berth 12 free?", "And until when?"):
    request = session.say(question)
    stream = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=500,
        system=request.system,  # Anthropic takes the instructions beside the messages
        messages=request.messages,
        stream=True,
    )
    events = []
    for event in stream:
        events.append(event)
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            print(event.delta.text, end="", flush=True)
    session.record(events)
