from __future__ import annotations

import base64
import random
import threading
import time

import pytest
import splintr
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.errors import BadSetting
from brim.tokens.estimate import estimate
from brim.tokens.tokenizers import ALIASES, TextCounter, families, tokenizer

FAMILIES = families()
EXACT = [family for family in FAMILIES if family != "estimate"]
MODERN = ["o200k", "cl100k", "llama-3", "qwen-3", "deepseek-v3", "gemma-3", "mistral-v3", "kimi-k2", "glm-4", "phi-4"]


@pytest.mark.parametrize(
    ("family", "text", "tokens"),
    [
        ("o200k", "hello world", 2),
        ("cl100k", "hello world", 2),
        ("o200k", "The quick brown fox jumps over the lazy dog.", 10),
        ("cl100k", "antidisestablishmentarianism", 6),
        ("cl100k", "日本語テキスト", 7),
        ("claude-3", "Security by obscurity is not a good idea.", 10),
        ("gemma-3", "The quick brown fox jumps over the lazy dog.", 10),
    ],
)
def test_known_texts_have_their_published_sizes(family: str, text: str, tokens: int) -> None:
    assert tokenizer(family)(text) == tokens


@pytest.mark.parametrize("family", FAMILIES)
def test_the_empty_text_costs_nothing_but_the_marker_of_a_message(family: str) -> None:
    assert tokenizer(family)("") <= family.startswith("claude")


@pytest.mark.parametrize("family", ["o200k", "cl100k", "gpt-oss", "llama-3", "qwen-3", "glm-4", "phi-4"])
def test_text_that_spells_a_control_token_is_plain_text(family: str) -> None:
    counter = tokenizer(family)
    for spelling in ("<|endoftext|>", "<|im_start|>", "<|think|>"):
        assert counter(spelling) > 3
        assert counter(f"a {spelling} b") > counter("a  b") + 2


def test_text_that_only_opens_like_a_control_token_is_counted_like_text_that_spells_one() -> None:
    counter = tokenizer("o200k")
    # Five signs and a word either way: the closing sign is one more.
    assert counter("x <|endoftext") < counter("x <|endoftext|>") <= counter("x <|endoftext") + 2


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d \ude00", "\0", "a\0b", "\ufffe\uffff", "\U0010ffff"])
def test_nothing_that_fits_in_a_string_raises(family: str, text: str) -> None:
    assert tokenizer(family)(text) >= 1


@pytest.mark.parametrize("family", MODERN)
def test_a_lone_surrogate_costs_at_least_what_its_replacement_costs(family: str) -> None:
    counter = tokenizer(family)
    assert counter("left \ud800 right") >= counter("left \ufffd right")


@pytest.mark.parametrize("family", EXACT)
def test_decomposed_letters_are_counted_without_failing_in_any_order(family: str) -> None:
    assert tokenizer(family)("e\u0301\u0323" * 20) > 0


def test_qwen_composes_its_text_first() -> None:
    assert tokenizer("qwen-3")("cafe\u0301") == tokenizer("qwen-3")("café")


@pytest.mark.parametrize("family", ["gemma-2", "gemma-3"])
def test_a_long_text_counted_in_pieces_has_the_size_of_the_whole(family: str) -> None:
    rnd = random.Random(2)
    words = ["the", " quick", "\n", "\n\n", " ", "    ", "é", "日本", "<div", "x1", "\t"]
    text = "".join(rnd.choices(words, k=40_000))
    whole = len(splintr.Tokenizer.from_pretrained(family.replace("-", "")).encode_ordinary(text))
    assert tokenizer(family)(text) == whole


def test_gemma_reads_an_html_tag_as_one_token() -> None:
    assert tokenizer("gemma-3")("</div>") == 1
    assert tokenizer("gemma-3")("<|im_start|>") > 3


def test_a_family_is_loaded_once_a_process_even_from_many_threads() -> None:
    found: list[TextCounter] = []
    barrier = threading.Barrier(8)

    def load() -> None:
        barrier.wait()
        found.append(tokenizer("olmo-2"))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(one is found[0] for one in found)


