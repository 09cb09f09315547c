"""`brim.wrap` with the real openai, anthropic and google-genai SDKs past a window of 8k.

The SDKs speak over HTTP to `brim.testing.FakeProvider`, which counts, refuses, streams and caches as the providers do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

import brim
from brim.testing import Call, FakeProvider, Say
from tests.integrations.scripted import example

anthropic = pytest.importorskip("anthropic")
genai = pytest.importorskip("google.genai")
openai = pytest.importorskip("openai")

WINDOW, TURNS = 8_000, 14
OPENAI, CLAUDE, GEMINI = "gpt-4o", "claude-sonnet-5", "gemini-2.5-flash"
# Sockets of a client that nobody closes are the SDK's own; Brim opens none.
pytestmark = pytest.mark.filterwarnings("default")
FIRST = "Find out which berth the Aurora may use, and never move the Borealis."


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(window=WINDOW, model=OPENAI) as fake:
        yield fake


def paste(turn: int) -> str:
    rows = "\n".join(f"berth {turn * 100 + n}: {n * 7919 % 1013} cm free, boat Nr. {n * 31 + turn}" for n in range(45))
    return f"{FIRST if not turn else f'Turn {turn}: what is new?'}\n{rows}"


def wrapped(client: Any, **settings: Any) -> Any:
    return brim.wrap(client, budget=WINDOW - 300, **settings)


def openai_client(provider: FakeProvider, kind: str = "OpenAI") -> Any:
    return wrapped(getattr(openai, kind)(base_url=f"{provider.url}/v1", api_key="any", max_retries=0))


def claude_client(provider: FakeProvider, kind: str = "Anthropic") -> Any:
    return wrapped(getattr(anthropic, kind)(base_url=provider.url, api_key="any", max_retries=0))


def gemini_client(provider: FakeProvider) -> Any:
    return wrapped(genai.Client(api_key="any", http_options={"base_url": provider.url}))


def check(provider: FakeProvider, most_breaks: int = 5) -> None:
    """All of a conversation was sent within the window, with the first request in it, mostly by appending."""
    posts = provider.posts
    assert len(posts) == TURNS
    assert all(FIRST in seen.body.decode() for seen in posts)
    lists = [next(seen.json[key] for key in ("messages", "input", "contents") if key in seen.json) for seen in posts]
    texts = [json.dumps(_unmarked(messages))[:-1] for messages in lists]
    broken = sum(not later.startswith(earlier) for earlier, later in pairwise(texts))
    assert 0 < broken <= most_breaks  # it did not fit, and was compacted now and then, not each time


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("way", ["create", "stream=True", "stream", "parse", "raw"])
def test_openai_chat_goes_on_past_the_window(provider: FakeProvider, way: str) -> None:
    client, messages = openai_client(provider), []
    for turn in range(TURNS):
        messages.append({"role": "user", "content": paste(turn)})
        chat = {"model": OPENAI, "messages": messages, "max_tokens": 200}
        completions = client.chat.completions
        if way == "create":
            said = completions.create(**chat).choices[0].message.content
        elif way == "parse":
            said = completions.parse(**chat).choices[0].message.content
        elif way == "raw":
            said = completions.with_raw_response.create(**chat).parse().choices[0].message.content
        elif way == "stream":
            with completions.stream(**chat) as stream:
                said = stream.get_final_completion().choices[0].message.content
        else:
            chunks = completions.create(**chat, stream=True, stream_options={"include_usage": True})
            said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert said == "All right."
        messages.append({"role": "assistant", "content": said})
    assert len(messages) == 2 * TURNS  # the caller's own list is as it was
    check(provider)


@pytest.mark.parametrize("way", ["create", "stream=True", "stream"])
def test_openai_responses_go_on_past_the_window(provider: FakeProvider, way: str) -> None:
    client, items = openai_client(provider), []
    for turn in range(TURNS):
        items.append({"role": "user", "content": paste(turn)})
        asked = {"model": OPENAI, "input": items, "max_output_tokens": 200}
        if way == "create":
            said = client.responses.create(**asked).output_text
        elif way == "stream":
            with client.responses.stream(**asked) as stream:
                said = stream.get_final_response().output_text
        else:
            events = list(client.responses.create(**asked, stream=True))
            said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert said == "All right."
        items.append({"role": "assistant", "content": said})
    check(provider)


@pytest.mark.parametrize("way", ["create", "stream=True", "stream", "beta", "raw"])
def test_anthropic_goes_on_past_the_window(provider: FakeProvider, way: str) -> None:
    client, messages = claude_client(provider), []
    for turn in range(TURNS):
        messages.append({"role": "user", "content": paste(turn)})
        asked = {"model": CLAUDE, "messages": messages, "max_tokens": 200}
        if way == "create":
            said = client.messages.create(**asked).content[0].text
        elif way == "beta":
            said = client.beta.messages.create(**asked).content[0].text
        elif way == "raw":
            said = client.messages.with_raw_response.create(**asked).parse().content[0].text
        elif way == "stream":
            with client.messages.stream(**asked) as stream:
                said = stream.get_final_text()
        else:
            events = list(client.messages.create(**asked, stream=True))
            said = "".join(event.delta.text for event in events if event.type == "content_block_delta")
        assert said == "All right."
        messages.append({"role": "assistant", "content": said})
    check(provider)


@pytest.mark.parametrize("way", ["generate", "stream", "chat"])
def test_google_genai_goes_on_past_the_window(provider: FakeProvider, way: str) -> None:
    client, contents = gemini_client(provider), []
    chat = client.chats.create(model=GEMINI)
    for turn in range(TURNS):
        contents.append({"role": "user", "parts": [{"text": paste(turn)}]})
        if way == "generate":
            said = client.models.generate_content(model=GEMINI, contents=contents).text
        elif way == "chat":
            said = chat.send_message(paste(turn)).text
        else:
            chunks = client.models.generate_content_stream(model=GEMINI, contents=contents)
            said = "".join(chunk.text or "" for chunk in chunks)
        assert said == "All right."
        contents.append({"role": "model", "parts": [{"text": said}]})
    check(provider)


def test_async_clients_go_on_past_the_window_streaming_too() -> None:
    async def chat(fake: FakeProvider) -> None:
        client, messages = openai_client(fake, "AsyncOpenAI"), []
        for turn in range(TURNS):
            messages.append({"role": "user", "content": paste(turn)})
            if turn % 2:
                answer = await client.chat.completions.create(model=OPENAI, messages=messages, max_tokens=200)
                said = answer.choices[0].message.content
            else:
                stream = await client.chat.completions.create(model=OPENAI, messages=messages, stream=True)
                said = "".join([piece.choices[0].delta.content or "" async for piece in stream if piece.choices])
            messages.append({"role": "assistant", "content": said})

    async def claude(fake: FakeProvider) -> None:
        client, messages = claude_client(fake, "AsyncAnthropic"), []
        for turn in range(TURNS):
            messages.append({"role": "user", "content": paste(turn)})
            if turn % 2:
                said = (await client.messages.create(model=CLAUDE, messages=messages, max_tokens=200)).content[0].text
            else:
                async with client.messages.stream(model=CLAUDE, messages=messages, max_tokens=200) as stream:
                    said = await stream.get_final_text()
            messages.append({"role": "assistant", "content": said})

    async def gemini(fake: FakeProvider) -> None:
        client, contents = gemini_client(fake), []  # held: the SDK closes its connections where nobody holds the client
        models = client.aio.models
        for turn in range(TURNS):
            contents.append({"role": "user", "parts": [{"text": paste(turn)}]})
            if turn % 2:
                said = (await models.generate_content(model=GEMINI, contents=contents)).text
            else:
                stream = await models.generate_content_stream(model=GEMINI, contents=contents)
                said = "".join([chunk.text or "" async for chunk in stream])
            contents.append({"role": "model", "parts": [{"text": said}]})

    for converse in (chat, claude, gemini):
        with FakeProvider(window=WINDOW, model=OPENAI) as fake:
            asyncio.run(converse(fake))
            check(fake)


def test_tool_calls_keep_their_results_past_the_window(provider: FakeProvider) -> None:
    client = openai_client(provider)
    read = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    messages: list[Any] = [{"role": "user", "content": FIRST}]
    provider.script(*(Call("read", {"path": f"berths/{turn}.txt"}) for turn in range(TURNS - 1)), Say("Berth 12."))
    while True:
        answer = client.chat.completions.create(model=OPENAI, messages=messages, tools=[read], max_tokens=200)
        message = answer.choices[0].message
        messages.append(message)  # the SDK's own object
        if not message.tool_calls:
            break
        messages.append({"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": paste(len(messages))})
    assert message.content == "Berth 12."
    check(provider)


def test_the_example_of_the_docs_runs(provider: FakeProvider) -> None:
    client = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="any")
    found = example("sdks", client=client, messages=[{"role": "user", "content": FIRST}])
    assert found["answer"].choices[0].message.content == "All right."


def test_two_conversations_of_one_client_are_told_apart(provider: FakeProvider) -> None:
    client = openai_client(provider)
    said: dict[str, list[dict[str, str]]] = {"Ada": [], "Ben": []}
    for turn in range(6):
        for name, messages in said.items():
            messages.append({"role": "user", "content": f"{name}: {paste(turn)}"})
            answer = client.chat.completions.create(model=OPENAI, messages=messages, max_tokens=200)
            messages.append({"role": "assistant", "content": answer.choices[0].message.content})
    for seen in provider.posts:
        text = seen.body.decode()
        assert ("Ada: " in text) != ("Ben: " in text)


def test_what_fits_is_sent_as_it_was(provider: FakeProvider) -> None:
    plain = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="any")
    asked = {"model": OPENAI, "messages": [{"role": "user", "content": "Is berth 12 free?"}], "temperature": 0.5}
    plain.chat.completions.create(**asked)
    client = brim.wrap(plain)
    assert client is plain
    assert isinstance(client, openai.OpenAI)
    client.chat.completions.create(**asked)
    client.with_options(timeout=5).chat.completions.create(**asked)
    assert len({seen.body for seen in provider.posts}) == 1


def test_usage_teaches(provider: FakeProvider) -> None:
    seen: list[Any] = []
    client = openai_client(provider)
    record = brim.Counter.record
    try:
        brim.Counter.record = lambda self, sent, tokens: seen.append(tokens) or record(self, sent, tokens)  # type: ignore[method-assign]
        asked = {"model": OPENAI, "messages": [{"role": "user", "content": "Is berth 12 free?"}]}
        client.chat.completions.create(**asked)
        list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
        claude_client(provider).messages.create(model=CLAUDE, max_tokens=50, messages=asked["messages"])
        with claude_client(provider).messages.stream(model=CLAUDE, max_tokens=50, messages=asked["messages"]) as stream:
            stream.until_done()
        gemini = gemini_client(provider)  # one that nobody holds closes itself
        gemini.models.generate_content(model=GEMINI, contents="Is berth 12 free?")
    finally:
        brim.Counter.record = record  # type: ignore[method-assign]
    assert len(seen) == 5
    assert all(seen)


def test_what_cannot_fit_is_not_sent(provider: FakeProvider) -> None:
    client = openai_client(provider)
    system = {"role": "system", "content": "Be exact. " * 9_000}
    with pytest.raises(brim.BudgetTooSmall):
        client.chat.completions.create(model=OPENAI, messages=[system, {"role": "user", "content": "Hi"}])
    assert not provider.posts


def test_other_calls_pass_through(provider: FakeProvider) -> None:
    client = openai_client(provider)
    assert client.embeddings.create(model="text-embedding-3-small", input="x", encoding_format="float").data
    assert [model.id for model in client.models.list()] == [OPENAI]


@pytest.mark.parametrize("name", ["streaming_openai", "streaming_anthropic"])
def test_the_documented_loop_says_streams_and_records(
    name: str, provider: FakeProvider, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.script(Say("Yes, it is.", pieces=3), Say("Until noon.", pieces=3))
    bare = {"streaming_openai": ("OpenAI", f"{provider.url}/v1"), "streaming_anthropic": ("Anthropic", provider.url)}
    kind, url = bare[name]
    client = getattr(openai if kind == "OpenAI" else anthropic, kind)(base_url=url, api_key="any")
    session = example(name, client=client)["session"]
    said = [message.text for message in session.log if message.role != "system"]
    assert said == ["Is berth 12 free?", "Yes, it is.", "And until when?", "Until noon."]
    assert capsys.readouterr().out == "Yes, it is.Until noon."
    assert "Yes, it is." in provider.posts[1].body.decode()
    assert session.history.counter.count(session.history.state.before.sent).source == "actual"


def test_the_documented_async_loop_says_streams_and_records(
    provider: FakeProvider, capsys: pytest.CaptureFixture[str]
) -> None:
    async def two_questions() -> Any:
        made = example("async_openai", client=openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="any"))
        await made["answer"]("Is berth 12 free?")
        await made["answer"]("And until when?")
        return made["session"]

    provider.script(Say("Yes, it is.", pieces=3), Say("Until noon.", pieces=3))
    session = asyncio.run(two_questions())
    said = [message.text for message in session.log if message.role != "system"]
    assert said == ["Is berth 12 free?", "Yes, it is.", "And until when?", "Until noon."]
    assert capsys.readouterr().out == "Yes, it is.Until noon."


@pytest.mark.parametrize("whole", [True, False])
def test_a_session_records_what_each_sdk_gives(provider: FakeProvider, whole: bool) -> None:
    chat = brim.Session(model=OPENAI, budget=4_000)
    answers = brim.Session(model=OPENAI, api="openai_responses", budget=4_000)
    claude, gemini = brim.Session(model=CLAUDE, budget=4_000), brim.Session(model=GEMINI, budget=4_000)
    openai_sdk = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="any")
    claude_sdk = anthropic.Anthropic(base_url=provider.url, api_key="any")
    gemini_sdk = genai.Client(api_key="any", http_options={"base_url": provider.url})
    ask = gemini_sdk.models.generate_content if whole else gemini_sdk.models.generate_content_stream
    more: dict[str, Any] = {} if whole else {"stream": True}
    chat.record(openai_sdk.chat.completions.create(model=OPENAI, messages=chat.say("Hello.").messages, **more))
    answers.record(openai_sdk.responses.create(model=OPENAI, input=answers.say("Hello.").messages, **more))
    messages = claude.say("Hello.").messages
    claude.record(claude_sdk.messages.create(model=CLAUDE, max_tokens=50, messages=messages, **more))
    gemini.record(ask(model=GEMINI, contents=gemini.say("Hello.").messages))
    for session in (chat, answers, claude, gemini):
        assert [message.text for message in session.log] == ["Hello.", "All right."]
