"""Serves the demo: the sample agents talk through the gateway while people watch."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.gateway.demo import coder, desk, reader
from brim.gateway.demo.story import Step, Story
from brim.gateway.observe.logs import set_up
from brim.gateway.proxy.client import Client
from brim.gateway.proxy.faults import UpstreamFault
from brim.gateway.server.app import Gateway
from brim.gateway.server.options import options_of
from brim.gateway.server.serving import Server, address, dashboard
from brim.settings import Settings
from brim.stores.inmemory import InMemoryStore
from brim.testing import FakeProvider

STORIES = (desk.STORY, coder.STORY)
WINDOW = 16_000
MOST_OUTPUT = 1_000
# Most of the sample is played at once, so that there is something to see; each agent's last WATCHED requests
# come a PAUSE apart, so that there is something to watch.
PAUSE, WATCHED = 1.5, 32
# Every turn of the sample stays in memory, with everything that was received and sent.
HELD_TURNS, HELD_BYTES = 1_000, 256 << 20


@dataclass(slots=True)
class Played:
    """The outcome of a story: how many requests were answered, and each question with its answer."""

    answered: int = 0
    questions: list[tuple[Step, str]] = field(default_factory=list)

    @property
    def right(self) -> int:
        return sum(step.expected in answer for step, answer in self.questions)


def run(settings: Settings) -> None:
    """Serve the demo until a signal ends it."""
    asyncio.run(_run(settings))


def prepared(settings: Settings, url: str) -> Gateway:
    """A gateway in front of the sample's provider, with small windows and room for every turn."""
    gateway = Gateway(options_of(settings, upstream=url), store=InMemoryStore(), dashboard=dashboard())
    gateway.journal.hold(HELD_TURNS, HELD_BYTES)
    for story in STORIES:
        gateway.fitter.models.catalog.override(story.model, {"window": WINDOW, "max_output": MOST_OUTPUT})
    return gateway


async def _run(settings: Settings) -> None:
    async with FakeProvider(window=WINDOW, model=desk.STORY.model, reader=reader.reply) as provider:
        gateway = prepared(settings, provider.url)
        server = Server(gateway)
        bound = server.listen()
        set_up(gateway.redact, logging.ERROR)  # so that the address stays in sight
        base = address(bound)
        print(f"Open {base}/brim/ to watch a support agent and a coding agent outgrow their windows.", file=sys.stderr)
        print("Their provider is a fake one: no key, no network, nothing is spent.", file=sys.stderr)
        print("Ctrl-C stops it.", file=sys.stderr, flush=True)
        telling = asyncio.get_running_loop().create_task(_tell(server, base))
        await server.run_on(bound)
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def _tell(server: Server, base: str) -> None:
    played = await play(server, base)
    asked, right = sum(len(one.questions) for one in played), sum(one.right for one in played)
    print(
        f"The sample is over: {sum(one.answered for one in played)} requests answered, {right} of {asked} questions "
        f"answered right from what was sent. The pages stay until you stop it.\nSend a request of your own: "
        f"brim demo --save sample.json; curl -i {base}/v1/chat/completions -d @sample.json",
        file=sys.stderr,
        flush=True,
    )


async def play(server: Server, base: str, pause: float = PAUSE) -> list[Played]:
    """Let every agent of the sample talk through the gateway at once."""
    await server.ready.wait()
    client = Client(connect_timeout=5, read_timeout=30, connections=4)
    try:
        return list(await asyncio.gather(*(Talk(story, client, base, pause).play() for story in STORIES)))
    finally:
        await client.close()


class Talk:
    """One agent: it sends its whole history with every request, as clients do."""

    def __init__(self, story: Story, client: Client, base: str, pause: float) -> None:
        self._story = story
        self._client = client
        self._base = base
        self._pause = pause
        self._messages: list[dict[str, Any]] = []
        if not story.system_field:
            self._messages.append({"role": "system", "content": story.instructions})
        self._played = Played()

    async def play(self) -> Played:
        try:
            for step in self._story.steps:
                self._messages.append({"role": "user", "content": step.said})
                calls, said = await self._ask()
                if calls:
                    self._results(calls)
                    calls, said = await self._ask()
                if step.expected and "?" in step.said:
                    self._played.questions.append((step, said))
        except UpstreamFault:
            pass  # the gateway is being stopped
        return self._played

    async def _ask(self) -> tuple[list[tuple[str, str, Mapping[str, Any]]], str]:
        """Send the history, add the answer to it, and return the answer's calls and text."""
        story, apart = self._story, self._story.system_field
        headers = {"content-type": "application/json", "user-agent": story.client, "x-brim-session": story.name}
        body: dict[str, Any] = {"model": story.model, "messages": self._messages, "tools": _tools(story)}
        if apart:
            body |= {"system": story.instructions, "max_tokens": MOST_OUTPUT}
            headers |= {"x-api-key": f"{story.name}-key", "anthropic-version": "2023-06-01"}
        else:
            headers["authorization"] = f"Bearer {story.name}-key"
        path = "/v1/messages" if apart else "/v1/chat/completions"
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        async with await self._client.send("POST", self._base + path, sent, json.dumps(body).encode()) as answer:
            told = json.loads(await answer.read(1 << 20))
        if answer.status != 200:
            raise UpstreamFault(answer.status, f"the sample was answered {answer.status}: {told}")
        self._played.answered += 1
        left = story.requests - self._played.answered
        await asyncio.sleep(self._pause if left < WATCHED else self._pause / 60)
        return self._heard(told)

    def _heard(self, told: dict[str, Any]) -> tuple[list[tuple[str, str, Mapping[str, Any]]], str]:
        if self._story.system_field:
            self._messages.append({"role": "assistant", "content": told["content"]})
            calls = [(one["id"], one["name"], one["input"]) for one in told["content"] if one["type"] == "tool_use"]
            return calls, "".join(one.get("text", "") for one in told["content"])
        message = told["choices"][0]["message"]
        self._messages.append(message)
        called = message.get("tool_calls") or []
        calls = [(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])) for one in called]
        return calls, message.get("content") or ""

    def _results(self, calls: list[tuple[str, str, Mapping[str, Any]]]) -> None:
        found = [(id, self._story.answer(name, given)) for id, name, given in calls]
        if self._story.system_field:
            blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in found]
            self._messages.append({"role": "user", "content": blocks})
        else:
            self._messages += [{"role": "tool", "tool_call_id": id, "content": text} for id, text in found]


def _tools(story: Story) -> list[dict[str, Any]]:
    """The tools in the form of the agent's API."""
    made: list[dict[str, Any]] = []
    for name, text in story.tools.items():
        schema = {"type": "object", "properties": {"page": {"type": "integer"}, "path": {"type": "string"}}}
        if story.system_field:
            made.append({"name": name, "description": text, "input_schema": schema})
        else:
            made.append({"type": "function", "function": {"name": name, "description": text, "parameters": schema}})
    return made
