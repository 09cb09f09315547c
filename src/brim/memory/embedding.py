"""Embeddings for recall: the caller's own function, asked once for each text, whatever session it stands in."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence

from brim.errors import BadInput
from brim.memory.store import Store
from brim.plan.relevance import Embedder


class Embeddings:
    """An embedder whose vectors are kept in a store under the digests of their texts.

    `name` tells the vectors of different models apart; without one the function's own name does.

    Example: Session(model="gpt-4o", embed=SentenceTransformer("all-MiniLM-L6-v2").encode)
    """

    def __init__(self, embed: Embedder, store: Store, name: str = "") -> None:
        self._embed = embed
        self._store = store
        self._name = name or getattr(embed, "__qualname__", type(embed).__qualname__)

    def __call__(self, texts: list[str], /) -> list[Sequence[float]]:
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
            made = self._embed(list(missing.values()))
            if len(made) != len(missing):
                raise BadInput("embed", f"gave {len(made)} vectors for {len(missing)} texts")
            for key, vector in zip(missing, made, strict=True):
                found[key] = array("f", map(float, vector))
                self._store.put_value(key, array("f", found[key]).tobytes())
        return [found[key] for key in keys]

    def _key(self, text: str) -> str:
        return f"vector:{self._name}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
