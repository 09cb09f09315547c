"""`brim bench` runs what is asked for, writes where it should, and says what is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import benchmarks
import datasets
import pytest

import brim
from brim.cli import main
from brim.cli.bench import suite as found_suite


def test_the_list_names_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(benchmarks.BENCHMARKS)
    assert {"meaning", "content", "scale"} <= set(listed)


def test_every_benchmark_says_on_what_data_it_is_measured() -> None:
    assert [name for name in benchmarks.BENCHMARKS if not datasets.data_of(name, "any")] == []


def test_an_unknown_name_or_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "speling", "--data", str(tmp_path)]) == 2
    assert "no benchmark speling" in " ".join(capsys.readouterr().err.split())
    assert main(["bench", "fit", "--data", str(tmp_path / "none")]) == 2
    assert "where the data is published" in " ".join(capsys.readouterr().err.split())


def test_outside_a_checkout_the_error_says_where_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brim, "__file__", str(tmp_path / "lib/site-packages/brim/__init__.py"))
    with pytest.raises(brim.NotFound, match="clone the repository and run `make bench DATA=DIR`"):
        found_suite()


def test_brim_alone_is_measured_without_data_and_written_with_its_circumstances(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    asked = ["bench", "fit", "values", "--data", str(data), "--quick", "--no-peers", "--only", "shapes,25"]
    assert main([*asked, "--out", str(out)]) == 0
    assert "Brim session" in capsys.readouterr().out
    measured = json.loads((out / "fit.json").read_text())
    assert measured["command"] == "brim bench fit --data DIR --quick --no-peers --only shapes,25"
    assert {"date", "machine", "versions", "seconds"} <= measured.keys()
    assert measured["versions"]["brim"] == brim.__version__
    assert [row["held, of 6"] for row in measured["tables"]["shapes"]] == [6, 6]
    assert json.loads((out / "values.json").read_text())["tables"]["25"] == []
    assert (out / "shapes.svg").exists()


def test_a_part_of_a_benchmark_is_not_written_over_the_published_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = found_suite().parent / "docs/benchmarks"
    before = {path.name: path.stat().st_mtime_ns for path in published.iterdir()}
    assert main(["bench", "values", "--data", str(tmp_path), "--no-peers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"]["tables"].keys() == {"25", "50", "brim"}
    assert before == {path.name: path.stat().st_mtime_ns for path in published.iterdir()}


def test_brim_can_be_measured_anew_beside_rows_of_others_that_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = {"who": "Other trim", "held, of 6": 2}
    old = {"versions": {"other": "3.1"}, "tables": {"shapes": [{"who": "Brim fit", "held, of 6": 0}, others]}}
    (tmp_path / "fit.json").write_text(json.dumps(old))
    asked = ["bench", "fit", "--data", str(tmp_path), "--quick", "--ours", "--only", "shapes", "--out", str(tmp_path)]
    assert main(asked) == 0
    measured = json.loads((tmp_path / "fit.json").read_text())
    assert [row["held, of 6"] for row in measured["tables"]["shapes"]] == [6, 2, 6]
    assert measured["versions"]["other"] == "3.1"
    assert "--ours" in measured["command"]


def test_one_table_measured_anew_leaves_the_others_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill = [{"who": "Other trim", "requests": 3}]
    earlier = {"versions": {"commit": "abc"}, "date": "2026-01-02", "machine": "one", "tables": {"fill": fill}}
    (tmp_path / "fit.json").write_text(json.dumps(earlier))
    asked = ["bench", "fit", "--data", str(tmp_path), "--quick", "--no-peers", "--only", "shapes"]
    assert main([*asked, "--out", str(tmp_path)]) == 0
    measured = json.loads((tmp_path / "fit.json").read_text())
    assert list(measured["tables"]) == ["shapes", "fill"]
    assert measured["tables"]["fill"] == fill
    assert measured["runs"]["fill"] == {"date": "2026-01-02", "machine": "one", "commit": "abc"}
    assert measured["runs"]["shapes"]["date"] != "2026-01-02"


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A benchmark of two tables, of which the second does what it is told; and how often each was measured."""
    told: dict[str, Any] = {"first": 0, "second": 0, "raises": None}

    def first() -> list[Any]:
        told["first"] += 1
        return [{"who": "Brim fit", "n": told["first"]}]

    def second() -> list[Any]:
        told["second"] += 1
        if told["raises"]:
            raise told["raises"]
        return [{"who": "Brim fit", "n": 1}]

    monkeypatch.setitem(benchmarks.BENCHMARKS, "made", ("made up", lambda run: {"first": first, "second": second}))
    yield told
    sys.modules.pop("suite", None)


def bench_made(tmp_path: Path, *flags: str) -> int:
    return main(["bench", "made", "--data", str(tmp_path), "--no-peers", "--out", str(tmp_path / "out"), *flags])


def test_a_table_that_fails_is_a_row_with_the_reason_and_the_others_are_written(
    tmp_path: Path, made_up: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    made_up["raises"] = KeyError("odd")
    assert bench_made(tmp_path) == 1
    tables = json.loads((tmp_path / "out/made.json").read_text())["tables"]
    assert tables["first"] == [{"who": "Brim fit", "n": 1}]
    assert tables["second"] == [{"who": "none", "problem": "failed: KeyError: 'odd'"}]
    assert "in second" in capsys.readouterr().err


def test_a_part_of_brims_own_table_that_fails_leaves_the_others_their_rows(tmp_path: Path) -> None:
    def broken() -> list[Any]:
        raise ZeroDivisionError("no rounds")

    parts = {
        "broken": broken,
        "gone": lambda: (tmp_path / "set.jsonl").read_text(),
        "good": lambda: [("share", 0.5, ">= 0.4")],
    }
    with benchmarks.Field(tmp_path, peers=False, tell=lambda said: None) as field:
        rows = benchmarks._own(benchmarks.Run(tmp_path, field, True), parts)()  # type: ignore[arg-type]
    assert [row["value"] for row in rows] == ["failed: ZeroDivisionError: no rounds", "no set.jsonl", "0.5"]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, made_up: dict[str, Any]) -> None:
    made_up["raises"] = KeyboardInterrupt()
    assert bench_made(tmp_path) == 130
    with (tmp_path / "out/.unfinished.jsonl").open("a") as file:
        file.write('{"benchmark": "made", "tab')  # it was ended while it wrote
    made_up["raises"] = None
    assert bench_made(tmp_path, "--resume") == 0
    assert (made_up["first"], made_up["second"]) == (1, 2)
    assert json.loads((tmp_path / "out/made.json").read_text())["tables"]["first"] == [{"who": "Brim fit", "n": 1}]
    assert not (tmp_path / "out/.unfinished.jsonl").exists()
    assert bench_made(tmp_path, "--resume") == 0
    assert made_up["first"] == 2


def test_a_run_with_other_flags_does_not_take_what_an_interrupted_one_measured(
    tmp_path: Path, made_up: dict[str, Any]
) -> None:
    made_up["raises"] = KeyboardInterrupt()
    bench_made(tmp_path)
    made_up["raises"] = None
    assert bench_made(tmp_path, "--quick", "--resume") == 0
    assert made_up["first"] == 2