def test_threads_get_the_same_counts_as_one_thread() -> None:
    counter = tokenizer("o200k")
    texts = [f"message {number}: {'word ' * (number % 50)}日本 {number * 7919}" for number in range(400)]
    expected = [counter(text) for text in texts]
    results: dict[int, list[int]] = {}

    def work(slot: int) -> None:
        results[slot] = [counter(text) for text in texts]

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(results.values()) == [expected] * 4


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_an_alias_is_the_same_counter_as_its_family(alias: str) -> None:
    assert tokenizer(alias) is tokenizer(ALIASES[alias])


def test_an_unknown_family_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadSetting, match="o200k"):
        tokenizer("no-such-family")


def test_only_the_estimate_says_that_it_is_not_exact() -> None:
    assert [family for family in FAMILIES if not tokenizer(family).exact] == ["estimate"]
    assert tokenizer("gemini").name == "gemma-3"


def _hard_texts(size: int) -> dict[str, str]:
    rnd = random.Random(11)
    return {
        "a": "a" * size,
        "spaces": " " * size,
        "newlines": "\n" * size,
        "tabs": "\t" * size,
        "blanks": "\n\t " * (size // 3),
        "blanks beside a tag": "<div>" + "\n " * (size // 2),
        "dashes": "-" * size,
        "base64": base64.b64encode(rnd.randbytes(size * 3 // 4)).decode(),
        "emoji families": "👨‍👩‍👧‍👦" * (size // 7),
        "punctuation": "".join(rnd.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=size)),
        "marks out of order": "e" + "\u0301\u0323" * (size // 4),
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_hard_texts_take_time_in_proportion_to_their_length(family: str) -> None:
    counter = tokenizer(family)
    counter("warm")
    for name, text in _hard_texts(200_000).items():
        start = time.perf_counter()
        assert counter(text) >= 0, name
        # A fifth of the megabyte that has to stay within 2 s, on a machine that may be busy.
        assert time.perf_counter() - start < 2, name


SAMPLES = [
    "function foo() { return x + y; }",
    "def add(a, b):\n    return a + b\n",
    '{"key": "value", "items": [1, 2, 3], "ok": true}',
    "SELECT id, name FROM users WHERE created_at > '2024-01-01' ORDER BY id DESC;",
    "日本語テキストと漢字",
    "안녕하세요 세계",
    "👨‍👩‍👧‍👦🏳️‍🌈👍🏽🎉",
    "const getUserById = async (userId: string): Promise<User> => db.users[userId];",
    "for (int i = 0; i < 10; ++i) { sum += a[i] * b[i]; }",
    "dGhpcyBpcyBiYXNlNjQgdGV4dCB0aGF0IGlzIG5vdCB3b3Jkcw==",
    "3f786850e387550fdab836ed7e6dc881de23001b",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_the_estimate_is_not_below_any_real_vocabulary_on_code_cjk_and_emoji(text: str) -> None:
    worst = max(tokenizer(family)(text) for family in EXACT)
    assert worst <= estimate(text) <= 4 * worst


@settings(max_examples=200, deadline=None)
@given(
    st.text(
        alphabet=st.one_of(
            st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),
            st.characters(min_codepoint=0x1F300, max_codepoint=0x1FAFF),
            st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
            st.sampled_from("{}[]()<>=+-*/;:,.\n0123456789"),
        ),
        max_size=60,
    )
)
def test_the_estimate_holds_for_random_cjk_emoji_and_signs(text: str) -> None:
    assert estimate(text) >= max(tokenizer(family)(text) for family in MODERN)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.sampled_from(MODERN))
def test_a_text_never_has_more_tokens_than_bytes(text: str, family: str) -> None:
    composed_may_grow = 3  # a few characters compose into longer ones
    assert tokenizer(family)(text) <= composed_may_grow * len(text.encode("utf-8", "surrogatepass"))
