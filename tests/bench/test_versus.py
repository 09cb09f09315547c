"""The comparisons measure what they say, on small samples of their own and with Brim alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peer import PeerProblem
from versus import counting, extracts, footprint, kept, payloads, speed
from versus.ways import Field

TOPICS = "harbour orchard violin glacier lantern compass thimble saddle furnace marble".split()


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    with Field(Path("none"), peers=False, tell=lambda said: None) as entered:
        yield entered


def write(path: Path, rows: list[Any]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")


def by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["who"]: row for row in rows}


def test_evidence_is_found_where_it_is_in_the_request(field: Field, tmp_path: Path) -> None:
    said = [
        f"I saw the {TOPICS[n % 10]} number {n} near the old bridge, and thought about it all day long."
        for n in range(80)
    ]
    said[11] = "My sister Edda repairs zithers in Trondheim, she has done so for years."
    turns = [
        {"id": f"t{n}", "session": 1, "date": "1 May", "speaker": ("Ann", "Bo")[n % 2], "text": text}
        for n, text in enumerate(said)
    ]
    asked = [{"q": "What does Edda repair in Trondheim?", "ev": ["t11"], "cat": 4}, {"q": "x", "ev": ["t1"], "cat": 5}]
    write(tmp_path / "locomo10_min.jsonl", [{"id": 1, "turns": turns, "qa": asked}])
    rows = by_name(kept.evidence(field, tmp_path, 1, 5))
    assert rows["Brim fit"]["questions"] == 1
    assert [rows["Brim fit"][f"kept at {share}%, tuned"] for share in (5, 10, 25)] == [1.0, 1.0, 1.0]
    assert rows["Brim fit"]["requests over"] == 0.0
    assert rows["Brim session"]["requests over"] == 0.0


def test_values_that_later_calls_need_are_looked_up_in_what_is_sent(field: Field, tmp_path: Path) -> None:
    def call(number: int, **arguments: Any) -> dict[str, Any]:
        function = {"name": "find", "arguments": json.dumps(arguments)}
        return {
            "role": "assistant", "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        }  # fmt: skip

    def result(number: int) -> dict[str, Any]:
        rows = [{"order_id": f"ORD-{number}{n:03}", "note": f"{TOPICS[n % 10]} waits in hall {n}"} for n in range(30)]
        return {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(rows)}

    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go on."}]
    for number in range(6):
        messages += [call(number, page=number), result(number)]
    messages += [call(6, order_id="ORD-1004"), result(6), {"role": "assistant", "content": "Done."}]
    write(tmp_path / "tau_airline_gpt4o.jsonl", [{"id": "r", "messages": messages}])
    rows = by_name(kept.value_table(field, tmp_path, 50, {}))
    for name in ("Brim session", "Brim fit"):
        assert rows[name]["values"] == 1
        assert rows[name]["tool-only values kept, tuned"] == 1.0
        assert rows[name]["steps over"] == rows[name]["invalid"] == rows[name]["newest message lost"] == 0.0


def test_payloads_are_decoded_before_they_count_as_lossless(field: Field, tmp_path: Path) -> None:
    bodies = [[{"id": n, "name": f"item-{n}", "open": True} for n in range(size)] for size in (3, 40)]
    write(tmp_path / "json_tool_outputs.jsonl", [{"body": body} for body in bodies])
    [row] = payloads.table(field, tmp_path, None)
    assert row["payloads"] == 2
    assert row["decoded to the same, untouched"] == row["leaf values kept, tuned"] == 1.0
    assert row["identifiers kept, tuned"] == row["identifiers kept, untouched"] == 1.0
    assert row["tokens ÷ minified, tuned"] < 1


def test_counts_are_compared_with_what_the_api_reported(field: Field, tmp_path: Path) -> None:
    request = {"messages": [{"role": "user", "content": "hello"}]}
    vector = {"model": "gpt-4o", "encoding": "o200k_base", "api_verified": True, "request": request, "prompt_tokens": 8}
    wrong = {**vector, "prompt_tokens": 16}
    (tmp_path / "token_vectors.json").write_text(json.dumps({"openai_chat": [vector, wrong]}))
    [row] = counting.accuracy(field, tmp_path)
    assert row["exact, text (2)"] == 0.5
    assert row["counted too low"] == 0.5
    assert row["median error"] == 0.25


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ({"messages": [{"role": "user", "content": "hi"}]}, "text"),
        ({"messages": [], "functions": [{"name": "f"}]}, "tools"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, "images"),
    ],
)
def test_requests_are_sorted_by_what_is_in_them(request_: dict[str, Any], kind: str) -> None:
    assert counting.kind_of(request_) == kind


def test_missing_data_is_a_row_that_says_so(field: Field, tmp_path: Path) -> None:
    for rows in (
        kept.evidence(field, tmp_path, 1, 1),
        kept.spans(field, tmp_path, 1),
        payloads.table(field, tmp_path, None),
        counting.accuracy(field, tmp_path),
        extracts.tests(field, tmp_path),
        extracts.logs(field, tmp_path, None),
        extracts.chunks(field, tmp_path),
    ):
        assert [row["who"] for row in rows] == ["no data"]
        assert "no " in rows[0]["problem"]


def test_speed_is_told_for_first_fits_and_for_those_after_them(field: Field) -> None:
    [row] = speed.table(field, rounds=2, sizes=(40, 80))
    assert row["who"] == "Brim fit"
    assert row["40 messages, again, ms"] > 0
    assert row["80 messages, first, ms"] > 0
    assert row["growth, times"] > 0


def test_a_size_that_a_library_cannot_do_leaves_the_others_their_numbers(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = field.worker("brim")
    fit = worker.fit

    def small_only(messages: list[dict[str, Any]], budget: int) -> Any:
        if len(messages) > 60:
            raise PeerProblem("took more than 1 s")
        return fit(messages, budget)

    monkeypatch.setattr(worker, "fit", small_only)
    [row] = speed.table(field, rounds=1, sizes=(40, 80))
    assert row["40 messages, again, ms"] > 0
    assert row["80 messages, first, ms"] == "took more than 1 s"
    assert row["growth, times"] == "–"


def test_extracts_of_test_output_are_judged_by_the_failing_tests_in_them(field: Field, tmp_path: Path) -> None:
    passing = [f"tests/test_{topic}.py::test_{n} PASSED" for topic in TOPICS for n in range(40)]
    failing = ["tests/test_harbour.py::test_depth"]
    log = [*passing, f"FAILED {failing[0]} - ValueError: too deep", *passing[:200]]
    case = {"text": "\n".join(log), "failing": failing, "exceptions": ["ValueError: too deep"]}
    write(tmp_path / "test_output_logs.jsonl", [case])
    rows = by_name(extracts.tests(field, tmp_path))
    for name in ("Brim compact", "baseline: grep for errors, then the tail"):
        assert rows[name]["failing kept in 500 tokens, untouched"] == 1.0
        assert rows[name]["over"] == 0.0
    assert rows["baseline: the last lines"]["failing kept in 500 tokens, untouched"] == 0.0


def test_extracts_of_logs_are_judged_by_the_kinds_of_lines_in_them(field: Field, tmp_path: Path) -> None:
    lines = [f"2026-01-01 10:00:{n % 60:02} INFO parcel {n} was scanned in hall {n % 7}" for n in range(600)]
    lines[100] = "2026-01-01 10:00:40 ERROR the belt of hall 3 has stopped"
    events = ["E2" if n == 100 else "E1" for n in range(600)]
    levels = ["ERROR" if n == 100 else "INFO" for n in range(600)]
    write(tmp_path / "loghub_2k.jsonl", [{"lines": lines, "event": events, "level": levels}])
    rows = by_name(extracts.logs(field, tmp_path, None))
    for name in ("Brim compact", "baseline: one line a template"):
        assert rows[name]["templates kept at 5%, untouched"] == 1.0
        assert rows[name]["warnings and errors kept at 5%, untouched"] == 1.0
        assert rows[name]["templates kept at 5%, tuned"] == "–"
        assert rows[name]["over"] == 0.0
    assert rows["baseline: the last lines"]["templates kept at 5%, untouched"] == 0.5


def test_a_chunk_is_found_by_the_parts_of_the_identifiers_in_it(field: Field, tmp_path: Path) -> None:
    texts = [f"def read{topic.title()}Table(path): return open(path)  # {topic}" for topic in TOPICS]
    write(tmp_path / "coderag_chunks.jsonl", [{"text": text, "doc": "a.py"} for text in texts])
    write(tmp_path / "coderag_queries.jsonl", [{"q": "Where is the violin table read?", "gold": [2]}])
    rows = by_name(extracts.chunks(field, tmp_path))
    for name in ("Brim ranking", "baseline: BM25 with parts of identifiers"):
        assert rows[name]["found in 1,000 tokens, tuned"] == 1.0
    assert list(extracts.words("getUserById")) == ["getuserbyid", "get", "user", "by", "id"]


def test_memory_is_that_of_a_process_of_its_own(field: Field) -> None:
    rows = by_name(footprint.table(field, 60))
    for name in ("Brim session", "Brim fit"):
        assert 0 < rows[name]["loaded, MB"] <= rows[name]["peak with 60 messages, MB"]
