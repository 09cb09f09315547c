"""Tasks over many records: the same results with any number of processes, with what is broken told and left out."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

import brim
from brim.batch import ChunkResult, CompactTask, CountTask, LeftOut, ResultRow, run
from brim.batch.chunks import chunks, records
from brim.errors import BadInput, BadSetting


def write(path: Path, lines: Iterable[object]) -> str:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
    return str(path)


def bodies(number: int) -> list[object]:
    text = "the blue crates of pier "
    return [{"model": "gpt-4o", "messages": [{"role": "user", "content": text * (n % 9 + 1)}]} for n in range(number)]


def flat(found: Iterable[ChunkResult]) -> tuple[list[ResultRow], list[LeftOut]]:
    listed = list(found)
    return [row for one in listed for row in one.rows], [problem for one in listed for problem in one.left_out]


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
def test_every_line_belongs_to_one_chunk_wherever_chunks_end(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\n\n"two"\r\n' + b"x" * 50 + b"\n3")
    found = [record for chunk in chunks([str(path)], size) for _, record in records(chunk) if record]
    assert found == [b'{"a":1}', b'"two"', b"x" * 50, b"3"]


def test_two_processes_find_what_one_finds_in_the_same_order(tmp_path: Path) -> None:
    lines = bodies(60)
    lines[7] = '{"messages": [}'
    lines[40] = {"note": "no request"}
    files = [write(tmp_path / "a.jsonl", lines), write(tmp_path / "b.jsonl", ["", *bodies(20)])]
    alone = flat(run(CountTask(), files, jobs=1, chunk=900))
    shared = flat(run(CountTask(), files, jobs=2, chunk=900))
    assert shared == alone
    rows, left_out = alone
    assert [row["tokens"] for row in rows[:3]] == [brim.count(body).tokens for body in lines[:3]]
    assert [(Path(one.file).name, one.line) for one in left_out] == [("a.jsonl", 8), ("a.jsonl", 41)]
    assert [(Path(row["file"]).name, row["line"]) for row in rows[-20:]] == [("b.jsonl", n) for n in range(2, 22)]


@dataclass(frozen=True)
class DiesOnce:
    """Kills its process at the first record it sees, and never again."""

    mark: Path
    columns = {"length": "int64"}  # noqa: RUF012

    def __call__(self, record: bytes) -> ResultRow:
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"length": len(record)}


def test_the_share_of_a_killed_process_is_done_again(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", bodies(40))
    rows, left_out = flat(run(DiesOnce(tmp_path / "mark"), [file], jobs=2, chunk=500))
    assert (tmp_path / "mark").exists()
    assert [row["length"] for row in rows] == [len(json.dumps(one)) for one in bodies(40)]
    assert not left_out


def test_models_of_the_settings_are_known_to_every_process(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", ['"some words"', '"some words"'])
    described = {"house-model": {"window": 9000, "family": "o200k"}}
    rows, left_out = flat(run(CountTask("house-model"), [file], jobs=2, described=described, chunk=8))
    assert [row["tokens"] for row in rows] == [2, 2]
    assert not left_out


def test_an_error_of_another_process_is_raised_as_it_was_there(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", ['"some words"', '"some words"'])
    with pytest.raises(BadSetting, match=r"models\.mine\.colour: is not one of") as raised:
        list(run(CountTask("gpt-4o"), [file], jobs=2, described={"mine": {"colour": 1}}, chunk=8))
    assert raised.value.name == "models.mine.colour"


def test_a_field_is_compacted_as_its_text_or_as_its_json(tmp_path: Path) -> None:
    table = [{"id": n, "state": "open", "owner": "ops"} for n in range(30)]
    file = write(tmp_path / "a.jsonl", [{"text": table}, {"text": json.dumps(table)}, {"other": 1}, [1]])
    rows, left_out = flat(run(CompactTask(field="text"), [file], jobs=1))
    assert [brim.decode(row["text"]) for row in rows] == [table, table]
    assert rows[0]["tokens"] < brim.count(json.dumps(table), model="gpt-4o").tokens
    assert [one.problem for one in left_out] == [
        "has no field 'text': it has 'other'",
        "is no JSON object, so it has no field 'text'",
    ]


def test_a_packed_file_says_how_to_unpack_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(BadInput, match="gzip -d"):
        list(run(CountTask(), [str(tmp_path / "a.jsonl.gz")], jobs=1))
