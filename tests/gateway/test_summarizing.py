"""Summaries by a model: after a response, for the next compaction, paid for in the usage, and never in the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from brim import settings
from brim.errors import BadSetting
from brim.gateway.server.options import options_of
from brim.stores.inmemory import InMemoryStore
from brim.summaries import llm
from brim.testing import Fail, FakeProvider, Hang, Say

from .conftest import Loop, Running, Start
from .test_views import agent_run

SAID = "The pages were read one by one; the CHEAPEST item was noted for each."


@pytest.fixture
def writer(loop: Loop) -> Iterator[FakeProvider]:
    """The provider of the model that writes summaries."""
    provider = FakeProvider(model="gpt-4o-mini", default=Say(SAID))
    loop.call(provider.start())
    yield provider
    loop.call(provider.stop())


def summarizing(fake: FakeProvider, writer: FakeProvider, **given: Any) -> dict[str, Any]:
    """Settings of a gateway whose summaries another upstream writes."""
    return {
        "upstreams": {
            "main": {"base_url": fake.url, "models": ["gpt-4o"]},
            "writer": {"base_url": f"{writer.url}/v1", "key_env": "WRITER_KEY", "models": ["gpt-4o-mini"]},
        },
        "summarizer": {"enabled": True, "upstream": "writer", "model": "gpt-4o-mini", **given},
    }


def written(running: Running) -> None:
    """Return when no summary is being made."""

    async def wait() -> None:
        summarizing = running.gateway.summarizing
        while summarizing is not None and summarizing._running:
            await asyncio.gather(*summarizing._running, return_exceptions=True)

    running.settled()
    running.call(wait())


def worked(running: Running, steps: int, every: int = 1) -> None:
    """An agent's run through the gateway, in a budget that holds about ten of its steps."""
    run = agent_run(steps)
    for end in range(3, len(run) + 1, 2 * every):
        assert running.chat({"messages": run[:end]}, x_brim_budget="5000", x_brim_session="run").status == 200
        written(running)


def test_a_summary_is_asked_of_its_upstream_with_its_key_and_used_from_the_next_re_plan_on(
    start: Start, fake: FakeProvider, writer: FakeProvider
) -> None:
    running = start({"WRITER_KEY": "secret-of-the-writer"}, own=True, **summarizing(fake, writer))
    worked(running, 60)
    asked = writer.posts
    assert asked
    assert asked[0].json["model"] == "gpt-4o-mini"
    assert asked[0].json["max_tokens"] <= 800
    assert dict(asked[0].headers)["authorization"] == "Bearer secret-of-the-writer"
    sent = [seen.body for seen in fake.posts]
    assert any(b"CHEAPEST" in body for body in sent)
    assert not any(b"CHEAPEST" in body for body in sent[:10])
    assert all(turn.after <= 5_000 for turn in running.gateway.journal.recent)


@pytest.mark.parametrize("policy", ["agent", "rolling", "concise"])
def test_a_request_waits_for_the_summary_where_that_is_set(
    start: Start, fake: FakeProvider, writer: FakeProvider, policy: str
) -> None:
    given = summarizing(fake, writer, wait=True) | {"policy": {"name": policy}}
    running = start({"WRITER_KEY": "k"}, own=True, **given)
    chat = [{"role": "user", "content": f"Which berth {n}? {'the tide takes boats ' * 40}"} for n in range(60)]
    compacted = []
    for end in range(1, len(chat) + 1, 4):
        assert running.chat({"messages": chat[:end]}, x_brim_budget="5000", x_brim_session="run").status == 200
        whole = [message for message in chat[:end] if message["content"].encode() in fake.posts[-1].body]
        compacted += [fake.posts[-1].body] if len(whole) < end else []
    assert len(compacted) > 3
    assert all(b"CHEAPEST" in body for body in compacted)
    assert all(turn.after <= 5_000 for turn in running.gateway.journal.recent)


def test_a_request_that_waits_for_a_summary_goes_on_after_a_reload(
    start: Start, fake: FakeProvider, writer: FakeProvider
) -> None:
    writer.default = Say(SAID, fault=Hang())
    running = start({"WRITER_KEY": "k"}, own=True, **summarizing(fake, writer, wait=True))
    body = {"messages": agent_run(30)}

    async def reloaded() -> None:
        while not writer.posts:
            await asyncio.sleep(0.01)
        writer.default = Say(SAID)
        await running.gateway.reload(running.gateway.options)

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(running.chat, body, x_brim_budget="5000")
        running.call(asyncio.wait_for(reloaded(), 20))
        assert answer.result(20).status == 200
    assert b"CHEAPEST" in fake.posts[-1].body


