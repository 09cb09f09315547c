"""Of a very long history, the messages that a plan looks at: the others would be archived in any case.

Counting and cutting what is surely archived would take most of the time of a fit. So it goes by sizes that are
guessed from bytes; whatever is looked at is counted exactly, and only that can be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from brim.apis.plain_messages import Columns
from brim.conversation import Message
from brim.planning.items import Guess, WorthSeeing, current
from brim.relevance.term_spread import Column, choose_best, zeros

# A history of more messages than this is looked at only as far as so many times its limit; one without results less,
# unless its sizes turn out to be guessed too high.
MANY = 1_500
LOOKED_AT, LOOKED_AT_CHAT = 2.0, 1.15
# So many messages, spread over the history, say how many bytes a token has in it.
SAMPLE = 64


def guessed(messages: tuple[Message, ...], size: Callable[[Message], int], limit: int) -> Guess | None:
    """About how many tokens each message has, where there are many and they are far more than the limit; else None.

    It goes by nothing but the messages: what happened to be counted before must not change a plan.
    """
    if len(messages) < MANY:
        return None
    columns = Columns.of(messages)
    lengths = columns.lengths
    sample = range(0, len(messages), max(1, len(messages) // SAMPLE))
    share = sum([size(messages[n]) for n in sample]) / max(1, sum([lengths[n] for n in sample]))
    if not share or sum(lengths) * share < LOOKED_AT * limit:
        return None
    for number in columns.others:  # media have bytes that are no tokens
        parts = messages[number].parts
        if len(parts) > 1 or (parts and not parts[0].text):
            texts = sum([len(part.text) for part in parts])
            if texts * 2 < lengths[number]:
                lengths[number] = int(size(messages[number]) / share)
    return Guess(columns, share) if sum(lengths) * share >= LOOKED_AT * limit else None


def candidates(
    messages: tuple[Message, ...],
    guess: Guess,
    relevance: Column | None,
    recent: float,
    most: float,
    stay: Collection[int] = (),
) -> WorthSeeing:
    """Messages of `most` tokens: those that have to stay, the newest up to `recent`, then the most relevant ones."""
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
