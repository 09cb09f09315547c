"""A report names the extra that would have changed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import brim
from brim import fitting
from brim.content import extras

CODE = "import os\n\n" + "".join(
    f"def work_{n}(order, amount):\n    total = amount * {n}\n    return order.close(total, note='step {n}')\n\n"
    for n in range(120)
)
PAGE = (
    "<!doctype html><html><body><nav>menu</nav><article><h1>Harbour</h1>"
    + "<p>The berth fee rises with the tide and the draught.</p>" * 160
    + "</article></body></html>"
)


def chat(text: str) -> list[dict[str, Any]]:
    """An old result, and a question long after it."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    filler = [{"role": role, "content": f"{role} {n} " * 40} for n in range(6) for role in ("user", "assistant")]
    old = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": text}]
    return [{"role": "user", "content": "look"}, *old, *filler, {"role": "user", "content": "and now?"}]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation without extras, as far as the report can see."""
    monkeypatch.setattr(extras, "find_spec", lambda package: None)
    extras.missing.cache_clear()
    yield
    extras.missing.cache_clear()


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(("kind", "text"), [("code", CODE), ("html", PAGE)])
def test_a_missing_extra_is_named_where_it_would_have_changed_the_result(kind: str, text: str) -> None:
    told = brim.fit(chat(text), model="gpt-4o", budget=2_000).report.warnings
    assert [one for one in told if "extra" in one] == [
        f"the extra `{kind}` is not installed, so {extras.missing()[kind]}: pip install 'brim[{kind}]'"
    ]


@pytest.mark.usefixtures("bare")
def test_the_log_says_it_once_and_every_report_says_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "_advised", set())
    for _ in range(3):
        assert brim.fit(chat(CODE), model="gpt-4o", budget=2_000).report.warnings
    assert sum("is not installed" in record.message for record in caplog.records if record.levelname == "WARNING") == 1


@pytest.mark.usefixtures("bare")
def test_nothing_is_said_of_extras_that_would_change_nothing() -> None:
    assert brim.fit(chat("a plain word " * 900), model="gpt-4o", budget=2_000).report.warnings == ()


def test_nothing_is_said_where_every_extra_is_installed() -> None:
    assert extras.missing() == {}
    assert brim.fit(chat(CODE), model="gpt-4o", budget=2_000).report.warnings == ()
