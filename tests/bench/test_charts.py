"""Charts and the summary are made of the numbers beside them, the same each time, and show who is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import charts
import pytest
import record
import summary
import svg

SVG = "{http://www.w3.org/2000/svg}"


def way(name: str, kept: float, prefix: float, over: float = 0.0, **more: Any) -> dict[str, Any]:
    wrong = {"steps over": over, "invalid": 0.0, "refused": 0.0, "newest message lost": 0.0}
    return {
        "who": name,
        "set": "tau",
        "tool-only values kept, tuned": kept,
        "tool-only values kept, untouched": kept - 0.1,
        "prefix reuse": prefix,
        "values": 10,
        **wrong,
        **more,
    }


ROWS = [
    way("Brim session", 0.9, 0.8),
    way("Brim session", 0.7, 0.6, set="livemcp"),
    way("Cutter trim", 0.3, 0.7),
    way("Squeezer", 0.99, 0.9, over=0.8),
    {"who": "Absent", "set": "not installed: no wheel"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    about = {
        "command": "brim bench values --data DIR",
        "date": "2026-01-02",
        "machine": "one",
        "versions": {"cutter": "3.1"},
    }
    record.write(tmp_path, "values", {**about, "tables": {"25": ROWS}})
    return tmp_path


def texts(picture: str) -> list[str]:
    return ["".join(found.itertext()) for found in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_the_values_chart_shows_each_way_at_its_mean_and_marks_those_that_do_not_hold_the_window(folder: Path) -> None:
    picture = charts.drawn(folder)["values.svg"]
    said = texts(picture)
    assert "Brim session" in said
    assert "Cutter trim" in said
    assert any(text.startswith("Squeezer") and "80% not held" in text for text in said)
    described = ElementTree.fromstring(picture).find(f"{SVG}desc")
    assert described is not None
    assert "Brim session 70% kept, 70% reused" in str(described.text)
    assert len(re.findall('class="over" cx', picture)) == 2  # the point and the legend


def test_a_chart_that_does_not_show_its_numbers_is_stale(folder: Path) -> None:
    assert charts.stale(folder) == ["values.svg"]
    charts.write(folder)
    assert charts.stale(folder) == []
    assert charts.drawn(folder) == charts.drawn(folder)
    measured = json.loads((folder / "values.json").read_text())
    measured["tables"]["25"][0]["prefix reuse"] = 0.1
    record.write(folder, "values", measured)
    assert charts.stale(folder) == ["values.svg"]


def test_bars_say_why_there_is_no_number_and_never_leave_the_page() -> None:
    bars = [
        svg.Bar("Brim fit", 120.0, "ours"),
        svg.Bar("Slow & old", 98_765.0, "over", "12 turns not held"),
        svg.Bar("Gone", None, "held", "not installed: no <wheel>"),
    ]
    picture = svg.bars("Time", "How long", bars, "ms", log=True)
    assert "98,765 · 12 turns not held" in texts(picture)
    assert "not installed: no <wheel>" in texts(picture)
    for bar in ElementTree.fromstring(picture).iter(f"{SVG}rect"):
        if bar.get("class") != "paper":
            assert float(str(bar.get("x"))) + float(str(bar.get("width"))) < svg.WIDTH


def test_names_of_points_in_one_place_do_not_cover_each_other() -> None:
    points = [svg.Point(f"library number {n}", 0.5 + n / 200, 0.5, "held") for n in range(4)]
    picture = svg.scatter("t", "d", points, ("x", "y"), [])
    found = [one for one in ElementTree.fromstring(picture).iter(f"{SVG}text") if "library" in str(one.text)]
    boxes = [box_of(one) for one in found]
    assert len(boxes) == 4
    assert not any(one.overlap(other) for one in boxes for other in boxes if one is not other)


def box_of(text: ElementTree.Element) -> svg.Box:
    x, y, wide = float(str(text.get("x"))), float(str(text.get("y"))), svg.width_of(str(text.text))
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[str(text.get("text-anchor"))]
    return svg.Box(left, y - 11, left + wide, y + 2)


def test_the_summary_has_the_best_within_the_budget_and_the_best_of_all_on_untouched_data(folder: Path) -> None:
    made = summary.made(folder)
    assert made is not None
    kept, other, prefix = made["tables"]["table"]
    assert (kept["Brim"], kept["Brim, tuned data"]) == ("0.8", "0.9")
    assert (other["Brim"], other["best overall"]) == ("0.6", "none")
    assert (kept["best within the budget"], kept["best overall"]) == ("0.2 (Cutter trim)", "0.89 (Squeezer)")
    assert (prefix["Brim, tuned data"], prefix["best within the budget"]) == ("", "0.7 (Cutter trim)")
    assert made["tables"]["versions"] == [{"library": "cutter", "version": "3.1"}]


def test_a_better_number_of_another_library_stands_in_the_summary() -> None:
    rows = [{"who": "Brim fit", "ms": 100.0}, {"who": "Cutter", "ms": 3.0}, {"who": "Absent", "ms": "not installed"}]
    assert summary.best(rows, "ms", low=True) == "3 (Cutter)"
    assert summary.best(rows[:1], "ms") == "none"


def test_there_is_no_summary_without_numbers(tmp_path: Path) -> None:
    assert summary.made(tmp_path) is None
    summary.write(tmp_path)
    assert list(tmp_path.iterdir()) == []
