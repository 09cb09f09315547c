"""Scores how relevant old content is to the current message, without a language model.

    index = Index()
    index.add("Ann: I adopted a dog yesterday.", when="8 May 2023", tokens=9)
    index.score("When did Ann get her dog?")     one number per entry
    index.pack("When did Ann get her dog?", 500) the entries that should stay within 500 tokens

`Unread` does the same for texts with a single query; `quick_scores` only looks for the words of the question.
"""

from __future__ import annotations

from brim.relevance.adhoc_index import Unread, quick_scores
from brim.relevance.index import Index
from brim.relevance.vectors import Embedder

__all__ = ["Embedder", "Index", "Unread", "quick_scores"]
