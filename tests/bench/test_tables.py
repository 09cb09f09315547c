"""Bars are judged, numbers are rounded, and what a table shows is what was measured."""

from __future__ import annotations

import io

import pytest
import table
from rich.console import Console


@pytest.mark.parametrize(
    ("value", "bar", "verdict"),
    [
        (0.2, "<= 0.3", True),
        (1, "0", False),
        ("0.9 / 0.6 (12 logs)", "≥ .8 / .7", False),
        ("0.9 / 0.8", "≥ .8 / .7", True),
        (3, "peer", None),
        ("-70.29 ms", "<= 10 ms", True),
        ("2-4 ms", "<= 3 ms", True),
        ("no data", ">= 1", None),
        ("3,114", "≥ 2,000", True),
        ("108,177", "≤ 110,000", True),
        ("1,234,567", "≤ 1,000,000", False),
        ("1,200", "1,000", False),
        ("0.28, 0.33, max 1.02", "≤ .30 total, ≤ .36 median, max ≤ 1", False),
        ("100.0%", "100%", True),
    ],
)
def test_a_bar_is_met_missed_or_not_set(value: table.Value, bar: str, verdict: bool | None) -> None:
    assert table.met(value, bar) is verdict


def test_rows_of_brim_alone_carry_their_verdict_and_the_missed_are_named() -> None:
    rows = table.judged([("recount, µs", 92.44, "<= 150"), ("growth", 14, "<= 12"), ("size", 5, "")])
    assert [row["met"] for row in rows] == ["yes", "no", ""]
    assert rows[0]["value"] == "92.44"
    assert table.missed({"brim": rows, "others": [{"who": "Brim", "kept": 1}]}) == ["growth"]


def test_numbers_are_rounded_and_words_are_not() -> None:
    assert table.rounded({"who": "Brim", "kept": 0.9123456, "of": 12345}) == {
        "who": "Brim",
        "kept": 0.9123,
        "of": 12345,
    }


def test_a_printed_table_has_every_row_and_every_column() -> None:
    out = io.StringIO()
    rows = [{"who": "Brim fit", "kept": 0.91}, {"who": "Other", "kept": "not installed: no wheel", "over": 3}]
    table.show(Console(file=out, width=120), "fit: shapes", rows)
    for text in ("fit: shapes", "Brim fit", "0.91", "not installed: no wheel", "over", "3"):
        assert text in out.getvalue()
