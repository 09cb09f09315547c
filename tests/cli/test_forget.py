"""`brim models --forget`: what was learnt of a vocabulary is not used any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from brim import apis
from brim.models import Model
from brim.stores.resilient import open_store
from brim.tokens.actuals import Actuals
from brim.tokens.counter import Counter
from tests.cli.conftest import Run

OWN = Model("harbor-1", "own", 32_000, None, "estimate", None, "openai_chat", "set by hand")
CHAT = apis.parse([{"role": "user", "content": "Which tide table is the newest? " * 40}])


def source(path: Path, scope: str) -> str:
    store = open_store(path)
    try:
        return Counter(OWN, "openai_chat", Actuals(store, scope)).count(CHAT).source
    finally:
        store.close()


def test_a_forgotten_model_is_counted_as_if_never_seen(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "learnt.db"
    monkeypatch.setenv("BRIM_STORE_PATH", str(path))
    store = open_store(path)
    for scope in ("one", "two"):
        assert Counter(OWN, "openai_chat", Actuals(store, scope)).record(CHAT, 329)
    store.close()
    assert source(path, "one") == "actual"
    done = run("models", "--forget", "harbor-1")
    assert (done.code, "estimate/harbor-1" in done.out) == (0, True)
    assert source(path, "one") == source(path, "two") == "estimated"


def test_there_is_nothing_to_forget_without_a_store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIM_STORE_PATH", str(tmp_path / "none.db"))
    done = run("models", "--forget", "gpt-4o")
    assert done.code != 0
    assert "no store" in done.err
