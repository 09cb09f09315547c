"""Numbers as people read them, HTML that escapes, and content taken out of values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.dashboard import charts, money, words
from brim.dashboard.data import without_text
from brim.dashboard.glossary import WORDS
from brim.dashboard.html import Html, address, el, text
from brim.models import Prices

from .asking import Seen


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (words.short(48_210_000), "48.2M"),
        (words.short(41_200), "41.2k"),
        (words.short(812), "812"),
        (words.short(999_999_999_999), "1000G"),
        (words.money(12.3), "$12.30"),
        (words.money(-0.00042), "−$0.0004"),
        (words.money(0.0), "$0.00"),
        (words.money(None), "–"),
        (words.share(0.834), "83%"),
        (words.share(0.0042), "0.4%"),
        (words.filled(0.8999), "89%"),
        (words.filled(0.9), "90%"),
        (words.filled(0.29), "29%"),
        (words.filled(1.2), "120%"),
        (words.signed(0.012), "+1.2%"),
        (words.signed(-0.5), "−50%"),
        (words.signed(-0.0001), "0%"),
        (words.milliseconds(1.234), "1.2 ms"),
        (words.milliseconds(4_200), "4.2 s"),
        (words.level("ok"), "comfortable"),
        (words.level("critical"), "critical: what cannot be shortened takes 90% and more"),
        (words.filling(0.75), "high, above 75%"),
        (words.filling(0.9), "full, above 90%"),
        (words.filling(1.01), "too much"),
        (words.plural(1, "message"), "1 message"),
        (words.plural(1_200, "message"), "1,200 messages"),
        (words.before_after(41_200, 7_930), "41,200 → 7,930"),
        (words.before_after(10, 10), "10"),
        (words.plain(True), "true"),
        (words.plain(("a", "ü")), '["a", "ü"]'),
    ],
)
def test_numbers_read_well(made: str, told: str) -> None:
    assert made == told


@pytest.mark.parametrize(("highest", "top"), [(0, 1), (1, 1), (91, 100), (0.27, 0.4), (378_000, 400_000), (7, 8)])
def test_a_chart_ends_at_a_round_value_above_its_highest_column(highest: float, top: float) -> None:
    assert charts.scale(highest) == pytest.approx(top)


def test_a_time_of_another_day_has_its_date() -> None:
    day = 86_400.0
    assert ">00:00:00<" in words.moment(20 * day, now=20 * day + 5)
    assert ">1970-01-21 00:00<" in words.moment(20 * day, now=25 * day)


@given(st.text(), st.text())
def test_text_and_attributes_come_back_as_they_were(inside: str, value: str) -> None:
    seen = Seen()
    seen.feed(el("p", inside, title=value))
    seen.close()
    assert [element.name for element in seen.elements] == ["p"]
    assert seen.elements[0].text.replace("\r\n", "\n") == inside.replace("\r\n", "\n")
    assert seen.elements[0].attributes["title"] == value


def test_only_what_is_marked_as_html_is_html() -> None:
    assert text(["<b>", Html("<br>"), None, False, 3]) == "&lt;b&gt;<br>3"
    assert el("input", required=True, value=None, data_x="a") == '<input required data-x="a">'


def test_addresses_keep_ids_in_their_segment() -> None:
    assert address("/brim", "sessions", "../x?y#z", "turns", 3) == "/brim/sessions/..%2Fx%3Fy%23z/turns/3"


def test_texts_are_replaced_by_their_sizes_at_any_depth() -> None:
    turn = {"after": [{"role": "user", "text": "hello"}], "report": {"decisions": [{"item": "a", "preview": "hello"}]}}
    assert without_text(turn) == {
        "after": [{"role": "user", "characters": 5}],
        "report": {"decisions": [{"item": "a"}]},
    }
    assert without_text({"characters": 900, "text": "cut"}) == {"characters": 900}


def test_a_bill_parts_fresh_cached_and_written_tokens() -> None:
    turn = {"model": "m", "usage": {"input": 1_000, "cached": 700, "written": 200, "output": 50}}
    prices = {"m": Prices(fresh=10, output=40, cached=1, written=12.5)}
    found = money.breakdown([turn, {"model": "m", "usage": None}], prices)
    assert {kind: part.tokens for kind, part in found.items()} == {
        "fresh": 100,
        "cached": 700,
        "written": 200,
        "output": 50,
    }
    assert sum(part.usd for part in found.values()) == pytest.approx(prices["m"].cost(100, 700, 200, 50))
    unknown = money.breakdown([turn], {})
    assert unknown["fresh"].unpriced == 100
    assert unknown["fresh"].usd == 0


def test_the_glossary_of_the_docs_has_the_words_of_the_dashboard() -> None:
    page = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
    assert [row for row in page.splitlines() if row.startswith("| ")][1:] == [
        f"| {word} | {meaning} |" for word, meaning in WORDS.items()
    ]
