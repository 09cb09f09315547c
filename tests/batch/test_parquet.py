"""Parquet in and out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import brim
from brim.batch import CountTask, run
from brim.batch.chunks import chunks
from brim.cli import main
from brim.errors import BadInput, MissingExtra

pyarrow = pytest.importorskip("pyarrow", reason="pip install 'brim[batch]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'brim[batch]'")

MESSAGES = [
    {"role": "user", "content": "How deep is the harbour?"},
    {"role": "assistant", "content": "Nine metres.", "name": "pilot"},
    {"role": "user", "content": "At low tide?"},
]


def table(path: Path, rows: list[dict[str, object]], group: int = 3) -> str:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=group)
    return str(path)


def test_requests_in_rows_count_like_the_same_in_lines(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"model": "gpt-4o", "messages": MESSAGES[:end]} for end in (1, 3, 1, 3, 3, 1, 3)]
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = table(tmp_path / "a.parquet", rows)
    found = [row for one in run(CountTask(), [file], jobs=1) for row in one.rows]
    expected = [row for one in run(CountTask(), [str(lines)], jobs=1) for row in one.rows]
    assert [row["tokens"] for row in found] == [row["tokens"] for row in expected]
    assert [row["line"] for row in found] == [1, 2, 3, 4, 5, 6, 7]


def test_row_groups_share_the_bytes_of_their_file(tmp_path: Path) -> None:
    file = table(tmp_path / "a.parquet", [{"text": "word " * n} for n in range(10)])
    listed = list(chunks([file]))
    assert [one.row_group for one in listed] == [0, 1, 2, 3]
    assert sum(one.size for one in listed) == Path(file).stat().st_size


def test_results_go_into_a_folder_as_parquet_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f"the pump of pier {n} is broken\n" * 50 for n in range(7)]
    table(tmp_path / "a.parquet", [{"text": text} for text in texts])
    command = ["compact", "--lines", "a.parquet", "--field", "text", "-b", "40", "--out", "there", "--jobs", "1"]
    assert main(command) == 0
    written = [row for file in sorted(Path("there").iterdir()) for row in parquet.read_table(file).to_pylist()]
    assert [row["text"] for row in written] == [brim.compact(text, 40).text for text in texts]
    assert [row["line"] for row in written] == [1, 2, 3, 4, 5, 6, 7]
    assert main(command) == 2
    assert "holds results already" in capsys.readouterr().err


def test_a_parquet_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    file = table(tmp_path / "a.parquet", [{"text": "word"}])
    whole = Path(file).read_bytes()
    Path(file).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match="written to its end"):
        list(run(CountTask(), [file], jobs=1))


def test_without_its_package_parquet_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = table(tmp_path / "a.parquet", [{"text": "word"}])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "brim.replays.parquet_rows", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'brim\[batch\]'"):
        list(run(CountTask(), [file], jobs=1))
