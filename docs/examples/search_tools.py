import json
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen

from brim.docsearch import instructions, run_tools
from brim.testing import Call, FakeProvider, Say

Path("features").mkdir()
Path("features/history.md").write_text(
    "# History\n\nThe chat history is capped at 12,000 characters.\n"
)

with FakeProvider() as provider:  # in the place of a model
    provider.script(
        Call("search_features", {"keywords": ["history"]}),
        Say("Cap it at 12,000 characters."),
    )

    def create(**request):
        return json.load(
            urlopen(
                Request(
                    f"{provider.url}/v1/chat/completions", json.dumps(request).encode()
                )
            )
        )

    # In your code: client = OpenAI(), or Anthropic().
    client = SimpleNamespace(
        chat=SimpleNamespace(completions=SimpleNamespace(create=create))
    )

    messages = [
        {"role": "system", "content": instructions()},
        {"role": "user", "content": "Add a limit to the chat history."},
    ]
    response, messages = run_tools(
        client, model="gpt-4o", messages=messages, folders="features"
    )

print([message["role"] for message in messages])
print(response["choices"][0]["message"]["content"])
