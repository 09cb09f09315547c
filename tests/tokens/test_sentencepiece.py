"""SentencePiece vocabularies: the compiled counter and splintr give the same number for any text."""

from __future__ import annotations

import random
import time
from functools import cache

import pytest
import splintr
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.tokens import sentencepiece
from brim.tokens.tokenizers import tokenizer

compiled = pytest.mark.skipif(sentencepiece._compiled is None, reason="installed without a compiler")
NAMES = ("llama2", "codellama", "mistral_v1", "mistral_v2", "gemma2", "gemma3", "gemma4")
# Blanks, marks of the vocabulary itself, tags, control words, scripts without spaces, what no piece has.
SCRAPS = (
    " ", "  ", "    ", "\n", "\n\n", "\t", "\t\t", "\r\n", "▁", "▁▁", "a", "the", "return", "self", "_", "(", ")", ";",
    "> </", "</", "<b>", "</div>", "<table>", "<unused1>", "<start_of_turn>", "<0x0A>", "[INST]", "<|im_end|>", "<s>",
    "1", "23", "é", "e\u0301", "日本", "語", "🚀", "👩‍💻", "\u200b", "\x00", "\uffff", "ก", "नमस्ते", "Größe",
)  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(SCRAPS), max_size=60).map("".join), st.text(max_size=80))


@cache
def loaded(name: str) -> splintr.AnyTokenizer:
    return splintr.Tokenizer.from_pretrained(name)


@cache
def both(name: str) -> tuple[sentencepiece.Count, sentencepiece.Count]:
    return sentencepiece.compiled_counter(loaded(name), name), sentencepiece.plain_counter(loaded(name), name)


@compiled
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_both_counters_give_the_same_number(name: str, text: str) -> None:
    fast, plain = both(name)
    assert fast(text) == plain(text) == len(loaded(name).encode_ordinary(text))


@compiled
@pytest.mark.parametrize("name", NAMES)
def test_runs_and_long_words_are_counted_alike(name: str) -> None:
    fast, plain = both(name)
    rnd = random.Random(6)
    for size in (1, 2, 15, 16, 31, 32, 33, 47, 48, 49, 63, 64, 65, 200, 255, 256, 300, 5_000):
        for scrap in (" ", "\n", "\t", "-", "a", "日", "🚀", "ab", " x"):
            assert fast(scrap * size) == plain(scrap * size), (scrap, size)
        word = "".join(rnd.choices("abcdefghijklmnopqrstuvwxyzABCDEF0123456789+/", k=size))
        assert fast(word) == plain(word)


@compiled
def test_a_word_that_was_seen_before_keeps_its_size() -> None:
    fast, plain = both("gemma3")
    words = [f"word{n} value_{n}" for n in range(40_000)]  # more than are remembered
    text = " ".join(words)
    assert fast(text) == fast(text) == plain(text)


@compiled
def test_an_unbroken_text_beyond_what_is_merged_at_once_is_not_undercounted() -> None:
    fast, _ = both("llama2")
    million, rest = fast("日" * 349_525), fast("日" * 100)
    assert million < fast("日" * 349_625) <= million + rest


def test_tags_are_tokens_of_their_own_also_beside_long_blanks_and_control_words() -> None:
    count = tokenizer("gemma-3").count
    for beside in ("", " " * 300, "\n" * 300, "<|im_end|>"):
        text = f"{beside}<table><tr>cell</tr></table>"
        assert count(text) == count(beside) + 4 + count("cell")
    assert count("<start_of_turn>") > 1  # text that only spells a control word


@compiled
def test_the_compiled_counter_is_several_times_as_fast_on_text_that_it_has_not_seen() -> None:
    fast, plain = both("gemma3")
    rnd = random.Random(9)
    words = ["".join(rnd.choices("etaoinsrhldcu", k=rnd.randint(2, 9))) for _ in range(5_000)]
    texts = [" ".join(rnd.choices(words, k=2_000)) for _ in range(5)]

    def seconds(count: sentencepiece.Count, text: str) -> float:
        begun = time.process_time()
        count(text)
        return time.process_time() - begun

    ratios = [seconds(plain, text) / max(1e-9, seconds(fast, text)) for text in texts]
    assert max(ratios) > 3
