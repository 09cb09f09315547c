"""Claude counting: known counts, odd input, both implementations alike, and no slow input."""

from __future__ import annotations

import random
import re
import sys
import time
import unicodedata
import zlib
from importlib.resources import files
from threading import Thread

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brim.errors import BadSetting
from brim.tokens import claude

MARKS = "\u0301\u0316"
NEEDS_COMPILED = pytest.mark.skipif(claude.implementation() == "python", reason="built without a compiler")


def plain(text: str, family: str) -> int:
    """What `count` gives where no compiler was there at installation."""
    traits = claude.FAMILIES[family]
    text = text.rstrip(" \t\n\r\f\v") if traits.free_end else text
    counter = claude.plain_vocabulary(traits.table)
    return counter.count(claude.composed(text), traits.frame_bow, text.startswith(" "))


COUNTERS = [pytest.param(claude.count, id=claude.implementation()), pytest.param(plain, id="plain")]

# text, then the tokens that the claude-3, claude-4.7 and claude-4.8 tokenizers take for it
KNOWN = [
    ("hello, world", 3, 4, 4),
    ("", 1, 1, 0),
    (" a", 1, 1, 2),
    ("  a", 2, 2, 2),
    ("a ", 2, 2, 2),
    ("it's Paris", 3, 5, 5),
    ("don't 'quote' 90's", 9, 10, 10),
    ("NASA HTTP API", 3, 8, 8),
    ("“quoted”", 3, 5, 5),
    ("x\n\n", 1, 1, 1),
    ("Title İstanbul GROẞ", 9, 12, 12),
    ("中文字", 4, 4, 3),
    ("👨‍👩‍👧‍👦", 15, 15, 14),
    ("३४ ½", 6, 6, 5),
    ("def f(x):\n    return x + 1\n", 12, 12, 12),
    ("----------", 1, 3, 2),
    ("12345678", 4, 4, 3),
    ("a\x07b", 1, 2, 2),
    ("กํา", 3, 3, 3),
    (" \u0301a", 3, 3, 4),
    ("\n\nHuman: <|endoftext|>", 11, 13, 12),
    ("\0\ud800", 2, 2, 2),
]


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize(("text", "old", "middle", "new"), KNOWN)
def test_known_texts_have_their_known_counts(counter, text, old, middle, new):
    families = ("claude-3", "claude-4.7", "claude-4.8")
    assert [counter(text, family) for family in families] == [old, middle, new]


def test_frames_are_those_of_a_one_message_request():
    assert {name: claude.message_frame(name) for name in claude.FAMILIES} == {
        "claude-3": 7,
        "claude-4.7": 11,
        "claude-4.8": 6,
        "claude-opus-5": 6,
    }


@pytest.mark.parametrize("counter", COUNTERS)
def test_blanks_at_the_end_are_free_for_opus_5_only(counter):
    text = "SELECT 1 \n\t  "
    assert counter(text, "claude-opus-5") == counter("SELECT 1", "claude-4.8") < counter(text, "claude-4.8")


def test_an_unknown_family_is_refused_with_the_known_names():
    with pytest.raises(BadSetting, match=re.escape("'claude-2' is none of claude-3, claude-4.7")):
        claude.count("hello", "claude-2")
    with pytest.raises(BadSetting):
        claude.message_frame("claude-2")


@pytest.mark.parametrize("counter", COUNTERS)
def test_composed_and_decomposed_spellings_count_the_same(counter):
    text = "Crème brûlée à Zürich, Việt Nam, 각"
    assert counter(unicodedata.normalize("NFD", text), "claude-3") == counter(text, "claude-3")


@pytest.mark.parametrize("counter", COUNTERS)
def test_characters_used_as_inner_markers_are_plain_text(counter):
    assert counter("a\ue000\ue001b", "claude-3") == counter("ab", "claude-3")
    assert counter("\ufdd0", "claude-4.8") == 3


SHARP = (
    ("'s", "'ll", "'", " ", "  ", "\n", "\t", "\u3000", "\xa0", "İ", "ẞ", "ϴ", "Σ", "ς", "ⓐ", "Ⓐ", "\ufe0f"),
    ("½", "²", "१", "٣", "7", "中", "한", "ー", "⚖", "？", "。", "\u0301", "\u0e4d", "\u0e32", "\u0711", "\u093e"),
    ("\u1c89", "\ufdd0", "\ue000", "\0", "\x01", "\ud800", "😀", "\u200d", "Word", "WORD", "word", "-" * 20, "..."),
)
SHARP_TEXTS = st.lists(st.sampled_from(SHARP).flatmap(st.sampled_from), max_size=12).map("".join)
TEXTS = st.one_of(st.text(st.characters(), max_size=40), SHARP_TEXTS)


