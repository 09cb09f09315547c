"""Originals behind handles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import NotFound
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.recall_tool import recall
from brim.mcp.wrapper.repeated_calls import Repeats


@given(st.text(st.characters(), max_size=200))
def test_what_is_put_is_got_back(text: str) -> None:
    archive = MemoryArchive(file_from=50)
    assert archive.get(archive.put(text)) == text
    archive.close()


def test_handles_are_long_and_do_not_depend_on_the_text() -> None:
    archive = MemoryArchive()
    first, second = archive.put("same"), archive.put("same")
    assert first != second
    assert len(first) == len("brim:") + 32


def test_the_oldest_make_room_in_memory_and_in_files() -> None:
    archive = MemoryArchive(memory_bytes=100, file_bytes=1_000, file_from=60)
    small = [archive.put("a" * 50) for _ in range(3)]
    large = [archive.put("b" * 400) for _ in range(3)]
    assert archive.get(small[2]) == "a" * 50
    assert archive.get(large[2]) == "b" * 400
    for gone in (small[0], large[0]):
        with pytest.raises(NotFound, match="make room"):
            archive.get(gone)
    assert archive.put("c" * 2_000) == ""
    archive.close()


def test_recall_says_what_is_wrong_with_a_handle() -> None:
    archive = MemoryArchive()
    text, error = recall(archive, {}, 100, count_tokens)
    assert error
    assert "handle is missing" in text
    text, error = recall(archive, {"handle": "brim:00"}, 100, count_tokens)
    assert error
    handle = archive.put("content")
    assert recall(archive, {"handle": handle.removeprefix("brim:")}, 100, count_tokens) == ("content", False)


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
