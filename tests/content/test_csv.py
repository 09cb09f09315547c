from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

from brim.content.tables import csv
from brim.errors import NotDecodable

cells = st.one_of(
    st.sampled_from(["", "EU", "2024-01-02", "https://a.b/items/7", '"a, b"', '"x""y"', "^", "{}", "--", "1.5", "é"]),
    st.integers(-5, 5000).map(str),
)


@st.composite
def tables(draw):
    width = draw(st.integers(1, 5))
    sign = draw(st.sampled_from([",", "\t", ";", "|"]))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=30))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(sign.join(row) for row in rows) + draw(st.sampled_from(["", end]))


def orders(rows: int) -> str:
    lines = ["order_id,name,country,total,status,url"]
    for i in range(rows):
        status = "failed" if i == rows // 3 else ("paid", "open")[i % 2]
        name = "ABCDE"[i % 5]
        url = f"https://shop.example.com/o/{1000 + i}"
        lines.append(f'O-{1000 + i},"Smith, {name}",US,{i * 37 % 1000}.50,{status},{url}')
    return "\n".join(lines) + "\n"


@given(st.one_of(texts, tables()), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(csv.extract, text, tokens, query[:30])


@given(st.one_of(texts, tables(), tables().map(lambda text: text * 3)))
def test_the_dense_form_decodes_to_the_same_text(text):
    form = csv.dense(text)
    assert form is None or (csv.decode(form) == text and len(form) < len(text))


def test_constant_columns_and_shared_beginnings_are_written_once():
    text = orders(200)
    form = csv.dense(text)
    assert form is not None
    assert csv.decode(form) == text
    assert "\n3 country: US\n" in form
    assert "\n6 url: https://shop.example.com/o/{}\n" in form
    assert count(form) < 0.75 * count(text)


def test_a_column_that_repeats_the_cell_above_is_shortened():
    text = "day,value\n" + "".join(f"2024-01-0{1 + i // 30} morning,{i}\n" for i in range(90))
    form = csv.dense(text)
    assert form is not None
    assert csv.decode(form) == text
    assert form.count("^,") > 80


@pytest.mark.parametrize("text", ["", "a,b", "#brim csv ,: x\na,b\n1,2", "#brim csv ,: x\na,b\n9 z: 1\n--\n1,2"])
def test_what_is_no_dense_table_is_not_decoded(text):
    with pytest.raises(NotDecodable):
        csv.decode(text)


def test_names_types_both_ends_and_the_failed_row_stay():
    got = csv.extract(orders(3000), room(400, handle="brim:3f2a")).split("\n")
    assert got[0].startswith("[csv: 3,000 rows × 6 columns; order_id (unique text)")
    assert "order_id,name,country,total,status,url" in got
    rows = orders(3000).split("\n")
    assert rows[1] in got
    assert rows[3000] in got
    assert rows[1001] in got
    assert ",failed," in rows[1001]
    kept = sum(line.startswith("O-") for line in got)
    assert got[-1] == f"[… {3000 - kept:,} of 3,000 rows left out, brim:3f2a]"


def test_kept_rows_are_rows_of_the_table():
    text = orders(500)
    rows = {*text.split("\n"), "…"}
    got = csv.extract(text, room(600)).split("\n")
    assert [line for line in got if line not in rows and not line.startswith("[")] == []


def test_ids_of_all_rows_stay_where_they_fit():
    words = ["amber", "birch", "cedar", "dune", "elm", "fjord", "grove"]
    notes = [" ".join(words[(i * k) % 7] for k in range(1, 20)) for i in range(60)]
    text = "code,note\n" + "".join(f"K{i},{note}\n" for i, note in enumerate(notes))
    got = csv.extract(text, room(800))
    assert "[code of every row: K0, K1, K2, " in got
    assert "K59" in got


def test_the_row_that_the_query_asks_for_stays():
    assert "O-2345," in csv.extract(orders(3000), room(300, "status of order O-2345"))


def test_a_table_of_a_hundred_thousand_columns_keeps_the_columns_asked_for_and_says_what_is_missing():
    width = 100_000
    text = "\n".join(
        [",".join(f"col{i}" for i in range(width)), *(",".join(str(i + j) for i in range(width)) for j in range(4))]
    )
    start = time.perf_counter()
    got = csv.extract(text, room(300, "col77777"))
    assert time.perf_counter() - start < 15
    assert count(got) <= 300
    assert "col77777" in got
    assert "77780" in got
    assert " of 100,000 columns left out]" in got


def test_tabs_and_semicolons_are_found():
    text = "a;b;c\n" + "".join(f"{i};x, y;{i * 2}\n" for i in range(400))
    assert csv.extract(text, room(100)).startswith("[csv: 400 rows × 3 columns")
    assert csv.extract(text.replace(";", "\t"), room(100)).startswith("[csv: 400 rows × 3 columns")


@pytest.mark.parametrize(
    "text",
    ["a,b\n" * 3_000_000, '"a,b' * 2_000_000, orders(2000) * 150, ('"' * 500 + "\n") * 5_000],
    ids=["short rows", "open quotes", "rows", "quotes"],
)
def test_huge_tables_take_no_more_than_moments(text):
    start = time.perf_counter()
    got = csv.extract(text, room(500))
    assert time.perf_counter() - start < 15
    assert 0 < count(got) <= 500
