from brim import models

model = models.find("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0")
print(model.name, model.window, model.max_output, model.family)
print(model.max_input(), model.max_input(reserve=4_096))

# What is known stays, what is given replaces it.
# brim.toml does the same: [models.gpt-4o]
print(models.override("gpt-4o", {"window": 64_000}).max_input())

# From a server's own list
answer = {"data": [{"id": "harbor-llama", "max_model_len": 8_192}]}
print(models.discover(answer, provider="own")[0].window)
