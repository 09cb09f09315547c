from google import genai
from google.genai import types

# Or GOOGLE_GEMINI_BASE_URL. Your key stays your key.
client = genai.Client(http_options=types.HttpOptions(base_url="http://127.0.0.1:8787"))
answer = client.models.generate_content(
    model="gemini-2.5-pro", contents="Is berth 12 free?"
)
print(answer.text)

# Streams go the same way.
chunks = client.models.generate_content_stream(
    model="gemini-2.5-pro", contents="Is berth 12 free?"
)
print("".join(chunk.text or "" for chunk in chunks))

# Control by headers.
budget = types.HttpOptions(headers={"x-brim-budget": "3000"})
answer = client.models.generate_content(
    model="gemini-2.5-pro",
    contents=[
        {"role": "user", "parts": [{"text": "berth 12, " * 2_000}]},
        {"role": "model", "parts": [{"text": "I have noted it."}]},
        {"role": "user", "parts": [{"text": "Is it free?"}]},
    ],
    config=types.GenerateContentConfig(http_options=budget),
)
print(answer.usage_metadata.prompt_token_count <= 3_000)
