"""Originals behind handles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import NotFound
from brim.mcp.results.archive import MemoryStash
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.recall_tool import recall
from brim.mcp.wrapper.repeated_calls import Repeats


@given(st.text(st.characters(), max_size=200))
def test_what_is_put_is_got_back(text: str) -> None:
    stash = MemoryStash(file_from=50)
    assert stash.get(stash.put(text)) == text
    stash.close()


def test_handles_are_long_and_do_not_depend_on_the_text() -> None:
    stash = MemoryStash()
    first, second = stash.put("same"), stash.put("same")
    assert first != second
    assert len(first) == len("brim:") + 32


def test_the_oldest_make_room_in_memory_and_in_files() -> None:
    stash = MemoryStash(memory_bytes=100, file_bytes=1_000, file_from=60)
    small = [stash.put("a" * 50) for _ in range(3)]
    large = [stash.put("b" * 400) for _ in range(3)]
    assert stash.get(small[2]) == "a" * 50
    assert stash.get(large[2]) == "b" * 400
    for gone in (small[0], large[0]):
        with pytest.raises(NotFound, match="make room"):
            stash.get(gone)
    assert stash.put("c" * 2_000) == ""
    stash.close()


def test_recall_says_what_is_wrong_with_a_handle() -> None:
    stash = MemoryStash()
    text, error = recall(stash, {}, 100, count_tokens)
    assert error
    assert "handle is missing" in text
    text, error = recall(stash, {"handle": "brim:00"}, 100, count_tokens)
    assert error
    handle = stash.put("content")
    assert recall(stash, {"handle": handle.removeprefix("brim:")}, 100, count_tokens) == ("content", False)


def test_repeats_end_with_time() -> None:
    now = [0.0]
    repeats = Repeats(10.0, clock=lambda: now[0])
    key = repeats.key("tool", {"b": 1, "a": [{"d": 1, "c": 2}]})
    assert key == repeats.key("tool", {"a": [{"c": 2, "d": 1}], "b": 1})
    repeats.keep(key, {"content": []}, 10)
    now[0] = 11.0
    assert repeats.look(key) is None
    repeats.keep(key, {"content": [], "isError": True}, 10)
    assert repeats.look(key) is None
