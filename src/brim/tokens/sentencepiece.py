"""Counting with SentencePiece's BPE vocabularies (Gemini and Gemma, Llama 2, the first Mistral models).

    counter(splintr.Tokenizer.from_pretrained("gemma3"), "gemma3")("hello world") -> 2

splintr merges a whole text in one heap. The compiled counter cuts it first where no piece of the vocabulary has the
two characters side by side, and remembers the sizes of the segments: 10 to 20 times as fast, and the same number.
Where there was no compiler when Brim was installed, splintr counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import splintr

from brim.count_text import CountText

try:
    from brim.tokens import _pieces as _compiled
except ImportError:  # installed without a compiler
    _compiled = None  # type: ignore[assignment]


# Gemma's vocabularies: no space before the text, and blanks merge before anything else; in the others they merge last.
GEMMA: Final = frozenset({"gemma2", "gemma3", "gemma4"})
# HTML tags are pieces of their own up to Gemma 3, which no merge makes; so are control words, but a text that only
# spells those is text.
_TAGGED: Final = frozenset({"gemma2", "gemma3"})
_TAG: Final = re.compile(rb"</?(?!unused\d|mask>|\w+_of_)[a-z]\w*>", re.ASCII)
_BOUNDARY: Final = "\u2581".encode()
_TAG_IDS: Final = 1_000
# splintr is slower than linear on long texts, and no piece of Gemma's has a newline beside another character.
_LINES: Final = 16_384
_NEWLINES: Final = re.compile("\n+")


def counter(vocabulary: splintr.AnyTokenizer, name: str) -> CountText:
    """What counts plain text with a SentencePiece vocabulary of splintr; a lone surrogate raises."""
    count = plain_counter(vocabulary, name) if _compiled is None else compiled_counter(vocabulary, name)
    return _around(_tags(vocabulary), count) if name in _TAGGED else count


def compiled_counter(vocabulary: splintr.AnyTokenizer, name: str) -> CountText:
    """The compiled counter. It holds the pieces, and no longer needs splintr."""
    pieces = list(map(vocabulary.decode_token_bytes, range(vocabulary.vocab_size)))
    for id in vocabulary.special_tokens().values():
        pieces[id] = b""
    if vocabulary.family != "Spm":  # these leave the word boundary as it is
        pieces = [piece.replace(_BOUNDARY, b" ") for piece in pieces]
    return _compiled.Pieces(pieces, prefix=name not in GEMMA, runs_first=name in GEMMA).count


def plain_counter(vocabulary: splintr.AnyTokenizer, name: str) -> CountText:
    """The same count by splintr alone."""
    ordinary = vocabulary.encode_ordinary

    def whole(text: str) -> int:
        return len(ordinary(text))

    def by_lines(text: str) -> int:
        return whole(text) if len(text) <= _LINES else sum(map(whole, _pieces_of(text)))

    return by_lines if name in GEMMA else whole


def _tags(vocabulary: splintr.AnyTokenizer) -> re.Pattern[str]:
    found = map(vocabulary.decode_token_bytes, range(_TAG_IDS))
    return re.compile("|".join(re.escape(piece.decode()) for piece in found if _TAG.fullmatch(piece)))


def _around(tags: re.Pattern[str], count: CountText) -> CountText:
    """`count` of what stands between tags, and one for each tag."""

    def counted(text: str) -> int:
        if ">" not in text or tags.search(text) is None:
            return count(text)
        between = tags.split(text)
        return len(between) - 1 + sum(count(part) for part in between if part)

    return counted


def _pieces_of(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        newline = text.find("\n", start + _LINES)
        after = _NEWLINES.match(text, newline) if newline >= 0 else None
        end = after.end() if after else len(text)
        yield text[start:end]
        start = end
