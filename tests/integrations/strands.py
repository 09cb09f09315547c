"""Strands with Brim: needs tests/integrations/requirements/strands.txt."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from strands import Agent, tool
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from brim.integrations.strands import BrimConversationManager, StrandsCodec
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output, read_log

TOOL = tool(read_log)


class Scripted(Model):
    def __init__(self, overflow_at: int | None = None) -> None:
        self.requests: list[Any] = []
        self.overflow_at = overflow_at

    def update_config(self, **_: Any) -> None:
        raise NotImplementedError

    def get_config(self) -> Any:
        return {"model_id": MODEL}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **_: Any) -> Any:
        step = len(self.requests)
        if self.overflow_at == step:
            self.overflow_at = None
            raise ContextWindowOverflowException("too long")
        self.requests.append(chats(messages, system_prompt))
        yield {"messageStart": {"role": "assistant"}}
        if step == STEPS:
            yield {"contentBlockStart": {"start": {}}}
            for word in ANSWER.split(" "):
                yield {"contentBlockDelta": {"delta": {"text": word + " "}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "read_log", "toolUseId": f"call_{step}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"day": step})}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if step == STEPS else "tool_use"}}


def chats(messages: Any, system: str | None) -> list[Any]:
    """What the model got, without the adapter's own reading."""
    found: list[Any] = [{"role": "system", "content": system}] if system else []
    for message in messages:
        texts = [block["text"] for block in message["content"] if "text" in block]
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        for block in message["content"]:
            if "toolResult" in block:
                text = "".join(part["text"] for part in block["toolResult"]["content"])
                found.append({"role": "tool", "tool_call_id": block["toolResult"]["toolUseId"], "content": text})
        if texts or calls:
            said: dict[str, Any] = {"role": message["role"], "content": "".join(texts)}
            if calls:
                said["tool_calls"] = [
                    {
                        "id": c["toolUseId"],
                        "type": "function",
                        "function": {"name": c["name"], "arguments": json.dumps(c["input"])},
                    }
                    for c in calls
                ]
            found.append(said)
    return found


def agent_of(model: Model, manager: BrimConversationManager) -> Agent:
    return Agent(model=model, tools=[TOOL], system_prompt=SYSTEM, conversation_manager=manager, callback_handler=None)


def test_an_agent_stays_within_its_window() -> None:
    model = Scripted()
    result = agent_of(model, BrimConversationManager(budget=BUDGET))(FIRST)  # the model's own name is asked
    check(model.requests)
    assert str(result).strip() == ANSWER


def test_between_compactions_requests_only_append() -> None:
    model = Scripted()
    agent_of(model, BrimConversationManager(MODEL, BUDGET))(FIRST)
    pairs = list(zip(model.requests, model.requests[1:], strict=False))
    assert sum(after[: len(before)] == before for before, after in pairs) >= STEPS - 4


def test_a_streaming_agent_is_fitted_too() -> None:
    model = Scripted()

    async def run() -> str:
        agent = agent_of(model, BrimConversationManager(MODEL, BUDGET))
        return "".join([event["data"] async for event in agent.stream_async(FIRST) if "data" in event])

    assert asyncio.run(run()).strip() == ANSWER
    check(model.requests)


def test_a_provider_that_refuses_gets_a_smaller_request() -> None:
    model = Scripted(overflow_at=5)
    result = agent_of(model, BrimConversationManager(MODEL, 100_000))(FIRST)
    assert str(result).strip() == ANSWER
    last = "\n".join(message["content"] for message in model.requests[5])
    assert FIRST in last
    assert output(4) in last
    assert output(0) not in last


def test_the_example_of_the_docs_runs() -> None:
    model = Scripted()
    found = example("strands", model=model, tools=[TOOL], request=FIRST)
    check(model.requests)
    assert str(found["result"]).strip() == ANSWER


def test_a_message_with_several_results_keeps_those_that_were_not_shortened() -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"x"}}}
    results = [
        {"toolResult": {"toolUseId": f"c{n}", "status": "success", "content": [{"text": f"r{n}"}]}} for n in (0, 1)
    ]
    message = {"role": "user", "content": [*results, {"text": "and?"}, image]}
    codec = StrandsCodec()
    chats = codec.read(message)
    chats[0]["content"] = "short"
    written = codec.write(chats, message)
    assert written["content"][0]["toolResult"]["content"] == [{"text": "short"}]
    assert written["content"][1:] == [results[1], {"text": "and?"}, image]
