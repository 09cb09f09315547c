"""Selects the messages of a very long history that a plan examines; the others would be archived anyway.

Counting and splitting what is surely archived would take most of the time of a fit. So this uses sizes estimated from
bytes; whatever is examined is counted exactly, and only that can be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from brim.apis.plain_messages import Columns
from brim.conversation import Message
from brim.planning.draft import Draft
from brim.planning.items import Group, Guess, Itemizer, WorthSeeing, current
from brim.planning.request import PlanRequest
from brim.relevance.term_spread import Column, choose_best, zeros

# A history of more messages than this is looked at only as far as so many times its limit; one without results less,
# unless its sizes turn out to be guessed too high.
MANY = 1_500
LOOKED_AT, LOOKED_AT_CHAT = 2.0, 1.15
# The newest messages of a very long history are looked at up to this share of the limit, whatever they say; what is
# looked at is enough to choose from if it is so many times the limit.
RECENT_SEEN, ENOUGH_SEEN = 0.25, 1.05
# Messages sampled across the history to estimate its bytes per token.
SAMPLE = 64


def guessed(messages: tuple[Message, ...], size: Callable[[Message], int], limit: int) -> Guess | None:
    """The approximate tokens of each message, if there are many and far more than the limit; otherwise None.

    It depends only on the messages: what happened to be counted before must not change a plan.
    """
    if len(messages) < MANY:
        return None
    columns = Columns.of(messages)
    lengths = columns.lengths
    sample = range(0, len(messages), max(1, len(messages) // SAMPLE))
    share = sum([size(messages[n]) for n in sample]) / max(1, sum([lengths[n] for n in sample]))
    if not share or sum(lengths) * share < LOOKED_AT * limit:
        return None
    for number in columns.others:  # the bytes of media aren't tokens
        parts = messages[number].parts
        if len(parts) > 1 or (parts and not parts[0].text):
            texts = sum([len(part.text) for part in parts])
            if texts * 2 < lengths[number]:
                lengths[number] = int(size(messages[number]) / share)
    return Guess(columns, share) if sum(lengths) * share >= LOOKED_AT * limit else None


def looked_at(
    request: PlanRequest, draft: Draft, limit: int, guess: Guess | None, relevance: Column | None
) -> list[Group]:
    """The conversation in groups; for a history many times the limit, only the part worth examining."""
    messages, counter, seen = draft.messages, request.counter, None
    results = guess is None or any(messages[number].answers for number in guess.columns.others)
    for times in (LOOKED_AT,) if results else (LOOKED_AT_CHAT, LOOKED_AT):
        if guess is not None:
            seen = _worth_seeing(messages, guess, relevance, int(RECENT_SEEN * limit), times * limit, draft.stay)
            counter.measure([messages[number] for number in seen.chosen])
        groups = Itemizer(
            draft.conversation, counter.sizes, counter.text, draft.layers, seen=seen, held=draft.held
        ).groups()
        # Sizes are estimates, so the examined part may be less than there is room for.
        if sum([group.tokens for group in groups if group.items]) >= ENOUGH_SEEN * limit:
            break
    return groups


def _worth_seeing(
    messages: tuple[Message, ...],
    guess: Guess,
    relevance: Column | None,
    recent: float,
    most: float,
    stay: Collection[int],
) -> WorthSeeing:
    """Messages up to `most` tokens: those that have to stay, the newest up to `recent`, then the most relevant."""
    lengths = guess.columns.lengths
    chosen = {*guess.columns.systems, current(messages), *stay}
    newest = recent / guess.share
    for n in range(len(messages) - 1, -1, -1):
        newest -= lengths[n]
        if newest < 0:
            break
        chosen.add(n)
    left = most / guess.share - sum([lengths[n] for n in chosen])
    choose_best(relevance or zeros(len(messages)), lengths, left, chosen)
    return WorthSeeing(chosen, guess)
