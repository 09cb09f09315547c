from __future__ import annotations

import base64
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rooms import budgets, count, room, stays_inside, texts

import brim
from brim.content import binary
from brim.content.detect import file_signatures
from brim.errors import NotDecodable

NOISE = random.Random(7).randbytes(30_000)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + NOISE
SOURCE = "def total(cart):\n    return sum(item.price for item in cart)\n" * 40
wrapped = st.builds(
    lambda data, width, head: head + "".join(data[at : at + width] + "\n" for at in range(0, len(data), width)),
    st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)).map(
        lambda data: base64.b64encode(data).decode()
    ),
    st.sampled_from([60, 76, 10_000]),
    st.sampled_from(["", "data:text/plain;base64,", "data:;base64,"]),
)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@given(st.one_of(texts, wrapped, wrapped.map(str.strip)), budgets, texts)
def test_an_extract_never_exceeds_its_room(text, tokens, query):
    stays_inside(binary.extract, text, tokens, query[:30])


@given(st.one_of(texts, wrapped, wrapped.map(str.strip)))
def test_the_dense_form_decodes_to_the_same_text(text):
    form = binary.dense(text)
    assert form is None or (binary.decode(form) == text and len(form) < len(text))


@given(texts)
def test_texts_without_long_runs_pass_through_stubbing_unchanged(text):
    assert binary.stub_embedded(text, room(100)) == text or len(text) >= 100


@pytest.mark.parametrize(
    ("text", "stub"),
    [
        (b64(PNG), "[… base64, PNG image 640×480, 30,024 bytes, recall brim:3f2a]"),
        (
            "data:image/png;base64," + b64(PNG),
            "[… data URL image/png, PNG image 640×480, 30,024 bytes, recall brim:3f2a]",
        ),
        (PNG.hex(), "[… hexadecimal, PNG image 640×480, 30,024 bytes, recall brim:3f2a]"),
        (b64(b"%PDF-1.7\n" + NOISE), "[… base64, PDF document, 30,009 bytes, recall brim:3f2a]"),
    ],
)
def test_encoded_bytes_become_a_stub_with_their_type_and_size(text, stub):
    assert binary.extract(text, room(100, handle="brim:3f2a", recall=True)) == stub


def test_base64_of_a_text_is_decoded_and_encodes_back():
    for text in (
        b64(SOURCE.encode()),
        base64.encodebytes(SOURCE.encode()).decode(),
        "data:text/x-python;base64," + b64(SOURCE.encode()),
    ):
        form = binary.dense(text)
        assert form is not None
        assert form.endswith(SOURCE)
        assert binary.decode(form) == text
        assert count(form) < count(text) / 2


def test_base64_of_a_long_text_is_shown_as_text():
    got = binary.extract(b64(SOURCE.encode()), room(100))
    assert got.startswith("[base64 of a text, decoded below]\ndef total(cart):\n")
    assert "…" in got


def test_a_hex_dump_says_what_it_is_and_keeps_its_first_lines():
    dump = "\n".join(
        f"{at:08x}  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|" for at in range(0, 16_000, 16)
    )
    got = binary.extract(dump, room(200))
    assert got.startswith("[hex dump, ELF program, 1,000 lines]\n00000000  7f 45 4c 46")


def test_a_bundle_keeps_its_banner_and_what_the_query_names():
    bundle = (
        "/*! cart.js v1.2 | MIT */"
        + "!function(e,t){var n=e.a;return t(n)};" * 2000
        + "payWithCard=1;"
        + "x(y);" * 3000
    )
    got = binary.extract(bundle, room(200, "payWithCard"))
    assert "/*! cart.js v1.2 | MIT */" in got
    assert "payWithCard=1" in got
    assert "minified code" in got


def test_embedded_bytes_are_stubbed_in_place_and_everything_else_stays():
    path = "/usr/lib/" + "some_folder/another-one/" * 20
    text = f'{{"icon": "data:image/png;base64,{b64(PNG)}", "blob": "{b64(PNG)[:600]}", "path": "{path}", "n": 1}}'
    assert binary.stub_embedded(text, room(100, handle="brim:3f2a")) == (
        '{"icon": "[… data URL image/png, PNG image 640×480, 30,024 bytes, brim:3f2a]", '
        f'"blob": "[… base64, PNG image 640×480, 450 bytes]", "path": "{path}", "n": 1}}'
    )


def test_base64_wrapped_inside_a_json_string_is_one_stub():
    body = base64.encodebytes(PNG).decode().replace("\n", "\\n")
    got = binary.stub_embedded(f'{{"content":"{body}","encoding":"base64"}}', room(100))
    assert got.startswith('{"content":"[… base64, PNG image 640×480, 30,0')
    assert got.endswith('","encoding":"base64"}')
    assert len(got) < 120


@pytest.mark.parametrize("run", ["a" * 500, "ACGT" * 200, "x_" * 300, "word/" * 100, "0123456789" * 9])
def test_long_words_that_are_no_encoded_bytes_stay(run):
    assert binary.stub_embedded(f"see {run} there", room(100)) == f"see {run} there"


@pytest.mark.parametrize("text", ["", "hello", "#brim binary base64\nx", "#brim json"])
def test_what_is_no_dense_form_is_not_decoded(text):
    with pytest.raises(NotDecodable):
        binary.decode(text)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"GIF89a" + (8).to_bytes(2, "little") + (9).to_bytes(2, "little"), "GIF image 8×9"),
        (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", "ZIP archive (Excel workbook)"),
        (b"\x1f\x8b\x08\0", "gzip data"),
        ("Grüße".encode()[:-1], "text"),
        (bytes(range(128, 160)), "data"),
        (b"", "data"),
    ],
)
def test_bytes_are_named_by_how_they_begin(data, name):
    assert file_signatures.describe(data) == name


@pytest.mark.parametrize(
    "text", ["A1b" * 4_000_000, "Zm9v" * 4_000_000, "\n".join(["Ab3" * 25] * 150_000), "a/b-" * 3_000_000]
)
def test_huge_bytes_take_no_more_than_moments(text):
    start = time.perf_counter()
    assert count(binary.extract(text, room(200))) <= 200
    assert len(binary.stub_embedded(text, room(200))) <= len(text)
    assert time.perf_counter() - start < 15


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ((b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 60).decode("utf-8", "replace"), "binary, ELF program, 15,"),
        ((b"%PDF-1.7\n" + bytes(range(128, 256)) * 60).decode("utf-8", "replace"), "binary, PDF document, "),
        ("x" * 50_000, "one word, 50,000 characters in 1 line"),
        ("function a(b){return b+1};" * 900, "minified code, 23,400 characters in 1 line"),
        (".a{color:red}.b{margin:0}" * 500, "minified CSS, 12,500 characters in 1 line"),
    ],
)
def test_what_no_one_reads_says_what_it_is_and_how_large(text, said):
    made = brim.compact(text, 80)
    assert said in made.text.split("\n")[0]
    assert "\ufffd" not in made.text
    assert "\x00" not in made.text
