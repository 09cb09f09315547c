"""Long texts in pieces: exact where a text breaks into words or lines, never too low anywhere."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import splintr

from brim.tokens import tokenizers
from brim.tokens.chunks import LONG, PIECE, in_pieces, remembering

WHOLE = {
    name: tokenizers._plain_text_count(splintr.Tokenizer.from_pretrained(tokenizers.VOCABULARIES[name]))
    for name in ("o200k", "llama-3", "mistral-v3")
}


def ordinary() -> list[str]:
    """Documentation and code, and words on one line, each longer than three pieces."""
    docs = Path(__file__).parents[2] / "docs"
    prose = "".join(path.read_text() for path in sorted(docs.glob("*.md")))[: 8 * PIECE]
    code = "".join(path.read_text() for path in sorted(Path(tokenizers.__file__).parent.glob("*.py")))[: 6 * PIECE]
    rng = random.Random(1)
    words = " ".join(rng.choice(("order", "invoice", "naïve", "42", "(x)")) for _ in range(PIECE))
    return [prose, code, words]


@pytest.mark.parametrize("name", WHOLE)
def test_ordinary_text_of_any_length_is_counted_exactly(name: str) -> None:
    for text in ordinary():
        assert len(text) > 3 * PIECE
        assert in_pieces(WHOLE[name])(text) == WHOLE[name](text)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("piece", ["a", "ab", "\n", " ", "!", "7", "漢", "aB3/", " \n", "é", "\r\n", "'s"])
def test_text_that_nothing_breaks_is_never_counted_too_low_and_hardly_too_high(name: str, piece: str) -> None:
    for number in (2 * PIECE + 1, 5 * PIECE - 3):
        text = (piece * number)[:number]
        true, told = WHOLE[name](text), in_pieces(WHOLE[name])(text)
        assert true <= told <= true + 2 * (number // PIECE + 1)


def test_no_piece_is_longer_than_two() -> None:
    seen: list[int] = []

    def count(text: str) -> int:
        seen.append(len(text))
        return 1

    in_pieces(count)("a" * 10 * PIECE)
    in_pieces(count)("word " * 10 * PIECE)
    assert max(seen) <= 2 * PIECE
    assert sum(seen) == 60 * PIECE


def test_a_long_text_is_counted_once() -> None:
    counted: list[int] = []
    count = remembering(lambda text: counted.append(len(text)) or len(text))  # type: ignore[func-returns-value]
    assert [count("a" * LONG), count("a" * LONG), count("\ud800" * LONG), count("b"), count("b")] == [LONG] * 3 + [1, 1]
    assert counted == [LONG, LONG, 1, 1]
