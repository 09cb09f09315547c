"""`brim count --lines` and `brim compact --lines`."""

from __future__ import annotations

import json
from pathlib import Path

import brim
from tests.cli.conftest import Run

BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "How deep is the harbour?"}]}


def test_requests_of_many_files_are_counted_and_broken_lines_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(BODY) + "\n{broken\n" + json.dumps(BODY) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps(BODY))
    done = run("count", "--lines", "*.jsonl", "--json", "--jobs", "2")
    size = brim.count(BODY).tokens
    assert done.json == {
        "tokens": 3 * size,
        "records": 3,
        "left_out": 1,
        "files": {"a.jsonl": {"records": 2, "tokens": 2 * size}, "b.jsonl": {"records": 1, "tokens": size}},
    }
    assert "left out: a.jsonl:2: is not JSON" in done.err
    assert f"{3 * size:,} tokens in 3 records" in run("count", "--lines", "a.jsonl", "b.jsonl").out


def test_texts_come_out_as_json_lines_in_their_order(run: Run, tmp_path: Path) -> None:
    texts = [f"line {n}: the pump is {n} years old\n" * 40 for n in range(5)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    done = run("compact", "--lines", "a.jsonl", "--field", "text", "--budget", "60")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["text"] for row in rows] == [brim.compact(text, 60).text for text in texts]
    assert all(row["tokens"] <= 60 for row in rows)


def test_wrong_use_of_many_records_says_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('"one"\n')
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n')
    assert "cannot share standard input" in run("count", "--lines").err
    assert "does not go with --lines" in run("compact", "--lines", "a.jsonl", "--explain").err
    assert "is a second file" in run("compact", "a.jsonl", "b.jsonl").err
    assert "holds no record that can be used" in run("count", "--lines", "b.jsonl", "-m", "gpt-4o").err
    assert "is not a number of processes" in run("count", "--lines", "a.jsonl", "--jobs", "0").err
    assert "without --lines" in run("count", "a.jsonl", "--out", "there", "-m", "gpt-4o").err
