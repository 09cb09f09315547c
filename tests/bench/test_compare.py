"""A run is compared with an earlier one: what got worse comes first, and times are nobody's quality."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import compare
from rich.console import Console


def run(**more: Any) -> dict[str, Any]:
    row = {"who": "Brim fit", "kept at 10%, untouched": 0.9, "requests over": 0.0, "CPU ms": 3.0, **more}
    own = {"metric": "failing / exceptions at 500", "value": "0.9 / 1.0 (12 logs)", "bar": ">= .9", "met": "yes"}
    return {"evidence": {"tables": {"questions": [row], "brim": [own]}}}


def test_what_is_worse_comes_before_what_is_better_and_the_same_is_not_told() -> None:
    now = run(**{"kept at 10%, untouched": 0.95, "requests over": 0.2, "CPU ms": 90.0})
    worse, better = compare.changes(run(), now)
    assert worse.worse
    assert str(worse) == "evidence questions, Brim fit, requests over: 0 -> 0.2"
    assert not better.worse
    assert compare.changes(run(), run()) == []


def test_every_number_of_a_cell_is_compared_and_its_remark_is_not() -> None:
    now = run()
    now["evidence"]["tables"]["brim"][0]["value"] = "0.9 / 0.8 (13 logs)"
    [change] = compare.changes(run(), now)
    assert (change.before, change.after, change.worse) == (1.0, 0.8, True)


def test_a_row_of_other_samples_is_not_compared() -> None:
    assert compare.changes(run(questions=12), run(questions=8, **{"kept at 10%, untouched": 0.1})) == []


def test_a_kept_run_is_what_later_ones_are_compared_with(tmp_path: Path) -> None:
    kept = tmp_path / "quick.json"
    compare.keep(kept, run(), {"date": "2026-01-02", "machine": "one", "commit": "abc"})
    out = io.StringIO()
    compare.tell(Console(file=out, width=200), kept, run(**{"kept at 10%, untouched": 0.7}))
    assert "quick.json of 2026-01-02 (abc)" in out.getvalue()
    assert "1 worse by more than 1%, 0 better" in out.getvalue()
