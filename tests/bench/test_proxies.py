"""The gateway's tables are made of one measurement; a proxy that does not work is a row with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import environments
import pytest
from environments import Environment
from peer import PeerProblem
from versus import proxies
from versus.ways import Field


@pytest.fixture
def field(monkeypatch: pytest.MonkeyPatch) -> Iterator[Field]:
    def made(name: str, kept: Path) -> Environment:
        return Environment(name, (f"/envs/{name}/bin/python", "worker.py"))

    monkeypatch.setattr(environments, "make", made)
    monkeypatch.setattr(environments, "version", lambda environment, package: "1.0")
    command = environments.command
    monkeypatch.setattr(
        environments,
        "command",
        lambda given, name: f"/envs/{name}/server" if given.name == "portkey" else command(given, name),
    )
    with Field(Path("none"), tell=lambda said: None) as entered:
        yield entered


def numbers(cpu: float) -> dict[str, float]:
    return {"cpu_ms": cpu, "x_bare": cpu / 0.2, "p50_ms": 4 + cpu}


def measured(commands: Mapping[str, str], flags: tuple[str, ...]) -> dict[str, Any]:
    every = {"bare": numbers(0.2), "brim": numbers(0.24), "litellm": numbers(5.0), "headroom": numbers(1.0)}
    every["portkey"] = numbers(0.6)
    found = {name: every[name] for name in ("bare", "brim", *commands)}
    return {"json": found, "fresh": found, "stream": found, "large": {"added_ms": 5.0, "p90_ms": 7.0, "cold_ms": 20.0}}


def test_every_proxy_has_its_row_and_brim_its_bars(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[str, str]] = []

    def run(commands: Mapping[str, str], flags: tuple[str, ...]) -> dict[str, Any]:
        asked.append(commands)
        return measured(commands, flags)

    monkeypatch.setattr(proxies, "_run", run)
    overhead = proxies.Overhead(field)
    rows = {row["who"]: row for row in overhead.proxies()}
    assert list(rows) == ["bare pass-through", "Brim gateway", "LiteLLM proxy", "headroom proxy", "Portkey gateway"]
    assert rows["LiteLLM proxy"]["3 KB, continuing: × bare"] == 25
    assert rows["Brim gateway"]["3 KB, continuing: p50 added, ms"] == pytest.approx(0.04)
    met = {row["metric"]: row["met"] for row in overhead.own()}
    assert met["3 KB, continuing: processor time ÷ that of a bare pass-through"] == "yes"
    assert met["3 KB, continuing: processor time of the LiteLLM proxy ÷ Brim's"] == "yes"
    assert met["3 KB, continuing: processor time of the headroom proxy ÷ Brim's"] == "no"
    commands = {
        "litellm": "litellm/bin/litellm",
        "headroom": "headroom_proxy/bin/headroom",
        "portkey": "portkey/server",
    }
    assert asked == [{name: f"/envs/{command}" for name, command in commands.items()}]
    assert field.versions() == {"litellm": "1.0", "headroom-ai": "1.0", "@portkey-ai/gateway": "1.0"}


def test_a_proxy_that_cannot_do_one_kind_of_request_is_measured_on_the_others(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(commands: Mapping[str, str], flags: tuple[str, ...]) -> dict[str, Any]:
        found = measured(commands, flags)
        stream = {**found["stream"], "portkey": {"problem": "portkey: 500 immutable"}}
        turn = {"brim": {"p50_added_ms": 1.5, "p95_added_ms": 2.5}}
        return {**found, "stream": stream, "turn": turn}

    monkeypatch.setattr(proxies, "_run", run)
    overhead = proxies.Overhead(field)
    rows = {row["who"]: row for row in overhead.proxies()}
    assert rows["Portkey gateway"]["3 KB, fresh: × bare"] == pytest.approx(3)
    assert rows["Portkey gateway"]["stream of 100 chunks: CPU ms"] == "portkey: 500 immutable"
    assert rows["Brim gateway"]["one at a time: p95 added, ms"] == 2.5
    assert "one at a time: p50 added, ms" not in rows["LiteLLM proxy"]
    assert not [row for row in overhead.own() if row["metric"] == "stream of 100 chunks: processor time of the Portkey"]


def test_a_proxy_that_does_not_start_is_a_row_and_the_others_are_measured(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(commands: Mapping[str, str], flags: tuple[str, ...]) -> dict[str, Any]:
        if "headroom" in commands:
            raise PeerProblem("http://127.0.0.1:1 did not start")
        return measured(commands, flags)

    monkeypatch.setattr(proxies, "_run", run)
    rows = {row["who"]: row for row in proxies.Overhead(field).proxies()}
    assert rows["headroom proxy"] == {"who": "headroom proxy", "problem": "http://127.0.0.1:1 did not start"}
    assert "3 KB, continuing: CPU ms" in rows["LiteLLM proxy"]


def test_a_proxy_that_is_not_installed_is_a_row_with_the_reason(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxies, "_run", measured)
    make = environments.make
    missing = Environment("litellm", problem="not installed: no wheel")
    monkeypatch.setattr(environments, "make", lambda name, kept: missing if name == "litellm" else make(name, kept))
    rows = {row["who"]: row for row in proxies.Overhead(field).proxies()}
    assert rows["LiteLLM proxy"]["problem"] == "not installed: no wheel"
    assert rows["headroom proxy"]["3 KB, continuing: CPU ms"] == 1.0


def test_what_the_measuring_process_says_last_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "gateway.py"
    script.write_text("import sys; sys.exit('the port is taken')")
    monkeypatch.setattr(proxies, "GATEWAY", script)
    with pytest.raises(PeerProblem, match="the port is taken"):
        proxies._run({}, ())
    script.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(proxies, "PATIENCE", 0.2)
    with pytest.raises(PeerProblem, match="took more than 0 s"):
        proxies._run({}, ())


def test_every_proxy_has_pins_for_its_package() -> None:
    for proxy in proxies.PROXIES.values():
        pins = environments.PEERS / f"{proxy.peer}.txt"
        if pins.exists():
            assert any(line.startswith(f"{proxy.package}==") for line in pins.read_text().splitlines())
        else:
            locked = json.loads((environments.PEERS / proxy.peer / "package-lock.json").read_text())
            assert locked["packages"][f"node_modules/{proxy.package}"]["version"]
