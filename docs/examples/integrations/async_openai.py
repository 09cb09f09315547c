import brim

# `client` is openai.AsyncOpenAI().
session = brim.Session(model="gpt-4o", budget=8_000, system="Answer in one sentence.")


async def answer(question: str) -> None:
    # Planned in a thread: other requests are not held up.
    request = await session.asay(question)
    stream = await client.chat.completions.create(
        model="gpt-4o",
        messages=request.messages,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = []
    async for chunk in stream:
        chunks.append(chunk)
        if chunk.choices:
            print(chunk.choices[0].delta.content or "", end="", flush=True)
    await session.arecord(chunks)
