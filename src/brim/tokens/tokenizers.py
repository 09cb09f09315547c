"""Text tokenizers by family: each counts tokens, and nothing else.

    tokenizer("o200k")("hello world") -> 2

A family is a vocabulary, not a model: the catalog says which family a model uses. Counting is what Brim does
all day, so every family is reduced to one function from text to a number: no list of ids is built where the
library can avoid it, text that spells a control token (`<|endoftext|>`) is counted as the plain text that it
is, and nothing that can stand in a Python string raises (lone surrogates, NUL).
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field, replace
from typing import Final

import splintr

from brim.count_text import CountText
from brim.errors import BadSetting
from brim.tokens import claude, sentencepiece
from brim.tokens.chunks import in_pieces, remembering
from brim.tokens.estimate import estimate

# Family name -> vocabulary in splintr.
VOCABULARIES: Final[dict[str, str]] = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
    "gpt-oss": "gpt-oss",
    "llama-2": "llama2",
    "llama-3": "llama3",
    "codellama": "codellama",
    "qwen-2": "qwen3",
    "qwen-3": "qwen3",
    "deepseek-v3": "deepseek_v3",
    "gemma-2": "gemma2",
    "gemma-3": "gemma3",
    "gemma-4": "gemma4",
    "mistral-v1": "mistral_v1",
    "mistral-v2": "mistral_v2",
    "mistral-v3": "mistral_v3",
    "kimi-k2": "kimi_k2",
    "kimi-k3": "kimi_k3",
    "glm-4": "glm4",
    "phi-4": "phi4",
    "olmo-2": "olmo2",
}

# These models normalise text to NFC first; the bundled vocabularies leave that to the caller.
_COMPOSED: Final = frozenset({"qwen3"})

CLAUDE_FAMILIES: Final = tuple(claude.FAMILIES)

ALIASES: Final[dict[str, str]] = {
    "o200k_base": "o200k",
    "cl100k_base": "cl100k",
    "o200k_harmony": "gpt-oss",
    "gemini": "gemma-3",
    "mistral": "mistral-v3",
    "tekken": "mistral-v3",
    "deepseek": "deepseek-v3",
    "llama": "llama-3",
    "qwen": "qwen-3",
    "kimi": "kimi-k2",
    "glm": "glm-4",
    "phi": "phi-4",
}

_SURROGATES: Final = re.compile("[\ud800-\udfff]+")
_BYTES_PER_SURROGATE: Final = 3


@dataclass(frozen=True, slots=True)
class TextCounter:
    """Counts the tokens of a text; `exact` says whether that is the model's own number.

    Example: tokenizer("cl100k")("hello world") -> 2
    """

    name: str
    exact: bool
    count: CountText = field(repr=False)

    def __call__(self, text: str) -> int:
        return self.count(text)


_loaded: dict[str, TextCounter] = {}
_loading = threading.Lock()


def tokenizer(family: str) -> TextCounter:
    """Return the counter of `family`, loaded once a process.

    Example: tokenizer("o200k").exact -> True; tokenizer("estimate").exact -> False
    """
    counter = _loaded.get(family)
    if counter is not None:
        return counter
    name = ALIASES.get(family, family)
    with _loading:
        counter = _loaded.get(name)
        if counter is None:
            loaded = _load(name)
            counter = _loaded[name] = replace(loaded, count=remembering(loaded.count))
        _loaded[family] = counter
    return counter


def families() -> tuple[str, ...]:
    """Every family that `tokenizer` takes, without the aliases."""
    return (*VOCABULARIES, *CLAUDE_FAMILIES, "estimate")


def _load(name: str) -> TextCounter:
    if name in VOCABULARIES:
        vocabulary = VOCABULARIES[name]
        loaded = splintr.Tokenizer.from_pretrained(vocabulary)
        if loaded.family == "Spm" or vocabulary in sentencepiece.GEMMA:
            return TextCounter(name, True, _total(sentencepiece.counter(loaded, vocabulary)))
        count = in_pieces(_plain_text_count(loaded))
        if vocabulary in _COMPOSED:
            count = _composing(count)
        return TextCounter(name, True, count)
    if name in CLAUDE_FAMILIES:
        return TextCounter(name, True, lambda text: claude.count(text, name))
    if name == "estimate":
        return TextCounter(name, False, estimate)
    raise BadSetting("tokenizer family", f"{name!r} is not one of {', '.join(families())}")


def _plain_text_count(vocabulary: splintr.AnyTokenizer) -> CountText:
    """The cheapest exact way to count plain text with `vocabulary`.

    `encode_flat` makes one bytes object, four bytes a token, but promotes text that spells a control token;
    `encode_ordinary` does not, but builds a list of ints. So the list is built only for a text that does spell one.
    """
    flat, ordinary = vocabulary.encode_flat, vocabulary.encode_ordinary
    spellings = sorted(vocabulary.special_tokens(), key=len, reverse=True)
    openers = tuple(sorted({spelling[:2] for spelling in spellings}))
    spelled = re.compile("|".join(map(re.escape, spellings))).search

    def count(text: str) -> int:
        try:
            for opener in openers:
                if opener in text and spelled(text) is not None:
                    return len(ordinary(text))
            return len(flat(text)) // 4
        except UnicodeEncodeError:
            return _count_around_surrogates(text, count)

    return count


def _total(count: CountText) -> CountText:
    """`count`, made to accept any string."""

    def counted(text: str) -> int:
        try:
            return count(text)
        except UnicodeEncodeError:
            return _count_around_surrogates(text, count)

    return counted


def _composing(count: CountText) -> CountText:
    """`count` after Unicode composition, which makes e + combining acute the single letter é."""
    return lambda text: count(claude.composed(text))


def _count_around_surrogates(text: str, count: CountText) -> int:
    """Count a text that is not valid Unicode.

    A provider sees a lone surrogate as its three bytes or as U+FFFD, which has three bytes as well, so three
    tokens each is what it can cost at most.
    """
    lone = sum(len(run) for run in _SURROGATES.findall(text))
    return _BYTES_PER_SURROGATE * lone + sum(count(part) for part in _SURROGATES.split(text) if part)
