"""How relevant each message of a conversation is to what is asked now."""

from __future__ import annotations

from brim.conversation import Conversation
from brim.plan.items import current
from brim.plan.relevance import Index


def relevance(conversation: Conversation, query: str) -> list[float] | None:
    """One number for each message, 0 where it is not history; None if nothing is asked."""
    if not query.strip():
        return None
    now = current(conversation.messages)
    index = Index()
    places = []
    for number, message in enumerate(conversation.messages):
        if number != now and message.role != "system":
            index.add(message.text)
            places.append(number)
    scores = index.score(query)
    found = [0.0] * len(conversation.messages)
    for place, score in zip(places, scores, strict=True):
        found[place] = max(0.0, score)
    return found
