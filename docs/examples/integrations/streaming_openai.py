import brim

# `client` is openai.OpenAI().
session = brim.Session(model="gpt-4o", budget=8_000, system="Answer in one sentence.")
for question in ("Is berth 12 free?", "And until when?"):
    request = session.say(question)
    stream = client.chat.completions.create(
        model="gpt-4o",
        messages=request.messages,
        stream=True,
        # So that the session learns from the provider's count.
        stream_options={"include_usage": True},
    )
    chunks = []
    for chunk in stream:
        chunks.append(chunk)
        if chunk.choices:
            print(chunk.choices[0].delta.content or "", end="", flush=True)
    session.record(chunks)
