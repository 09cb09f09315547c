"""How relevant old content is to the current message, without a language model.

    index = Index()
    index.add("Ann: I adopted a dog yesterday.", when="8 May 2023", tokens=9)
    index.score("When did Ann get her dog?")     one number an entry
    index.pack("When did Ann get her dog?", 500) the entries that should stay within 500 tokens

`quick_scores` ranks texts that nobody has indexed, by looking only for the words of the question.
"""

from __future__ import annotations

from brim.plan.relevance.index import Index
from brim.plan.relevance.quick import quick_scores
from brim.plan.relevance.vectors import Embedder

__all__ = ["Embedder", "Index", "quick_scores"]
