"""What is kept of earlier fits makes later ones faster, and must not change them."""

from __future__ import annotations

import random

import pytest

import brim
from brim.planning import ranking

WORDS = "invoice harbour kettle violin marble granite station ticket window garden engine carpet lantern".split()


def notes(count: int) -> list[dict[str, str]]:
    """A chat that tokenizers of different families count differently."""
    rng = random.Random(3)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(4, 40))) + " 日本語テキスト" * (n % 7) for n in range(count)]
    return [{"role": ("user", "assistant")[n % 2], "content": f"Note {n}: {text}"} for n, text in enumerate(texts)]


@pytest.mark.parametrize("budget", [300, 600, 900])
def test_what_another_model_was_asked_before_changes_nothing(budget: int) -> None:
    request = [*notes(80), {"role": "user", "content": "Where was the violin near the harbour lantern?"}]
    alone = brim.fit(request, model="gpt-4o", budget=budget).messages
    brim.fit(request, model="claude-sonnet-4-5", budget=budget)
    assert brim.fit(request, model="gpt-4o", budget=budget).messages == alone


def test_an_index_that_was_cut_ranks_as_if_nothing_had_followed() -> None:
    texts = [f"[{day} May 2026] Ann: the violin" if day % 5 == 0 else f"Ben: note {day}" for day in range(1, 40)]
    whole, part = ranking.Chat(), ranking.Chat()
    for text in texts:
        whole.add(text, len(text))
    for text in texts[:3]:
        part.add(text, len(text))
    whole.cut(17)
    whole.cut(3)
    for text in [*texts[3:9], "Cat: a lantern and a violin"]:
        whole.add(text, len(text))
        part.add(text, len(text))
    query = "When did Ann speak of the violin on 5 May?"
    assert whole.index.score(query) == part.index.score(query)
    assert list(whole.index.tokens) == list(part.index.tokens)
    assert whole.index.pack(query, 60) == part.index.pack(query, 60)
