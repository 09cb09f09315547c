import brim

# An unknown model: the count is an estimate, and its bound is wide.
model = brim.Model(
    "harbor-1", "own", 32_000, None, "estimate", None, "openai_chat", "set by hand"
)
chat = [{"role": "user", "content": "Which tide table is the newest? " * 40}]
actuals = brim.Actuals()
print(brim.count(chat, model=model, actuals=actuals))

# The provider says what the request took (usage.prompt_tokens).
# From then on this prefix is known.
brim.record(chat, 329, model=model, actuals=actuals)
count = brim.count(chat, model=model, actuals=actuals)
print(count.tokens, count.source)

# Only what is appended is still estimated; once three reports agree,
# by the factor that they give.
longer = [*chat, {"role": "assistant", "content": "The one of 2026."}]
print(brim.count(longer, model=model, actuals=actuals).tokens)