def test_without_the_setting_no_summary_is_asked_for(start: Start, fake: FakeProvider, writer: FakeProvider) -> None:
    running = start({"WRITER_KEY": "k"}, own=True, **summarizing(fake, writer, enabled=False))
    worked(running, 30)
    assert running.gateway.summarizing is None
    assert not writer.posts


def test_what_summaries_take_is_part_of_the_usage(start: Start, fake: FakeProvider, writer: FakeProvider) -> None:
    store = InMemoryStore()
    running = start({"WRITER_KEY": "k"}, own=True, store=store, **summarizing(fake, writer))
    worked(running, 60)
    running.call(asyncio.to_thread(running.gateway.journal._flush))
    days = {row["model"]: row for row in running.get("/brim/v1/usage")["days"]}
    assert days["gpt-4o-mini"]["requests"] == len(writer.posts)
    assert days["gpt-4o-mini"]["actual_in"] > 0 < days["gpt-4o-mini"]["actual_out"]
    metrics = running.ask("GET", "/metrics").body.decode()
    assert 'brim_summaries_total{result="made"}' in metrics
    assert 'brim_cost_usd_total{model="gpt-4o-mini"}' in metrics


def test_a_writer_that_fails_changes_nothing_and_is_told_once(
    start: Start,
    fake: FakeProvider,
    writer: FakeProvider,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(llm, "WAIT", 0.001)
    logging.getLogger("brim").propagate = True
    worked(start(), 40)
    without = [seen.body for seen in fake.posts]
    writer.default = Fail(500)
    running = start({"WRITER_KEY": "k"}, own=True, **summarizing(fake, writer))
    with caplog.at_level(logging.WARNING):
        worked(running, 40)
    assert writer.posts
    assert [seen.body for seen in fake.posts][len(without) :] == without
    told = [record for record in caplog.records if record.getMessage() == "no summary"]
    assert len(told) == 1
    assert not [record for record in caplog.records if record.getMessage().startswith("a summary failed")]


def test_a_summary_that_is_refused_is_not_paid_for_again_with_every_turn(
    start: Start, fake: FakeProvider, writer: FakeProvider
) -> None:
    writer.default = Say("word " * 20_000)  # longer than what it stands for
    running = start({"WRITER_KEY": "k"}, own=True, **summarizing(fake, writer))
    worked(running, 40)
    session = running.gateway.fitter.sessions.held(running.last.session)
    assert session is not None
    assert 0 < len(writer.posts) <= session.compactions


def test_a_gateway_that_ends_stops_its_summaries(start: Start, fake: FakeProvider, writer: FakeProvider) -> None:
    writer.default = Say(SAID, fault=Hang())
    running = start({"WRITER_KEY": "k"}, own=True, **summarizing(fake, writer))
    run = agent_run(30)
    for end in range(3, len(run) + 1, 2):
        running.chat({"messages": run[:end]}, x_brim_budget="5000", x_brim_session="run")
    running.settled()
    summaries = running.gateway.summarizing
    assert summaries is not None
    assert summaries._running
    running.call(asyncio.wait_for(summaries.close(), 5))
    assert not summaries._running


def test_a_reload_switches_summaries_on(start: Start, fake: FakeProvider, writer: FakeProvider, tmp_path: Path) -> None:
    off = summarizing(fake, writer, enabled=False)
    running = start({"WRITER_KEY": "k"}, own=True, **off)
    worked(running, 20)
    loaded = settings.load(tmp_path, {"WRITER_KEY": "k"}, gateway={"port": 0}, **summarizing(fake, writer))
    running.call(running.gateway.reload(options_of(loaded)))
    worked(running, 40)
    assert writer.posts


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"upstream": "groq"}, "summarizer.model"),
        ({"model": "m"}, "summarizer.upstream"),
        ({"model": "m", "upstream": "smoke"}, "summarizer.upstream"),
        ({"model": "m", "upstream": "openai"}, "summarizer.upstream"),
    ],
)
def test_a_summariser_that_cannot_be_asked_is_refused_by_the_name_of_its_setting(
    given: dict[str, Any], named: str, tmp_path: Path
) -> None:
    loaded = settings.load(tmp_path, {"HOME": str(tmp_path)}, summarizer={"enabled": True, **given})
    with pytest.raises(BadSetting, match=named):
        options_of(loaded)


@pytest.mark.parametrize("api", ["anthropic", "gemini"])
def test_the_writer_may_speak_another_api(start: Start, fake: FakeProvider, writer: FakeProvider, api: str) -> None:
    given = summarizing(fake, writer)
    given["upstreams"]["writer"] |= {"base_url": writer.url, "api": api}
    running = start({"WRITER_KEY": "k"}, own=True, **given)
    worked(running, 60)
    assert writer.posts
    assert any(b"CHEAPEST" in seen.body for seen in fake.posts)
