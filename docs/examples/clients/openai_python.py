import openai

client = openai.OpenAI(
    base_url="http://127.0.0.1:8787/v1"
)  # or OPENAI_BASE_URL; your key stays your key
answer = client.chat.completions.create(
    model="gpt-4o",
    messages=[{"role": "user", "content": "Is berth 12 free?"}],
)
print(answer.choices[0].message.content)

# The Responses API and streams go the same way.
with client.responses.stream(model="gpt-4o", input="Is berth 12 free?") as stream:
    print(stream.get_final_response().output_text)

# Control by headers, and what Brim tells in its own.
raw = client.chat.completions.with_raw_response.create(
    model="gpt-4o",
    messages=[
        {"role": "user", "content": "berth 12, " * 2_000},
        {"role": "user", "content": "Is it free?"},
    ],
    extra_headers={"x-brim-budget": "3000"},
)
print(
    raw.headers["x-brim-tokens-before"],
    int(raw.headers["x-brim-tokens-after"]) <= 3_000,
)
