"""Under-counts of Brim's tokenizers against a second, independent tokenizer, on made-up strings.

The second opinion is Hugging Face `tokenizers` or `sentencepiece`, whose files are looked for in
`VOCABS/<family>/tokenizer.json` and `VOCABS/<family>/tokenizer.model`. What is not there is skipped and said. The
vocabularies of OpenAI are compared with tiktoken in versus/counting.py.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from brim.tokens.tokenizers import tokenizer

try:
    import tokenizers
except ImportError:
    tokenizers = None
try:
    import sentencepiece
except ImportError:
    sentencepiece = None

STRINGS = 20_000
FILE_FAMILIES = (
    "llama-3", "qwen-2", "qwen-3", "deepseek-v3", "gemma-2", "gemma-3", "gemma-4",
    "mistral-v1", "mistral-v2", "mistral-v3", "kimi-k2", "glm-4",
)  # fmt: skip
Row = tuple[str, float, str]

_WORDS = (
    "the quick brown fox jumps over lazy dog return function class import const async await self None true "
    "null undefined Straße déjà naïve привет мир здравствуйте こんにちは 世界 日本語テキスト "
    "你好 中文分词 안녕하세요 한국어 مرحبا שלום สวัสดี नमस्ते 🎉 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 e\u0301 "
    "ﬁ ǆ İ ß I'm don't we'll it'S YOU'RE "
    "getUserById snake_case_name HTTPServer 0x1F 3.14159 1e-10 2024-05-17 12345678 #include <stdio.h> "
    "<|endoftext|> <|im_start|> </s> [INST] <think> "
    'http://example.com/a?b=c&d=%20 user@example.com {"key":"value"} [1,2,3] </div> => != == && || :: ... --- ```'
).split()
_RANGES = (
    (0x20, 0x7E), (0x61, 0x7A), (0x30, 0x39), (0x21, 0x2F), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF),
    (0x590, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x2000, 0x206F), (0x2190, 0x27BF), (0x3040, 0x30FF),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0xE000, 0xE0FF), (0x0, 0x1F), (0x300, 0x36F), (0xFE00, 0xFE0F),
)  # fmt: skip
_SPACES = (" ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", " \n", "\n  ", "\u3000", "\u00a0", "\u2028", "")


def strings(seed: int, count: int = STRINGS) -> Iterator[str]:
    """Yield `count` strings: words of many scripts, random characters of one block, runs, and mixtures.

    Example: next(strings(1)) -> some text of up to a few hundred characters
    """
    rnd = random.Random(seed)
    for _ in range(count):
        yield "".join(_piece(rnd) for _ in range(rnd.choice((1, 1, 2, 3, 5, 8, 20))))


def _piece(rnd: random.Random) -> str:
    kind = rnd.randrange(6)
    if kind <= 1:
        return rnd.choice(_WORDS) + rnd.choice(_SPACES)
    if kind == 2:
        return rnd.choice(_SPACES).join(rnd.choice(_WORDS) for _ in range(rnd.randrange(1, 8)))
    low, high = rnd.choice(_RANGES)
    if kind == 3:
        return "".join(chr(rnd.randint(low, high)) for _ in range(rnd.randrange(1, 12)))
    if kind == 4:
        return chr(rnd.randint(low, high)) * rnd.randrange(1, 40)
    word = list(rnd.choice(_WORDS))
    word[rnd.randrange(len(word))] = chr(rnd.randint(low, high))
    return "".join(word).swapcase() if rnd.random() < 0.3 else "".join(word)


def second_opinion(family: str, vocabs: Path) -> Callable[[str], int] | None:
    """An independent counter of `family`, or None (and a line on stderr) when there is none here."""
    return _from_json(vocabs / family / "tokenizer.json") or _from_model(vocabs / family / "tokenizer.model")


def _from_json(file: Path) -> Callable[[str], int] | None:
    if tokenizers is None or not file.is_file():
        print(f"fuzz: no tokenizers library or no {file}", file=sys.stderr)
        return None
    second = tokenizers.Tokenizer.from_file(str(file))
    second.encode_special_tokens = True
    return lambda text: len(second.encode(text, add_special_tokens=False).ids)


def _from_model(file: Path) -> Callable[[str], int] | None:
    if sentencepiece is None or not file.is_file():
        print(f"fuzz: no sentencepiece library or no {file}", file=sys.stderr)
        return None
    second = sentencepiece.SentencePieceProcessor(model_file=str(file))
    return lambda text: len(second.encode(text))


def rows(data_dir: Path, vocabs: Path | None = None, count: int = STRINGS) -> list[Row]:
    """One row a family: how many of the strings Brim counts lower than the second tokenizer."""
    found: list[Row] = []
    for family in FILE_FAMILIES:
        second = second_opinion(family, vocabs or Path(data_dir) / "vocabs")
        if second is None:
            continue
        ours = tokenizer(family)
        under = over = 0
        for text in strings(7, count):
            difference = ours(text) - second(text)
            under += difference < 0
            over += difference > 0
        found.append((f"under-counts, {family}, {count:,} strings", under, "0"))
        found.append((f"over-counts, {family}, {count:,} strings", over, "small"))
    return found
