"""JSON forms: what dense writes decodes to the same value, type for type and key for key."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rooms import count, room

from brim.content.json import decode, dense, extract, simple
from brim.content.json.exact import load
from brim.content.json.table.emit import TableWriter
from brim.content.json.table.read import read
from brim.errors import NotDecodable

NASTY = [
    "", " ", "07", "7", "-0", "1e5", "true", "null", "{x}", "{}", "{id}", "{*}", "a,b", "(a)", "[a]", "{a:b}", '"',
    '"""', 'say "hi"', "'x", "$A", "$A/x", "%x", "#x", "…", "line\nline", "a\r\nb", "tab\t", "é漢😀", "\u2028",
    "\x00", "~", "=", ":", "@", "*",
    "https://x.org/a/b", "https://x.org/a/c", "aGVsbG8gd29ybGQ=", '{"a": [1, 2, {"b": null}]}',
    "k:v", "a(b", "b)", "\ufeff", "x" * 90,
    'Found:\n[{"id": 1, "name": "a long enough name to be unwrapped", "n": [1, 2, 3, 4]}]',
]  # fmt: skip
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=12))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 3),
    st.integers(0, 12).map(str),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=25,
)
keys = st.sampled_from(
    ["id", "name", "url", "login", "owner", "items", "a b", "x.y", "", "*", "k:v", "state", "node_id"]
)


@st.composite
def records(draw: st.DrawFn) -> Any:
    """Lists of like objects, as APIs answer: some keys optional, some values made of others."""
    fields = draw(st.lists(keys, min_size=1, max_size=6, unique=True))
    cells = st.one_of(scalars, values)
    rows = []
    for number in range(draw(st.integers(1, 6))):
        row: dict[str, Any] = {}
        for field in fields:
            if draw(st.integers(0, 5)):
                row[field] = draw(cells)
        if draw(st.booleans()):
            row["self_url"] = f"https://x.org/api/{row.get('id')}/{number}"
        rows.append(row)
    return draw(
        st.sampled_from([rows, {"total": len(rows), "items": rows}, [rows, rows], {"a": rows[0], "b": rows[-1]}])
    )


