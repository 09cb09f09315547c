"""Numbers in pages are those of the benchmarks: tables, single numbers, charts and the summary."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
if str(ROOT / "scripts") not in sys.path:
    sys.path.append(str(ROOT / "scripts"))

from doccheck import measured, numbers  # noqa: E402

ABOUT = {"command": "brim bench fit --data DIR", "date": "2026-01-02", "machine": "one", "versions": {"brim": "1"}}
MARK = "<!-- number:fit/shapes/Brim fit/held, of 6 -->"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs/benchmarks").mkdir(parents=True)
    (tmp_path / "bench").symlink_to(ROOT / "bench")
    write(tmp_path, 6)
    return tmp_path


def write(project: Path, held: int) -> None:
    rows = [{"who": "Brim fit", "held, of 6": held}, {"who": "Other", "held, of 6": 2}]
    (project / "docs/benchmarks/fit.json").write_text(json.dumps({**ABOUT, "tables": {"shapes": rows}}))


def refreshed(project: Path, text: str) -> tuple[str, list[str]]:
    told: list[str] = []
    return numbers.refreshed(project, text, told.append), told


def test_a_number_in_a_sentence_is_the_measured_one(project: Path) -> None:
    assert refreshed(project, f"It holds {MARK}5<!-- /number --> of six.\n") == (
        f"It holds {MARK}6<!-- /number --> of six.\n",
        [],
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!-- number:fit/shapes/Nobody/held, of 6 -->5<!-- /number -->", "has no 'held, of 6' of 'Nobody'"),
        ("<!-- number:gone/shapes/Brim fit/held, of 6 -->5<!-- /number -->", "there is no gone.json"),
        (f"{MARK}5\n", "has no end"),
        ("<!-- number:fit/shapes -->5<!-- /number -->", "does not name file, table, row and column"),
    ],
)
def test_a_number_that_cannot_be_found_is_told_and_left(project: Path, text: str, problem: str) -> None:
    fresh, told = refreshed(project, text)
    assert fresh == text
    assert problem in told[0]


def test_a_table_is_shown_with_the_command_that_made_it(project: Path) -> None:
    fresh, told = refreshed(project, "<!-- numbers:fit/shapes -->\n<!-- /numbers -->\n")
    assert told == []
    assert "| Other | 2 |" in fresh
    assert "`brim bench fit --data DIR` · 2026-01-02 · one" in fresh


def test_a_chart_or_summary_of_other_numbers_is_told_until_it_is_written(project: Path) -> None:
    found = list(measured.stale(project, write=False))
    assert any("summary.json" in problem for problem in found)
    assert any("shapes.svg" in problem for problem in found)
    assert list(measured.stale(project, write=True)) == []
    assert list(measured.stale(project, write=False)) == []
    write(project, held=3)
    assert len(list(measured.stale(project, write=False))) == 2


def test_the_summary_names_the_best_of_the_others(project: Path) -> None:
    list(measured.stale(project, write=True))
    made: dict[str, Any] = json.loads((project / "docs/benchmarks/summary.json").read_text())
    assert made["tables"]["table"][0]["best overall"] == "2 (Other)"
