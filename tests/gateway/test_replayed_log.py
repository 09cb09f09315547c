"""What the gateway logs with content can be replayed."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import brim
from brim.gateway.observe.logs import Lines
from tests.gateway.conftest import Start, long_chat


def test_a_log_with_content_is_replayed_as_the_requests_that_came(
    start: Start, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO)
    running = start(gateway={"log_content": True})
    talk = long_chat(30)
    for end in range(2, len(talk) + 1, 10):
        assert running.chat({"messages": talk[:end]}, x_brim_budget="3000", x_brim_session="desk").status == 200
    running.settled()
    lines = Lines(running.gateway.redact)
    (tmp_path / "brim.log").write_text("\n".join(map(lines.format, caplog.records)) + "\n")
    found = brim.replay(tmp_path / "brim.log", budget=3_000)
    assert (found.requests, found.conversations, found.problems) == (7, 1, ())
    last = running.gateway.journal.recent[-1]
    assert found.outcomes[0].tokens_before == sum(turn.before for turn in running.gateway.journal.recent)
    assert last.changed
    assert (found.outcomes[0].over_after, found.outcomes[0].refused) == (0, 0)
