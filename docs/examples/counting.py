import brim

messages = [{"role": "user", "content": "How deep is the harbour at low tide?"}]

for model in ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "grok-4"):
    count = brim.count(messages, model=model)
    print(f"{model}: {count.tokens} tokens, at most {count.upper}, {count.source}")

# A whole body names its own model. Tools, system, images and framing are counted.
body = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1024,
    "system": "Answer in one sentence.",
    "messages": messages,
}
print(brim.count(body).tokens, brim.count("plain text", model="gpt-4o").tokens)
