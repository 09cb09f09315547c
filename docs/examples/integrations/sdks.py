import brim

client = brim.wrap(
    client
)  # openai.OpenAI(), anthropic.AsyncAnthropic(), genai.Client() …
answer = client.chat.completions.create(model="gpt-4o", messages=messages)
