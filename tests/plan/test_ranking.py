"""What is kept of earlier fits makes later ones faster, and must not change them."""

from __future__ import annotations

import random

import pytest

import brim
from brim.plan import ranking

WORDS = "invoice harbour kettle violin marble granite station ticket window garden engine carpet lantern".split()


def notes(count: int) -> list[dict[str, str]]:
    """A chat that tokenizers of different families count differently."""
    rng = random.Random(3)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(4, 40))) + " 日本語テキスト" * (n % 7) for n in range(count)]
    return [{"role": ("user", "assistant")[n % 2], "content": f"Note {n}: {text}"} for n, text in enumerate(texts)]


@pytest.mark.parametrize("budget", [300, 600, 900])
def test_what_another_model_was_asked_before_changes_nothing(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    request = [*notes(80), {"role": "user", "content": "Where was the violin near the harbour lantern?"}]
    monkeypatch.setattr(ranking, "_indexes", ranking.Indexes())
    alone = brim.fit(request, model="gpt-4o", budget=budget).messages
    monkeypatch.setattr(ranking, "_indexes", ranking.Indexes())
    brim.fit(request, model="claude-sonnet-4-5", budget=budget)
    assert brim.fit(request, model="gpt-4o", budget=budget).messages == alone
