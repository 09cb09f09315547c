"""The model that was used last at a provider is its default, also after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brim import cli
from brim.stores.resilient import open_store
from brim.testing import Fail, FakeProvider

from .conftest import Start

HI = [{"role": "user", "content": "hi"}]
ANN, BEN = {"authorization": "Bearer sk-ann-1"}, {"authorization": "Bearer sk-ben-2"}


def defaults(listed: Any) -> list[str]:
    return [entry["id"] for entry in listed["data"] if entry.get("is_default")]


def test_the_model_used_last_is_marked_in_its_providers_list_also_after_a_restart(
    start: Start, fake: FakeProvider, tmp_path: Path
) -> None:
    fake.models = ("gpt-4o", "gpt-4o-mini")
    path = tmp_path / "brim.db"
    first = start(store=open_store(path))
    first.chat({"messages": HI})
    first.chat({"messages": HI, "model": "gpt-4o-mini"})
    first.settled()
    assert defaults(first.ask("GET", "/v1/models", None, {"accept-encoding": "gzip"}).json) == ["gpt-4o-mini"]
    first.call(first.gateway.journal.close())

    again = start(store=open_store(path))
    told = again.get("/brim/v1/status")
    assert list(told["default_models"].values()) == ["gpt-4o-mini"]
    assert defaults(again.ask("GET", "/v1/models").json) == ["gpt-4o-mini"]


def test_a_model_that_the_provider_refused_is_no_default(start: Start, fake: FakeProvider) -> None:
    gateway = start()
    gateway.chat({"messages": HI})
    fake.script(Fail(404, "no such model"))
    gateway.chat({"messages": HI, "model": "gpt-4o-mini"})
    gateway.settled()
    assert list(gateway.get("/brim/v1/status")["default_models"].values()) == ["gpt-4o"]


def test_each_tenant_has_a_default_of_its_own(start: Start) -> None:
    gateway = start()
    for key, model in ((ANN, "gpt-4o"), (BEN, "gpt-4o-mini")):
        gateway.ask("POST", "/v1/chat/completions", {"messages": HI, "model": model}, key)
    gateway.settled()
    told = gateway.ask("GET", "/brim/v1/status", None, ANN).json
    assert list(told["default_models"].values()) == ["gpt-4o"]
    assert list(gateway.get("/brim/v1/status")["default_models"].values()) == ["gpt-4o-mini"]


def test_brim_models_marks_what_was_used_last(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "brim.db"
    config = tmp_path / "brim.toml"
    gateway = start(store=open_store(path))
    gateway.chat({"messages": HI})
    gateway.settled()
    provider = next(iter(gateway.get("/brim/v1/status")["default_models"]))
    config.write_text(f'[store]\npath = "{path}"\n[upstreams.{provider}]\nbase_url = "http://localhost:9/v1"\n')
    gateway.call(gateway.gateway.journal.close())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cli.main(["models", "gpt-4o*", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["name"] for row in rows if row["is_default"]} == {"gpt-4o"}
    assert cli.main(["models", "gpt-4o*"]) == 0
    assert f"* used last: gpt-4o at {provider}" in capsys.readouterr().out