def same(one: Any, other: Any) -> bool:
    """Equal, with 1, 1.0 and True told apart, and keys in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)  # a NaN, which Python reads, equals nothing


@given(st.one_of(values, records()))
@settings(max_examples=400, deadline=None)
@example([{"a": 1}, {"a": True}, {"a": 1.0}])
@example({"": {"": {"": []}}})
@example([{"*": "x", "id": 1}, {"*": "y", "id": 2}])
@example({"u1": {"id": "u1", "n": 1}, "u2": {"id": "u2", "n": 2}})
@example([{"id": 0, "url": ""}, {"id": 1, "url": "https://x.org/{id}"}])
@example([{"id": {"": None}, "a b": {"": None}}, {}])
@example([0.0, -0.0, {"a": -0.0}, {"a": 0.0}])
def test_every_form_decodes_to_the_same_value(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for make in (dense, simple):
        form = make(text)
        if form is not None:
            assert same(decode(form), value)
            assert count(form) <= count(text)


@given(records())
@settings(max_examples=300, deadline=None)
def test_tables_of_records_read_back_without_the_proof(value: Any) -> None:
    """The forms are right by construction; the proof that dense asks for is only a safety net."""
    loaded = load(json.dumps(value))
    if isinstance(loaded.value, dict | list) and loaded.value and "-0.0" not in json.dumps(value):
        for full in (True, False):
            assert same(read(TableWriter(loaded.value, full).document()), value)


@given(st.text(max_size=200))
@example("NaN")
def test_any_text_is_either_decoded_or_refused(text: str) -> None:
    for candidate in (text, "#brim json\n" + text, "#brim json\n%(" + text, "#brim json\n%[](a,b)\n" + text):
        try:
            decoded = decode(candidate)
        except NotDecodable:
            continue
        assert same(json.loads(json.dumps(decoded)), decoded)  # a value of JSON and nothing else


@given(records(), st.data())
@settings(deadline=None)
def test_a_damaged_form_never_raises_anything_but_not_decodable(value: Any, data: st.DataObject) -> None:
    form = (
        TableWriter(load(json.dumps(value)).value, True).document()
        if isinstance(value, dict | list) and value
        else "#brim json"
    )
    at = data.draw(st.integers(0, len(form)))
    broken = form[:at] + data.draw(st.sampled_from(["", ",", "(", ")", '"', "%", "{id}", "\n"])) + form[at + 1 :]
    try:
        decode(broken)
    except NotDecodable:
        return


CIRCLES = [
    {"x": {"example": {"error": {}}}, "E": {"type": "o", "properties": {"error": {"type": "o", "properties": {}}}}},
    {"a": {"p": {"q": {"p": {"q": {"p": 1}}}}}, "b": {"q": {"p": {"q": 2}}}},
    [{"l": {"m": {"n": {"l": None, "k": at}, "k": 1}, "k": 2}, "k": 3, "n": {"l": {"m": None, "k": 4}, "k": 5}}
     for at in range(3)],
]  # fmt: skip


@pytest.mark.parametrize("value", CIRCLES)
def test_classes_that_hold_each_other_in_a_circle_are_written_and_read_back(value: Any) -> None:
    text = json.dumps(value)
    for full in (True, False):
        assert same(read(TableWriter(load(text).value, full).document()), value)
    for tokens in (10, 20, 30, 60):
        assert count(extract(text, room(tokens))) <= tokens


nested_schemas = st.recursive(
    st.sampled_from([{}, {"type": "string"}, {"error": {}}, {"type": "o", "properties": {}}, 1, None]),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["error", "properties", "items", "type", "E"]), inner, min_size=1, max_size=3),
        st.lists(inner, max_size=2),
    ),
    max_leaves=20,
)


@given(nested_schemas)
@settings(max_examples=300, deadline=None)
def test_schemas_nested_in_any_way_read_back_without_the_proof(value: Any) -> None:
    if isinstance(value, dict | list) and value:
        for full in (True, False):
            assert same(read(TableWriter(value, full).document()), value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": 1, "b": 2}, "c": [1, 2, 3  4 ,  5]}',
        '[NaN , 1 , 2 ,  "not closed ]',
        '{"a": -0 , "b" : }',
        "[ " * 5_000 + "] " * 5_000,
    ],
)
def test_a_text_that_is_no_json_behind_something_inexact_has_no_form(text: str) -> None:
    assert dense(text) is None


REPOS = [
    {
        "id": 100 + at,
        "name": f"repo-{at}",
        "full_name": f"acme/repo-{at}",
        "private": False,
        "owner": {"login": "acme", "id": 7, "url": "https://api.example.com/users/acme"},
        "url": f"https://api.example.com/repos/acme/repo-{at}",
        "forks_url": f"https://api.example.com/repos/acme/repo-{at}/forks",
        "labels_url": f"https://api.example.com/repos/acme/repo-{at}/labels{{/name}}",
    }
    for at in range(12)
]


def test_like_objects_become_rows_and_urls_follow_from_fields() -> None:
    form = dense(json.dumps(REPOS))
    assert form is not None
    head, table, *rows = form.split("\n")
    assert head.startswith("#brim json ")
    assert "k:v in every row" in head
    assert "private:false" in table
    assert "forks_url={url}/forks" in table
    assert "labels_url={url}/labels{/name}" in table
    assert rows[3] == "103,repo-3,acme/repo-3"
    assert count(form) < 0.25 * count(json.dumps(REPOS, separators=(",", ":")))


def test_numbers_that_are_texts_stay_texts() -> None:
    rows = [
        {"id": str(1000 + at), "zip": f"{at:05}", "n": at, "word": ["true", "null", "x"][at % 3]} for at in range(9)
    ]
    form = dense(json.dumps(rows))
    assert form is not None
    assert same(decode(form), rows)
    assert "\n1004,00004,4" in form


def test_repeated_objects_are_written_once_and_named_by_their_key() -> None:
    users = [
        {"login": name, "id": at, "site_admin": False, "plan": f"plan {at}"} for at, name in enumerate(["ann", "bob"])
    ]
    events = [{"number": at, "actor": users[at % 2], "reviewers": [users[1]]} for at in range(9)]
    form = dense(json.dumps(events))
    assert form is not None
    assert "actor@actor" in form
    assert form.count("plan 1") == 1
    assert "5,bob" in form


def test_text_in_lines_stands_raw() -> None:
    body = 'def f():\n    return "x"\n\n\nprint(f())\n' * 5
    form = dense(json.dumps({"path": "a.py", "body": body, "size": 9}))
    assert form is not None
    assert body in form


def test_json_inside_a_string_is_shown_as_the_value_it_is() -> None:
    inner = [{"id": at, "name": f"n{at}", "ok": True} for at in range(8)]
    for style in ({"indent": 2}, {"separators": (",", ":")}, {}):
        value = {"content": [{"type": "text", "text": json.dumps(inner, **style)}], "isError": False}
        form = dense(json.dumps(value))
        assert form is not None
        assert "!json" in form
        assert "\n3,n3" in form
        assert decode(form) == value


def test_text_around_json_keeps_its_words() -> None:
    inner = json.dumps([{"id": at, "name": f"name {at}"} for at in range(9)], indent=2)
    value = {"text": f"Here is what was found:\n{inner}\nThat is all."}
    form = dense(json.dumps(value))
    assert form is not None
    assert decode(form) == value
    assert "!+json2" in form


def test_ids_in_base64_that_follow_from_the_id_are_derived() -> None:

    rows = [{"id": at, "node_id": base64.b64encode(f"04:User{at}".encode()).decode()} for at in range(1000, 1012)]
    form = dense(json.dumps(rows))
    assert form is not None
    assert "node_id!b64=04:User{id}" in form


def test_a_map_of_like_objects_becomes_rows_with_the_key_first() -> None:
    cards = {
        f"card_{at}": {"source": "card", "brand": "visa", "last_four": f"{at:04}", "id": f"card_{at}"}
        for at in range(5)
    }
    form = dense(json.dumps({"payment_methods": cards, "email": "a@b.org"}))
    assert form is not None
    assert "\ncard_3,0003" in form


def test_comments_inside_comments_are_rows_inside_rows() -> None:
    def comment(depth: int) -> dict[str, Any]:
        replies = [comment(depth - 1) for _ in range(2)] if depth else []
        return {"id": 10 * depth, "author": f"user{depth}", "points": depth, "replies": replies}

    value = {"thread": comment(4)}
    form = dense(json.dumps(value))
    assert form is not None
    assert decode(form) == value
    assert count(form) < 0.7 * count(json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        "[NaN, Infinity]",
        '{"x":   "\\ud800"}',
        "[1, -0]",
        "[" * 100_000 + "]" * 100_000,
        "[1e999, 2]",
        '{"n": ' + "9" * 5000 + "}",
    ],
)
def test_what_a_value_cannot_hold_keeps_its_spelling(text: str) -> None:
    """Two equal keys, NaN, a lone surrogate, huge numbers: at most the blanks go."""
    form = dense(text)
    assert form is None or form == text.replace(" ", "")


def test_numbers_keep_their_digits() -> None:
    text = '[{"price": 1.50, "n": 12345678901234567890123}, {"price": 2.00, "n": 1}, {"price": 3.25, "n": 2}]'
    form = dense(text * 1)
    assert form is not None
    assert "1.50" in form
    assert "12345678901234567890123" in form
    assert decode(form) == json.loads(text)


def test_a_value_that_is_given_twice_is_two_values() -> None:
    user = {"login": "ann", "id": 1, "name": "Ann", "kind": "user"}
    form = dense(json.dumps([{"n": at, "user": user} for at in range(6)]))
    assert form is not None
    back = decode(form)
    back[0]["user"]["name"] = "changed"
    assert back[1]["user"]["name"] == "Ann"


def test_plain_json_decodes_as_itself_and_other_text_is_refused() -> None:
    assert decode(' {"a": [1, 2.0, null]} ') == {"a": [1, 2.0, None]}
    for text in ("", "hello", "#brim json", "#brim json\n%x(a", "#brim part of json\n%(a:1)"):
        with pytest.raises(NotDecodable):
            decode(text)


def test_scalars_and_small_values_have_no_smaller_form() -> None:
    for text in ("1", '"x"', "null", "[]", "{}", '{"a":1}'):
        assert dense(text) is None
    assert dense('{ "a" : 1 }') == '{"a":1}'
    assert dense("not json") is None


def test_json_lines_decode_to_the_list_of_their_values() -> None:
    rows = [{"id": at, "level": "info", "message": f"step {at} done"} for at in range(20)]
    text = "\n".join(json.dumps(row) for row in rows) + "\n"
    form = dense(text)
    assert form is not None
    assert form.startswith("#brim jsonl")
    assert decode(form) == rows
