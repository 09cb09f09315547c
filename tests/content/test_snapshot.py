from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

from brim.content.tables import snapshot
from brim.errors import NotDecodable


def shop(items: int) -> str:
    lines = [
        "### Page state",
        "- Page URL: https://shop.example.com/cart",
        "- Page Snapshot:",
        "```yaml",
        "- generic [ref=e1]:",
    ]
    for i in range(items):
        lines += [
            f"  - generic [ref=e{i}0]:",
            f"    - listitem [ref=e{i}1]:",
            f'      - heading "Item {i}" [level=2] [ref=e{i}2]',
            f'      - link "Details of item {i}" [ref=e{i}3] [cursor=pointer]:',
            f"        - /url: /items/{i}",
            f"      - paragraph [ref=e{i}4]: A fine thing to have, number {i}",
            f'      - button "Buy {i}" [ref=e{i}5] [cursor=pointer]',
        ]
    lines += ['  - textbox "Voucher code" [ref=e77777]', '  - checkbox "Gift wrap" [checked] [ref=e77778]', "```"]
    return "\n".join(lines)


node_lines = st.one_of(
    st.sampled_from(shop(2).split("\n")),
    st.builds(
        "{}- {}{}{}".format,
        st.integers(0, 4).map(lambda depth: "  " * depth),
        st.sampled_from(["button", 'text "@e1"', "7 up", "|", "a @e2^: b"]),
        st.sampled_from([" [ref=e3]", " [ref=e3] [cursor=pointer]", " [cursor=pointer]", ""]),
        st.sampled_from(["", ":", ": text"]),
    ),
    st.text(alphabet="- @e1^[]ref=:|", max_size=12),
)
pages = st.lists(node_lines, max_size=40).map("\n".join)


@given(st.one_of(texts, pages), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(snapshot.extract, text, tokens, query[:30])


@given(st.one_of(texts, pages))
def test_the_dense_form_decodes_to_the_same_text(text):
    form = snapshot.dense(text)
    assert form is None or (snapshot.decode(form) == text and len(form) < len(text))


def test_the_dense_form_keeps_every_ref_and_takes_a_fifth_less():
    text = shop(60)
    form = snapshot.dense(text)
    assert form is not None
    assert snapshot.decode(form) == text
    assert all(f"@e{i}5^" in form for i in range(60))
    assert count(form) < 0.8 * count(text)


@pytest.mark.parametrize("text", ["", "- button", "#brim snapshot: other\nx"])
def test_what_is_no_dense_snapshot_is_not_decoded(text):
    with pytest.raises(NotDecodable):
        snapshot.decode(text)


def test_fields_and_buttons_stay_with_their_refs_and_wrappers_go():
    got = snapshot.extract(shop(60), room(600)).split("\n")
    assert "- Page URL: https://shop.example.com/cart" in got
    assert '  - textbox "Voucher code" [ref=e77777]' in got
    assert '  - checkbox "Gift wrap" [checked] [ref=e77778]' in got
    assert '      - button "Buy 0" [ref=e05] [cursor=pointer]' in got
    assert not any("- generic" in line or "- listitem" in line for line in got)


def test_kept_lines_are_lines_of_the_snapshot_and_the_mark_counts_the_others():
    lines = shop(40).split("\n")
    got = snapshot.extract(shop(40), room(500, handle="brim:3f2a")).split("\n")
    assert [line for line in got[:-1] if line not in lines] == []
    assert got[-1] == f"[… {len(lines) - len(got) + 1} of {len(lines)} lines left out, brim:3f2a]"


def test_a_link_target_never_stays_without_its_link():
    got = snapshot.extract(shop(60), room(900)).split("\n")
    for at, line in enumerate(got):
        if "/url: " in line:
            assert "- link " in got[at - 1]


def test_what_the_query_names_stays():
    got = snapshot.extract(shop(80), room(300, "buy item 42"))
    assert '- button "Buy 42" [ref=e425]' in got


def test_huge_snapshots_take_no_more_than_moments():
    text = shop(40_000)
    start = time.perf_counter()
    assert count(snapshot.extract(text, room(500))) <= 500
    assert time.perf_counter() - start < 15
