"""Embeddings for recall: calls the caller's own function once per text, across sessions."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from math import isfinite

from brim import incidents
from brim.relevance import Embedder
from brim.stores.protocol import Store

# The vector of every text if there are none.
NOTHING: Sequence[float] = (0.0,)


class Embeddings:
    """An embedder whose vectors are stored under the digests of their texts.

    One that fails, or gives something else than a vector of numbers for each text, is not asked again: then words alone
    decide. `name` tells the vectors of different models apart; without one the function's own name does.

    Example: Session(model="gpt-4o", embed=SentenceModel())
    """

    def __init__(self, embed: Embedder, store: Store, name: str = "") -> None:
        self._embed = embed
        self._store = store
        self._failed = False
        self._name = name or getattr(embed, "__qualname__", type(embed).__qualname__)

    def __call__(self, texts: list[str], /) -> list[Sequence[float]]:
        """The vectors of texts; neutral ones if the embedder fails."""
        if not self._failed:
            try:
                return self._vectors(texts)
            except Exception as problem:  # the caller's own code, or a model behind it, in which anything may go wrong
                self._failed = True
                incidents.note("embeddings", problem)
        return [NOTHING] * len(texts)

    def _vectors(self, texts: list[str]) -> list[Sequence[float]]:
        keys = [self._key(text) for text in texts]
        found: dict[str, Sequence[float]] = {}
        missing: dict[str, str] = {}
        for key, text in zip(keys, texts, strict=True):
            kept = self._store.get_value(key) if key not in found else None
            if kept is not None:
                found[key] = array("f", kept)
            elif key not in found:
                missing[key] = text
        if missing:
            made = [array("f", map(float, vector)) for vector in self._embed(list(missing.values()))]
            if len(made) != len(missing):
                raise ValueError(f"{len(made)} vectors for {len(missing)} texts")
            found |= zip(missing, made, strict=True)
            _check(list(found.values()))
            for key, vector in zip(missing, made, strict=True):
                self._store.put_value(key, vector.tobytes())
        return [found[key] for key in keys]

    def _key(self, text: str) -> str:
        return f"vector:{self._name}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _check(vectors: Sequence[Sequence[float]]) -> None:
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("vectors of different lengths")
    if not all(map(isfinite, (value for vector in vectors for value in vector))):
        raise ValueError("a vector with something else than numbers")
