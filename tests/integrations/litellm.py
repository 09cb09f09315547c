"""LiteLLM's own client with Brim's callback and guardrail: needs tests/integrations/requirements/litellm.txt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import litellm
import pytest

from brim.integrations.litellm import BrimGuardrail, BrimLogger
from brim.testing import Call, FakeProvider, Say
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_log",
            "description": "Read the harbour's log of a day.",
            "parameters": {"type": "object", "properties": {"day": {"type": "integer"}}},
        },
    }
]


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with FakeProvider(window=BUDGET, default=Say(ANSWER)) as found:
        found.script(*(Call("read_log", {"day": step}, id=f"call_{step}") for step in range(STEPS)))
        yield found


@pytest.fixture(autouse=True)
def _no_callbacks() -> Iterator[None]:
    yield
    litellm.callbacks = []


async def loop(ask: Any, streamed: bool = False) -> tuple[str, list[Any]]:
    """The loop of an agent: what the model calls is answered until it says something."""
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": FIRST}]
    while True:
        answer = await ask(messages)
        if streamed:
            answer = litellm.stream_chunk_builder([chunk async for chunk in answer])
        said = answer.choices[0].message
        if not said.tool_calls:
            return said.content, messages
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls:
            day = json.loads(call.function.arguments)["day"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output(day)})


def sent(fake: FakeProvider) -> list[Any]:
    return [json.loads(seen.body)["messages"] for seen in fake.posts]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_callback_keeps_a_run_within_the_window_of_its_deployment(fake: FakeProvider, streamed: bool) -> None:
    litellm.callbacks = [BrimLogger(budget=BUDGET)]

    async def ask(messages: Any) -> Any:
        where = {"api_base": f"{fake.url}/v1", "api_key": "any", "num_retries": 0, "stream": streamed}
        return await litellm.acompletion(model=f"openai/{MODEL}", messages=messages, tools=TOOLS, **where)

    said, messages = asyncio.run(loop(ask, streamed))
    assert said == ANSWER
    check(sent(fake), tools=TOOLS)
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert results == [output(step) for step in range(STEPS)]


def test_a_router_fits_to_the_deployment_that_it_chose(fake: FakeProvider) -> None:
    litellm.callbacks = [BrimLogger(budget=BUDGET)]
    deployment = {"model": f"openai/{MODEL}", "api_base": f"{fake.url}/v1", "api_key": "any"}
    router = litellm.Router([{"model_name": "clerk", "litellm_params": deployment}], num_retries=0)

    async def ask(messages: Any) -> Any:
        return await router.acompletion(model="clerk", messages=messages, tools=TOOLS)

    assert asyncio.run(loop(ask))[0] == ANSWER
    check(sent(fake), tools=TOOLS)


def test_a_guardrail_fits_the_requests_that_name_it(fake: FakeProvider) -> None:
    litellm.callbacks = [BrimGuardrail(budget=BUDGET)]

    async def ask(messages: Any) -> Any:
        where = {"api_base": f"{fake.url}/v1", "api_key": "any", "num_retries": 0, "guardrails": ["brim"]}
        return await litellm.acompletion(model=f"openai/{MODEL}", messages=messages, tools=TOOLS, **where)

    assert asyncio.run(loop(ask))[0] == ANSWER
    check(sent(fake), tools=TOOLS)


def test_without_the_guardrail_the_same_run_overflows(fake: FakeProvider) -> None:
    litellm.callbacks = [BrimGuardrail(budget=BUDGET)]

    async def ask(messages: Any) -> Any:
        where = {"api_base": f"{fake.url}/v1", "api_key": "any", "num_retries": 0}
        return await litellm.acompletion(model=f"openai/{MODEL}", messages=messages, tools=TOOLS, **where)

    with pytest.raises(litellm.ContextWindowExceededError):
        asyncio.run(loop(ask))


def test_a_model_that_only_litellm_knows_has_the_window_that_litellm_states(fake: FakeProvider) -> None:
    litellm.register_model(
        {"openai/harbour-1": {"max_input_tokens": 3_000, "max_output_tokens": 200, "litellm_provider": "openai"}}
    )
    litellm.callbacks = [BrimLogger()]
    fake._script.clear()
    long = [{"role": "user", "content": FIRST}, {"role": "assistant", "content": output(1) * 4}]

    async def ask() -> Any:
        where = {"api_base": f"{fake.url}/v1", "api_key": "any", "num_retries": 0}
        asked = [*long, {"role": "user", "content": "And now?"}]
        return await litellm.acompletion(model="openai/harbour-1", messages=asked, **where)

    assert asyncio.run(ask()).choices[0].message.content == ANSWER
    [request] = sent(fake)
    assert FIRST in str(request)
    assert len(str(request)) < len(str(long)) / 2


def test_the_example_of_the_docs_runs(fake: FakeProvider) -> None:
    fake._script.clear()
    found = example("litellm", messages=[{"role": "user", "content": FIRST}], url=f"{fake.url}/v1")
    assert asyncio.run(found["ask"]()) == ANSWER
