"""`brim usage`: by day and model, from a gateway or from the store."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from brim.stores.resilient import open_store
from brim.tokens.actuals import UsageRecord
from tests.cli.conftest import Run

NOWHERE = "BRIM_GATEWAY_PORT"
DAY = 86_400


@pytest.fixture
def used(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with requests of today and of ten days ago, and no gateway beside it."""
    path = tmp_path / "usage.db"
    monkeypatch.setenv("BRIM_STORE_PATH", str(path))
    monkeypatch.setenv(NOWHERE, "9")
    store = open_store(path)
    now = time.time()
    store.add_usages(
        [
            UsageRecord("a", now, "openai", "gpt-4o", 1_000, 1_100, 1_000_000, 1_000, 0, "success"),
            UsageRecord("b", now, "openai", "gpt-4o", 1_000, 1_100, None, None, 0, "failed"),
            UsageRecord("c", now, "local", "my-own", 50, 60, 50, 5, 25, "success"),
            UsageRecord("d", now - 10 * DAY, "openai", "gpt-4o", 10, 12, 10, 1, 0, "success"),
        ]
    )
    store.close()
    return path


@pytest.mark.usefixtures("used")
def test_usage_is_read_from_the_store_where_no_gateway_runs(run: Run) -> None:
    done = run("usage", "--json")
    assert done.code == 0
    rows = done.json["days"]
    assert [(row["model"], row["requests"], row["failed"]) for row in rows] == [
        ("gpt-4o", 2, 1),
        ("my-own", 1, 0),
        ("gpt-4o", 1, 0),
    ]
    assert rows[0]["cost_usd"] == pytest.approx(2.5 + 0.01)
    assert rows[1]["cost_usd"] is None
    assert done.json["total"]["requests"] == 4


@pytest.mark.usefixtures("used")
def test_days_and_model_choose_what_is_shown(run: Run) -> None:
    assert {row["model"] for row in run("usage", "--days", "3", "--json").json["days"]} == {"gpt-4o", "my-own"}
    assert len(run("usage", "--days", "3", "--json").json["days"]) == 2
    assert [row["requests"] for row in run("usage", "--model", "gpt-*", "--json").json["days"]] == [2, 1]
    assert "no request in the last 30 days to claude-*" in run("usage", "--model", "claude-*").out


@pytest.mark.usefixtures("used")
def test_usage_for_people_has_a_total(run: Run) -> None:
    lines = run("usage").out.splitlines()
    assert lines[-1].split()[:2] == ["total", "4"]
    assert any("my-own" in line and "50%" in line for line in lines)


@pytest.mark.usefixtures("used")
def test_a_gateway_that_is_named_and_does_not_run_is_not_replaced_by_the_store(run: Run) -> None:
    done = run("usage", "--url", "http://127.0.0.1:9")
    assert done.code == 1
    assert "no gateway answers at http://127.0.0.1:9" in done.err


def test_a_number_of_days_that_is_none_is_refused(run: Run) -> None:
    assert run("usage", "--days", "0").code == 2