@NEEDS_COMPILED
@given(TEXTS, st.sampled_from(sorted(claude.FAMILIES)))
@settings(max_examples=1500, deadline=None)
@example("-" * 5_000 + "=" + "\n" * 70_000 + ".", "claude-3")
@example("\u0e4d\ue000\u0e32\u0e4d\x01\u0e32", "claude-3")
def test_the_compiled_and_the_plain_counter_agree(text, family):
    assert claude.count(text, family) == plain(text, family)


@given(TEXTS, st.sampled_from(["claude-3", "claude-4.7", "claude-4.8"]))
@settings(max_examples=300, deadline=None)
def test_a_text_never_costs_more_than_its_bytes_and_markers(text, family):
    size = len(text.encode("utf-8", "surrogatepass"))
    assert 0 <= claude.count(text, family) <= 3 * size + 1


def made_of_one_megabyte() -> dict[str, str]:
    size, rnd = 1_000_000, random.Random(4)
    signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return {
        "a": "a" * size,
        "spaces": " " * size,
        "newlines": "\n" * size,
        "dashes": "-" * size,
        "dotted runs": ("." * 250 + "!") * (size // 251),
        "base64": "".join(rnd.choices(letters, k=size)),
        "emoji families": "👨‍👩‍👧‍👦" * (size // 7),
        "punctuation": "".join(rnd.choices(signs, k=size)),
        "marks in the wrong order": "a" + MARKS * (size // 2),
        "lone surrogates": "\udc80" * size,
    }


@NEEDS_COMPILED
@pytest.mark.parametrize("kind", made_of_one_megabyte())
def test_a_megabyte_of_anything_takes_the_compiled_counter_less_than_two_seconds(kind):
    text = made_of_one_megabyte()[kind]
    claude.count("", "claude-3")  # load the tables
    started = time.process_time()
    assert claude.count(text, "claude-3") > 0
    assert time.process_time() - started < 2


def test_the_plain_counter_counts_long_runs_exactly_and_fast():
    started = time.process_time()
    opening = 1  # the marker before a text that has no word to carry it
    assert plain("-" * 2_000_000, "claude-3") == opening + 2_000_000 // 64
    assert plain("\n" * 1_280_000, "claude-3") == opening + 1_280_000 // 128
    assert time.process_time() - started < 4


def test_long_runs_of_marks_are_composed_as_short_ones_are():
    text = "xa" + MARKS * 1_500 + "\u0f73\u0f71" * 700 + "e\u0301"
    assert claude.composed(text) == unicodedata.normalize("NFC", text)


def test_caches_of_the_plain_counter_stay_bounded(monkeypatch):
    monkeypatch.setattr("brim.tokens._claude_plain.KEPT", 50)
    words = " ".join(f"w{number}x" for number in range(500))
    counter = claude.plain_vocabulary.__wrapped__("claude-4.7")
    assert counter.count(words, True, False) == claude.count(words, "claude-4.7")
    assert all(len(cache) <= 50 for row in counter.fields for cache in row)


def test_without_the_compiled_part_the_plain_counter_answers(monkeypatch):
    expected = claude.count("Hello there, General Kenobi", "claude-3")
    monkeypatch.setattr(claude, "_compiled", None)
    claude.vocabulary.cache_clear()
    try:
        assert claude.implementation() == "python"
        assert claude.count("Hello there, General Kenobi", "claude-3") == expected
        assert claude.vocabulary("claude-3") is claude.plain_vocabulary("claude-3")
    finally:
        claude.vocabulary.cache_clear()


@NEEDS_COMPILED
def test_the_compiled_part_refuses_tables_of_a_wrong_size():
    with pytest.raises(ValueError, match="a table has 3 bytes and not 65536"):
        claude._compiled.Vocabulary(b"abc", b"", b"", "\ue000", False, 0)


def test_threads_count_long_texts_side_by_side():
    text = "The quick brown fox. " * 5_000
    expected, results = claude.count(text, "claude-4.8"), []
    threads = [Thread(target=lambda: results.append(claude.count(text, "claude-4.8"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_the_shipped_tables_come_with_their_notice_and_stay_small():
    data = files("brim.tokens").joinpath("data")
    tables = [data.joinpath(f"{name}.z").read_bytes() for name in ("claude-characters", "claude-3", "claude-4.7")]
    assert sum(map(len, tables)) < 300_000
    assert all(zlib.decompress(table) for table in tables)
    assert "Copyright (c) 2026 Sander Land" in data.joinpath("NOTICE-ctok").read_text(encoding="utf-8")


def test_every_code_point_can_be_counted():
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    assert claude.count(text, "claude-4.8") == plain(text, "claude-4.8") > 1_000_000
