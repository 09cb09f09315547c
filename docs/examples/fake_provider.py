import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from brim.testing import Call, FakeProvider, Overflow, Say


def ask(url: str) -> dict:
    body = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Is berth 12 free?"}],
    }
    request = Request(
        f"{url}/v1/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urlopen(request) as answer:
        return json.load(answer)


with FakeProvider(
    window=16_000
) as provider:  # any SDK can point at provider.url + "/v1"
    provider.script(Say("It is."), Call("look_up", {"berth": 12}), Overflow())
    answer = ask(provider.url)
    print(answer["choices"][0]["message"]["content"], answer["usage"]["prompt_tokens"])
    print(ask(provider.url)["choices"][0]["message"]["tool_calls"][0]["function"])
    try:
        ask(provider.url)
    except HTTPError as refusal:
        print(refusal.code, json.load(refusal)["error"]["code"])
