"""A crash at any moment loses at most the turn that was being written."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.memory_parts.crash import crash


@pytest.mark.timeout(120)
def test_writers_killed_at_random_lose_no_acknowledged_turn(tmp_path: Path) -> None:
    found = crash(tmp_path / "brim.db", 16, seed=1)
    assert found.problems == []
    assert (found.kills, found.corrupt, found.lost) == (16, 0, 0)
    assert found.acknowledged > 100
