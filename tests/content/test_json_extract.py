"""Extracts of JSON: always within the room, identifiers with their columns, errors and outliers first."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside
from rooms import texts as any_texts
from test_json import records, values

from brim.content.json import decode, extract
from brim.errors import NotDecodable


@given(st.one_of(values, records()), budgets)
@settings(max_examples=300, deadline=None)
def test_an_extract_never_exceeds_its_room(value: Any, tokens: int) -> None:
    stays_inside(extract, json.dumps(value), tokens)


@given(any_texts, budgets)
@settings(deadline=None)
def test_text_that_is_no_json_is_cut_like_any_text(text: str, tokens: int) -> None:
    for got in (extract(text, room(tokens)), extract(text[: len(text) // 2], room(tokens, "error id"))):
        assert count(got) <= tokens


def issues(number: int = 300) -> list[dict[str, Any]]:
    return [
        {
            "number": 1000 + at,
            "title": f"Issue about part {at}",
            "state": "failed" if at == 177 else "open",
            "url": f"https://api.example.com/issues/{1000 + at}",
            "milestone": None,
            "locked": False,
            "user": {"login": f"user{at % 7}", "id": at % 7, "site_admin": False, "type": "User"},
            "body": f"Long text number {at}. " * 12,
        }
        for at in range(number)
    ]


@pytest.mark.parametrize("tokens", [200, 700, 2000, 6000])
def test_the_room_is_filled(tokens: int) -> None:
    got = extract(json.dumps(issues()), room(tokens))
    assert 0.95 * tokens <= count(got) <= tokens


def test_identifiers_stay_when_texts_go_and_keep_their_columns() -> None:
    got = extract(json.dumps(issues()), room(6500))
    assert got.startswith("300 rows × ")
    assert "number, title" in got
    lines = got.split("\n")
    for at in range(300):
        assert any(line.startswith(f"{1000 + at},") for line in lines)
    assert "login" in got
    assert "milestone" not in got


def test_what_is_left_out_is_said_with_the_handle() -> None:
    text = json.dumps(issues())
    got = extract(text, room(300, handle="brim:3f2a", recall=True))
    assert "recall brim:3f2a]" in got
    assert re.match(r"300 rows × \d+ fields \[… \d+ more rows", got)
    assert got.count("recall brim:3f2a") == 1
    plain = extract(text, room(300))
    assert "recall" not in plain


def test_the_odd_row_survives_when_rows_go() -> None:
    got = extract(json.dumps(issues()), room(250))
    assert "1177" in got
    assert "failed" in got
    assert "1000" in got
    assert "1299" in got


def test_errors_outlast_other_texts() -> None:
    runs = [{"id": at, "note": f"all is well in step {at}", "error": None} for at in range(200)]
    runs[91]["error"] = "Connection refused by host db-7"
    got = extract(json.dumps(runs), room(900))
    assert "Connection refused by host db-7" in got


def test_rows_that_speak_of_the_query_come_first() -> None:
    rows = [{"id": at, "title": f"Item {at}", "text": "something else " * 8} for at in range(400)]
    rows[233]["title"] = "Quarterly invoice totals"
    got = extract(json.dumps(rows), room(150, "where are the invoice totals?"))
    assert "Quarterly invoice totals" in got


def test_long_texts_are_cut_before_fields_go() -> None:
    value = {"id": 7, "path": "a/b.py", "text": "word " * 2000, "tags": [f"tag{at}" for at in range(500)]}
    got = extract(json.dumps(value), room(300))
    assert "id: 7" in got
    assert "path: a/b.py" in got
    assert "text: word word" in got
    assert count(got) > 200


def test_long_lists_say_how_many_values_are_not_shown() -> None:
    got = extract(json.dumps([f"word{at}" for at in range(1000)]), room(100))
    shown = got.count("word")
    assert shown > 20
    assert "word0, word1, word2" in got
    assert got.endswith(f"… {1000 - shown} more")


def test_an_extract_does_not_pass_for_the_whole() -> None:
    with pytest.raises(NotDecodable):
        decode(extract(json.dumps(issues()), room(500)))


def test_a_text_whose_dense_form_fits_is_given_whole() -> None:
    text = json.dumps(issues(20))
    got = extract(text, room(count(text) * 9 // 10))
    assert decode(got) == json.loads(text)


def test_json_lines_are_extracted_as_rows() -> None:
    text = "\n".join(json.dumps(row) for row in issues())
    got = extract(text, room(400))
    assert "number" in got
    assert count(got) <= 400
    assert "1000" in got


def test_the_middle_of_a_huge_list_is_counted_too() -> None:
    got = extract(json.dumps(list(range(50_000))), room(60))
    assert re.search(r"… 49,9\d\d more", got)
    rows = extract(json.dumps([{"id": at, "name": f"n{at}"} for at in range(30_000)]), room(200))
    assert rows.startswith("30,000 rows × 2 fields [… 29,9")
    assert "29999, n29999" in rows


def test_ten_megabytes_take_a_moment() -> None:
    text = json.dumps(issues(20_000))
    assert len(text) > 8_000_000
    got = extract(text, room(500))
    assert count(got) <= 500
    assert "1000" in got


def test_rows_that_hold_nothing_are_counted() -> None:
    text = json.dumps([{"id": []}, {"name": []}] * 40)
    for tokens in (0, 5, 40):
        assert count(extract(text, room(tokens))) <= tokens


def test_rows_keep_what_names_them_beside_their_id_and_state() -> None:
    teams = [
        {"node": f"MDQ6VXNlcjE5NTg5NTM{at:03}", "url": f"https://x.io/{at}", "n": at + 500, "who": f"The {at} team",
         "open": "yes" if at % 2 else "no", "kind": "team", "hits": at * 7}
        for at in range(60)
    ]  # fmt: skip
    got = extract(json.dumps(teams), room(700))
    rows = [line for line in got.split("\n") if "team" in line and line[0].isdigit()][1:]
    assert len(rows) > 30
    assert all(re.match(r"(\d+), The \d+ team, (?:yes|no)", row) for row in rows)


def test_an_envelope_is_opened_and_its_text_goes_to_its_own_compactor() -> None:
    papers = "\n\n".join(
        f"{at}. Paper {at}\n   ID: 25{at:02}.1\n   " + "Words of the abstract. " * 20 for at in range(1, 21)
    )
    value = {"_meta": None, "content": [{"type": "text", "text": papers}], "isError": False}
    got = extract(json.dumps(value), room(400))
    assert got.startswith("20 records, ")
    assert all(f"{at}. Paper {at}\n" in got for at in range(1, 21))
    assert all(f"ID: 25{at:02}.1" in got for at in range(1, 21))


def test_what_an_envelope_says_of_a_failure_stays() -> None:
    value = {"content": [{"type": "text", "text": "The disk is full. " * 200}], "isError": True}
    assert extract(json.dumps(value), room(60)).startswith("isError: true\nThe disk is full.")


def test_text_outranks_counters_in_the_smallest_room() -> None:
    value = {"rows": 1, "pages": 3, "took": 17.5, "result": "Martinez-Rangel Bank", "cached": False, "more": None}
    got = extract(json.dumps(value), room(16))
    assert "Martinez-Rangel Bank" in got


def test_lists_under_names_become_one_table_with_the_names() -> None:
    releases = {
        f"1.{n}.0": [{"file": f"pack-1.{n}.{kind}", "size": n * 7, "kind": kind} for kind in ("whl", "gz")]
        for n in range(60)
    }
    value = {"info": {"name": "pack", "summary": "Packs things small"}, "releases": releases}
    got = extract(json.dumps(value), room(900))
    assert "name: pack; summary: Packs things small" in got
    assert "releases: 120 rows × 4 fields" in got
    assert "\npack-1.59.gz, " in got


def test_names_beside_a_large_table_outlast_its_columns() -> None:
    rows = [{"id": n, "code": f"c{n}", "tag": f"t{n}", "ref": f"r{n}"} for n in range(100)]
    got = extract(json.dumps({"title": "Yearly report", "owner": {"name": "Ana"}, "rows": rows}), room(500))
    assert "title: Yearly report; name: Ana" in got


def test_fields_of_few_rows_stand_with_their_keys() -> None:
    rows = [{"name": f"pack-{n}", "version": f"{n}.0.1", "needs": {f"lib-{n}": f"^{n}"}} for n in range(80)]
    got = extract(json.dumps({"packages": rows, "of": 1}), room(1000))
    assert "7.0.1, pack-7; needs.lib-7: ^7" in got
    assert ", , ," not in got


def flights(number: int) -> list[dict[str, Any]]:
    return [
        {"flight": f"HAT{n:03}", "date": "2024-05-20", "price": 100 + 7 * n, "origin": "JFK", "seats": {"economy": n}}
        for n in range(number)
    ]


def test_lists_inside_a_list_become_one_table_with_their_numbers() -> None:
    trips = [[{**flights(3)[n % 3], "seats": n}, {**flights(9)[8], "seats": 3 * n}] for n in range(6)]
    got = extract(json.dumps(trips), room(110))
    assert got.startswith("12 rows × 6 fields")
    assert "\n#1, HAT000" in got
    assert "\n#2, HAT008" in got


def test_a_code_names_its_row_before_the_numbers_after_it() -> None:
    got = extract(json.dumps(flights(40)), room(250))
    assert "flight, " in got or "flight:" in got
    assert got.index("flight") < got.index("price") if "price" in got else True
    assert "\nHAT000" in got


def test_short_tables_of_an_object_give_way_to_the_codes_in_them() -> None:
    booked = {
        "id": "JG7FMM",
        "flights": flights(3),
        "paid": [{"with": "card_4421486", "amount": 250}, {"with": "card_7504069", "amount": 55}],
        "people": [{"name": "Mia", "born": "1990-04-05"}, {"name": "Omar", "born": "1982-10-19"}],
    }
    got = extract(json.dumps(booked), room(60))
    assert "flight: HAT000, HAT001, HAT002" in got
    assert "with: card_4421486, card_7504069" in got
