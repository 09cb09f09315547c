"""A tool chat of 40 turns in a window of 20,000 tokens: what sessions promise, all at once."""

from __future__ import annotations

import pytest

from bench.memory_parts import chat


@pytest.mark.parametrize("seed", [7, 11])
def test_a_long_tool_chat_stays_in_its_window_its_cache_and_its_price(seed: int) -> None:
    found = chat.simulate(chat.tool_chat(seed))
    assert found.over == 0
    assert found.hits >= 0.55
    assert found.cost <= 295_000
    assert found.lost == []
