"""Results within their limits, whatever is in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.mcp.options import LEVELS, Level, WrapperOptions
from brim.mcp.results.archive import MemoryArchive
from brim.mcp.results.compacting import count_tokens
from brim.mcp.results.meta_budgets import RESULT_KEY, ResultBudget, budget_of, is_read_only, is_round_trip
from brim.mcp.results.session_fill import FillSession, FillSessions
from brim.mcp.results.within_budget import ResultLimits, fit_result

TEXTS = st.one_of(
    st.text(max_size=300),
    st.builds(lambda n: "\n".join(f"2026-01-0{i % 9 + 1} ERROR {i} failed" for i in range(n)), st.integers(0, 400)),
    st.builds(
        lambda n: json.dumps([{"id": f"x{i}", "name": f"n{i}", "ok": i % 2 == 0} for i in range(n)]),
        st.integers(0, 200),
    ),
)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(lambda text: {"type": "text", "text": text, "annotations": {"priority": 1}}, TEXTS),
    st.builds(lambda text: {"type": "resource", "resource": {"uri": "file:///a", "text": text}}, TEXTS),
    st.just({"type": "image", "data": "aGk=", "mimeType": "image/png"}),
    st.just({"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk="}}),
    st.just({"type": "something_new", "value": [1, 2]}),
)


def text_in(block: dict[str, Any]) -> str | None:
    held = block.get("resource", block) if block.get("type") in ("text", "resource") else {}
    return held.get("text")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(BLOCKS, max_size=4),
    st.sampled_from(LEVELS),
    st.integers(80, 900),
    st.one_of(st.none(), st.integers(200, 2_000)),
    st.sampled_from([None, {"rows": [1, 2, 3]}, {"result": "x" * 900}]),
)
def test_a_result_stays_valid_and_within_its_limits(
    blocks: list[dict[str, Any]], level: Level, tokens: int, chars: int | None, structured: Any
) -> None:
    archive = MemoryArchive()
    result: dict[str, Any] = {"content": blocks, "isError": False, "other": 1}
    if structured is not None:
        result["structuredContent"] = structured
    before = json.dumps(result)
    fitted = fit_result(result, ResultLimits(level, tokens, chars, True, True), "tool", archive)
    assert json.dumps(result) == before
    sent = fitted.result
    assert sent["other"] == 1
    if not fitted.changed:
        assert sent == result
        return
    assert "structuredContent" not in sent
    texts = [text for block in sent["content"] if (text := text_in(block)) is not None]
    assert sum(map(count_tokens, texts)) <= tokens
    if chars is not None:
        assert all(len(text) <= chars for text in texts)
    others = [block for block in blocks if text_in(block) is None]
    assert [block for block in sent["content"] if text_in(block) is None][: len(others)] == others
    for handle in sent["_meta"][RESULT_KEY]["handles"]:
        assert archive.get(handle)


def test_structured_content_that_the_text_does_not_say_is_put_into_the_text() -> None:
    archive = MemoryArchive()
    value = {"rows": [{"id": f"row-{i}", "note": "long " * 20} for i in range(200)]}
    result = {"content": [{"type": "text", "text": "200 rows found"}], "structuredContent": value}
    sent = fit_result(result, ResultLimits("minimal", 300, None, True, True), "tool", archive).result
    texts = [block["text"] for block in sent["content"] if block["type"] == "text"]
    assert texts[0] == "200 rows found"
    assert "row-0" in texts[1]
    assert sent["content"][-1]["type"] == "resource_link"
    assert json.loads(archive.get(sent["content"][-1]["uri"])) == value


def test_a_lossless_form_needs_no_handle() -> None:
    archive = MemoryArchive()
    rows = [{"identifier": i, "status": "open", "assignee": "nobody", "archived": False} for i in range(60)]
    result = {"content": [{"type": "text", "text": json.dumps(rows, indent=2)}]}
    fitted = fit_result(result, ResultLimits("standard", 4_000, None, True, True), "tool", archive)
    assert fitted.changed
    assert fitted.saved > 0
    assert fitted.result["_meta"][RESULT_KEY]["fidelity"] == "lossless"
    assert fitted.result["_meta"][RESULT_KEY]["handles"] == []


def test_known_shapes_take_their_short_form_and_say_where_the_rest_is() -> None:
    archive = MemoryArchive()
    hits = [
        {
            "hit_id": f"lexical:src/a{i}.py:{i}:0",
            "path": f"src/a{i}.py",
            "span": {"start_line": i, "start_col": 0, "end_line": i, "end_col": 0},
            "kind": "def",
            "symbol_id": f"name{i}",
            "preview_line": "def name():",
            "symbol": {"name": f"name{i}", "kind": "function", "qualified_name": None},
        }
        for i in range(30)
    ]
    text = json.dumps({"results": hits})
    result = {"content": [{"type": "text", "text": text}]}
    fitted = fit_result(result, ResultLimits("compact", 2_000, None, True, True), "search", archive)
    shown = fitted.result["content"][0]["text"]
    assert "start_col" not in shown
    assert "src/a29.py" in shown
    assert fitted.tokens < count_tokens(text) * 0.6
    assert archive.get(fitted.result["_meta"][RESULT_KEY]["handles"][0]) == text


def test_budgets_are_read_from_calls_and_tools() -> None:
    assert budget_of({"_meta": {"dev.brim/tokenBudget": 500}}, None) == ResultBudget(tokens=500)
    stated = {"dev.brim/tokenBudget": {"tokens": 9, "level": "minimal"}, "dev.brim/session": "s"}
    assert budget_of({"_meta": stated}, None) == ResultBudget(tokens=9, level="minimal", session="s")
    tool = {"_meta": {"anthropic/maxResultSizeChars": 70}}
    assert budget_of({}, tool) == ResultBudget(chars=70)
    assert budget_of({"_meta": {"anthropic/maxResultSizeChars": 50}}, tool) == ResultBudget(chars=50)
    for wrong in (True, -1, "many", None, {"tokens": 0, "level": "loud"}):
        assert budget_of({"_meta": {"dev.brim/tokenBudget": wrong}}, None) == ResultBudget()


def test_tools_declare_what_they_are() -> None:
    assert is_round_trip({"annotations": {"roundTripHint": True}})
    assert not is_round_trip({"annotations": None, "_meta": {"dev.brim/roundTrip": "yes"}})
    assert is_read_only({"annotations": {"readOnlyHint": True}})
    assert not is_read_only(None)


def test_the_level_falls_with_calls_or_with_tokens() -> None:
    session = FillSession(WrapperOptions(session_calls=100, session_tokens=1_000))
    seen: list[Level] = []
    for tokens in (0, 49, 1, 250, 400):
        session.count(tokens)
        seen.append(session.level)
    assert seen == ["full", "full", "standard", "compact", "minimal"]
    session = FillSession(WrapperOptions(session_calls=10))
    session.calls = 8
    assert session.level == "minimal"


def test_sessions_that_are_named_are_kept_apart_and_the_oldest_forgotten() -> None:
    sessions = FillSessions(WrapperOptions())
    sessions.of("a", modern=True).calls = 5
    assert sessions.of("a", modern=True).calls == 5
    assert sessions.of("b", modern=True).calls == 0
    for i in range(300):
        sessions.of(f"s{i}", modern=False)
    assert sessions.of("a", modern=True).calls == 0
    assert sessions.of("", modern=True) is not sessions.of("", modern=False)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800 lone", "x" * 200_000, "[" * 5_000, '{"a":' * 2_000])
def test_no_text_is_too_odd(text: str) -> None:
    for level in LEVELS:
        result = {"content": [{"type": "text", "text": text}]}
        fitted = fit_result(result, ResultLimits(level, 100, None, True, True), "tool", MemoryArchive())
        assert count_tokens(fitted.result["content"][0]["text"]) <= 100
