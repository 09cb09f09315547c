import anthropic

client = anthropic.Anthropic(
    base_url="http://127.0.0.1:8787"
)  # or ANTHROPIC_BASE_URL; your key stays your key
answer = client.messages.create(
    model="claude-sonnet-4-5",
    max_tokens=500,
    messages=[{"role": "user", "content": "Is berth 12 free?"}],
)
print(answer.content[0].text)

# Streams go the same way.
with client.messages.stream(
    model="claude-sonnet-4-5",
    max_tokens=500,
    messages=[{"role": "user", "content": "Is berth 12 free?"}],
) as stream:
    print(stream.get_final_text())

# Control by headers, and what Brim tells in its own.
raw = client.messages.with_raw_response.create(
    model="claude-sonnet-4-5",
    max_tokens=500,
    messages=[
        {"role": "user", "content": "berth 12, " * 2_000},
        {"role": "user", "content": "Is it free?"},
    ],
    extra_headers={"x-brim-budget": "3000"},
)
print(
    int(raw.headers["x-brim-tokens-before"]) > 3_000,
    int(raw.headers["x-brim-tokens-after"]) <= 3_000,
)
