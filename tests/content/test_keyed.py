"""The one line of keyed values that stands for a result."""

from __future__ import annotations

import json

from brim.content.keyed import keyed, labelled, with_values
from brim.content.keyed_values import folded


def words(text: str) -> int:
    return len(text.split())


def test_codes_come_before_dates_and_names() -> None:
    record = json.dumps({"city": "Oslo", "born": "1990-04-07", "postal": "91292", "card": "card_77120", "n": 4})
    assert keyed(record, 5, words) == "card: card_77120"
    assert keyed(record, 6, words) == "born: 1990-04-07; card: card_77120"


def test_values_under_keys_that_calls_use_come_first() -> None:
    record = json.dumps({"card": "card_77120", "city": "Oslo", "born": "1990-04-07"})
    assert keyed(record, 5, words, used={"city"}) == "city: Oslo"


def booked(records: int) -> str:
    history = {f"booking_{n}": {"card": f"card_{n}7120", "code": f"BK-{n}77"} for n in range(records)}
    return json.dumps({"booking": "3426812", "paid": 420.5, "history": history})


def test_what_stands_above_many_records_comes_before_what_calls_use_of_these() -> None:
    assert (keyed(booked(30), 12, words, used={"card"}) or "").startswith("booking: 3426812; paid: 420.5")


def test_what_stands_above_few_records_has_no_place_before_their_codes() -> None:
    assert "3426812" not in (keyed(booked(2), 6, words, used={"card"}) or "")


def test_a_list_at_the_top_is_not_what_a_result_says_of_itself() -> None:
    rows = [{"card": f"card_{n}7120", "note": "paid late"} for n in range(30)]
    line = keyed(json.dumps({"prices": [910, 920], "rows": rows}), 8, words, used={"card"}) or ""
    assert "prices" not in line
    assert "card_07120" in line


def test_a_text_shows_the_values_that_calls_need_before_its_extract() -> None:
    text = "- tool_name: search_pages\n  about: Finds a page by its words\n- tool_name: read_page\n  about: Reads one\n"
    made = with_values(text, 12, words, {"toolname"}, (), lambda most: " ".join(text.split()[:most][:4]))
    assert made == "tool_name: read_page; - tool_name: search_pages about:"


def test_a_sentence_after_a_colon_is_no_value() -> None:
    text = "radius: Search radius in meters\nradius: 2000\n"
    assert with_values(text, 12, words, {folded("radius")}, (), lambda most: "…") == "radius: 2000; …"


def test_one_long_list_does_not_take_the_room_of_every_other_field() -> None:
    record = json.dumps({"cards": [f"card_{n}" for n in range(40)], "booking": "BK-3426"})
    line = keyed(record, 30, words) or ""
    assert "booking: BK-3426" in line
    assert "card_5" in line
    assert line.count("card_") > 10
    assert ", …" in line


def test_json_that_was_printed_and_cut_off_is_read_as_far_as_it_goes() -> None:
    inside = json.dumps([{"symbol": "TSLA", "volume": 73600}, {"symbol": "JPM", "volume": 9100}])
    printed = f"content=[TextContent(type='text', text={json.dumps(json.dumps({'text': inside}))[:-25]}"
    line = keyed(printed, 20, words, used={"symbol"}) or ""
    assert line.startswith("symbol: TSLA, JPM; volume: 73600")


def test_prose_with_quoted_words_is_no_json() -> None:
    assert keyed('She said "no": "never" was the answer, and all of them went home early that day.', 20, words) is None


def test_a_word_that_names_the_key_beside_it_says_nothing() -> None:
    envelope = json.dumps({"content": [{"type": "text", "text": "Failed to load"}], "isError": False})
    assert keyed(envelope, 20, words) == "text: Failed to load"


def test_where_no_field_fits_the_first_one_begins() -> None:
    envelope = json.dumps({"content": [{"type": "text", "text": "Failed to load the page"}]})
    assert keyed(envelope, 2, words) == "Failed to…"


def test_a_list_of_records_becomes_its_labels_with_their_values() -> None:
    tools = "".join(f"- server: files\n  tool: {name}\n  about: {name} does its work\n" for name in ("ls", "cat", "cp"))
    assert labelled(tools, 10, words, (), {"tool"}) == "server: files; tool: ls, cat, cp"
    assert labelled("One sentence.\nAnother one.", 12, words) is None


def test_values_stand_beside_labels_bars_lists_and_table_headers() -> None:
    text = "**Object IDs**: 17, 436534\nPoints: 2 | Author: ann_b\n\n| Page | Path |\n|---|---|\n| Home | /a/b.md |\n"
    used = {folded(key) for key in ("object_id", "author", "path")}
    made = with_values(text, 40, words, used, (), lambda most: "…")
    assert made == "Object IDs: 17, 436534; Author: ann_b; Path: /a/b.md; …"
