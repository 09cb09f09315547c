"""The commands, the demo, telemetry, and the gateway as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from brim import settings
from brim.cli.service import serve, status, top
from brim.errors import BadSetting, NotFound
from brim.gateway.demo import playing, reader
from brim.gateway.observe.telemetry import NAMES, Telemetry
from brim.gateway.server.app import Gateway
from brim.gateway.server.serving import Server, address
from brim.stores.resilient import open_store
from brim.testing import Fail, FakeProvider

from .conftest import Running, long_chat
from .test_faults import until

HI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


def run(module: Any, *words: str) -> int:
    parser = argparse.ArgumentParser()
    module.add(parser.add_subparsers())
    args = parser.parse_args(words)
    return int(args.run(args))


def test_status_and_top_read_a_running_gateway(gateway: Running, capsys: pytest.CaptureFixture[str]) -> None:
    gateway.chat({"messages": long_chat(30)}, x_brim_budget="6000")
    gateway.settled()
    assert run(status, "status", "--bar", "--url", gateway.url) == 0
    line = capsys.readouterr().out
    assert "gpt-4o" in line
    assert "saved" in line
    assert line.count("\n") == 1
    assert run(top, "top", "--once", "--url", gateway.url) == 0
    assert "1 of 1 request " in capsys.readouterr().out


def test_a_status_line_is_empty_when_no_gateway_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(status, "status", "--bar", "--url", "http://127.0.0.1:9") == 1
    assert capsys.readouterr().out == ""
    with pytest.raises(NotFound, match="brim serve"):
        run(status, "status", "--url", "http://127.0.0.1:9")


def test_serve_refuses_what_is_no_address_or_file() -> None:
    with pytest.raises(BadSetting, match="not an address"):
        run(serve, "serve", "--upstream", "localhost:8080")
    with pytest.raises(BadSetting, match="no file"):
        run(serve, "serve", "--config", "/nowhere/brim.toml")


def test_the_demo_outgrows_its_windows_and_answers_every_question_from_what_was_sent(tmp_path: Path) -> None:
    async def play() -> tuple[list[playing.Played], Gateway]:
        async with FakeProvider(window=playing.WINDOW, reader=reader.reply) as provider:
            gateway = playing.prepared(settings.load(tmp_path, {}, gateway={"port": 0}), provider.url)
            server = Server(gateway)
            bound = server.listen()
            running = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
            played = await playing.play(server, address(bound), pause=0.0)
            server.stop()
            await running
            return played, gateway

    played, gateway = asyncio.run(play())
    assert [one.answered for one in played] == [story.requests for story in playing.STORIES]
    assert [
        (step.said, answer) for one in played for step, answer in one.questions if step.expected not in answer
    ] == []
    assert gateway.metrics.total("brim_overflows_avoided_total") > 20
    assert gateway.metrics.total("brim_upper_exceeded_total") == 0
    assert gateway.metrics.total("brim_refits_total") == 0
    lives = list(gateway.fitter.conversations)
    assert {live.client for live in lives} == {story.client.partition("/")[0] for story in playing.STORIES}
    for live in lives:
        assert [turn.number for turn in live.turns if turn.original is None or turn.report is None] == []


def test_turns_become_spans_and_histograms_by_the_genai_conventions(gateway: Running, fake: FakeProvider) -> None:
    spans = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    reader = InMemoryMetricReader()
    gateway.gateway.journal.hooks.append(Telemetry(tracers, MeterProvider([reader])))
    gateway.chat(HI)
    fake.script(Fail(500, "broken"))
    gateway.chat(HI)
    gateway.settled()
    first, second = spans.get_finished_spans()
    assert first.name == "chat gpt-4o"
    assert first.attributes is not None
    assert first.attributes["gen_ai.usage.input_tokens"] == 8
    assert first.attributes["gen_ai.provider.name"] == "openai"
    assert "hi" not in [str(value) for value in first.attributes.values()]
    assert second.attributes is not None
    assert second.attributes["http.response.status_code"] == 500
    data = reader.get_metrics_data()
    assert data is not None
    names = {metric.name for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    assert names == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "brim.fit.duration"}


def test_what_a_fit_removed_is_measured(gateway: Running, fake: FakeProvider) -> None:
    spans, reader, tracers = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    gateway.gateway.journal.hooks.append(Telemetry(tracers, MeterProvider([reader])))
    gateway.chat({"messages": long_chat(20), "max_tokens": 40, "stream": True}, x_brim_budget="3000")
    gateway.settled()
    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    before, after = span.attributes["brim.tokens.before"], span.attributes["brim.tokens.after"]
    assert isinstance(before, int)
    assert isinstance(after, int)
    assert span.attributes["gen_ai.request.max_tokens"] == 40
    assert span.attributes["gen_ai.request.stream"] is True
    data = reader.get_metrics_data()
    assert data is not None
    metrics = {metric.name: metric.data.data_points for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    assert [point.value for point in metrics["brim.tokens.removed"]] == [before - after]  # type: ignore[union-attr]
    assert [point.value for point in metrics["brim.overflows.avoided"]] == [1]  # type: ignore[union-attr]


def test_every_name_of_telemetry_stands_in_the_documentation() -> None:
    page = (Path(__file__).parent.parent.parent / "docs/telemetry.md").read_text(encoding="utf-8")
    assert [name for name in NAMES.values() if f"`{name}`" not in page] == []


def test_the_process_serves_reloads_and_ends_cleanly(tmp_path: Path) -> None:
    config = tmp_path / "brim.toml"
    with FakeProvider() as fake:
        config.write_text(f'[gateway]\nport = 0\n[upstreams.mine]\nbase_url = "{fake.url}/v1"\n')
        environment = {**os.environ, "HOME": str(tmp_path), "BRIM_STORE_PATH": str(tmp_path / "brim.db")}
        process = subprocess.Popen(
            [sys.executable, "-m", "brim.cli.service.serve", "--config", str(config)],
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert process.stderr is not None
        url = process.stderr.readline().split()[3].decode()
        assert _post(url)["usage"]["prompt_tokens"] == 8
        config.write_text('[gateway]\nport = "nonsense"\n')
        process.send_signal(signal.SIGHUP)
        assert b"not reloaded" in _line_with(process, b"reloaded")
        config.write_text(f'[upstreams.other]\nbase_url = "{fake.url}/openai/v1"\n')
        process.send_signal(signal.SIGHUP)
        assert b'"upstreams":["other"' in _line_with(process, b"reloaded")
        _post(url)
        assert fake.posts[-1].path == "/openai/v1/chat/completions"
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(20) == 0
        process.stderr.close()


def _post(url: str) -> Any:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(HI).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.loads(answer.read())


def _counted(url: str) -> int:
    """The requests that `/metrics` tells of."""
    lines = _get(f"{url}/metrics").splitlines()
    return sum(int(line.split()[-1]) for line in lines if line.startswith("brim_requests_total{"))


def _line_with(process: subprocess.Popen[bytes], wanted: bytes) -> bytes:
    assert process.stderr is not None
    for line in process.stderr:
        if wanted in line:
            return line
    raise AssertionError(f"the process ended without saying {wanted!r}")


@pytest.mark.skipif(sys.platform != "linux", reason="connections are shared out between processes on Linux alone")
def test_several_processes_share_a_port_and_one_that_dies_is_replaced(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "BRIM_STORE_PATH": str(tmp_path / "brim.db")}
    command = [sys.executable, "-m", "brim.cli.service.serve", "--workers", "2", "--port", "0", "--upstream"]
    with FakeProvider() as fake, _serving([*command, fake.url], environment) as (process, url):
        for _ in range(24):
            assert _post(url)["usage"]["prompt_tokens"] == 8
        # With 24 connections both have had some, but once in eight million times. Whoever is asked counts the other's
        # from the store, so that both have written theirs before one of them dies.
        until(lambda: all(_counted(url) == 24 for _ in range(24)), 60)
        kept = open_store(tmp_path / "brim.db")
        assert len(kept.values("metrics.")) == 2
        kept.close()
        first = _children(process.pid)
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(_children(process.pid)) == 2 and first[0] not in _children(process.pid), 60)
        for _ in range(8):
            _post(url)
        assert len(fake.posts) == 32
        until(lambda: _counted(url) == 32, 60)  # with those of the one that died
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        process.stderr.read()
        assert process.wait(20) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="connections are shared out between processes on Linux alone")
def test_processes_end_with_the_one_that_looks_after_them(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "BRIM_STORE_PATH": str(tmp_path / "brim.db")}
    command = [sys.executable, "-m", "brim.cli.service.serve", "--workers", "2", "--port", "0"]
    with _serving(command, environment) as (process, _):
        children = _children(process.pid)
        assert len(children) == 2
        process.kill()
        process.wait(20)
        until(lambda: not any(_runs(child) for child in children))


def test_several_processes_need_a_store_that_they_can_share() -> None:
    for flags in (("--memory",), ("--demo",)):
        with pytest.raises(BadSetting, match="several share a store"):
            run(serve, "serve", "--workers", "2", *flags)
    with pytest.raises(BadSetting, match="at least one process"):
        run(serve, "serve", "--workers", "0")


@contextmanager
def _serving(command: list[str], environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A gateway as a process, and its address, until the block ends."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        try:
            yield process, _line_with(process, b"Brim listens").split()[3].decode()
        finally:
            process.terminate()


def _runs(process: int) -> bool:
    """Whether a process is there, and more than a name that nobody has asked for yet."""
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def _children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        text: str = answer.read().decode()
        return text
