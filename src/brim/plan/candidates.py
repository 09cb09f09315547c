"""Of a very long history, the messages that a plan looks at: the others would be folded in any case.

Counting and cutting what is surely folded would take most of the time of a fit. So it goes by sizes that are
guessed from bytes; whatever is looked at is counted exactly, and only that can be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from brim.conversation import Message
from brim.plan.items import Seen, current

# A history of more messages than this is looked at only as far as so many times its limit; one without results less,
# unless its sizes turn out to be guessed too high.
MANY = 1_500
LOOKED_AT, LOOKED_AT_TALK = 2.0, 1.2
# So many messages, spread over the history, say how many bytes a token has in it.
SAMPLE = 64
# A plain message of fewer bytes may be nothing but its frame.
SHORT = 64


def guessed(messages: Sequence[Message], size: Callable[[Message], int], limit: int) -> list[int] | None:
    """About how many tokens each message has, where there are many and they are far more than the limit; else None.

    It goes by nothing but the messages: what happened to be counted before must not change a plan.
    """
    if len(messages) < MANY:
        return None
    lengths = [len(message.raw) for message in messages]
    sample = range(0, len(messages), max(1, len(messages) // SAMPLE))
    share = sum(size(messages[n]) for n in sample) / max(1, sum(lengths[n] for n in sample))
    found = [int(length * share) + 1 for length in lengths]
    if sum(found) < LOOKED_AT * limit:
        return None
    # Media have bytes that are no tokens. Most messages are one text and no more.
    unsure = [number for number, message in enumerate(messages) if not message.plain or lengths[number] < SHORT]
    for number in unsure:
        message = messages[number]
        parts = message.parts
        if len(parts) > 1 or (parts and not parts[0].text):
            texts = sum([len(part.text) for part in parts])
            if texts * 2 < lengths[number]:
                found[number] = size(message)
    return found if sum(found) >= LOOKED_AT * limit else None


def candidates(
    messages: tuple[Message, ...],
    sizes: list[int],
    relevance: Sequence[float] | None,
    recent: int,
    most: int,
    stay: Collection[int] = (),
) -> Seen:
    """The newest messages up to `recent` tokens, the most relevant ones up to `most`, and those that have to stay."""
    chosen = {n for n, message in enumerate(messages) if message.role == "system"} | {current(messages), *stay}
    for n in range(len(messages) - 1, -1, -1):
        recent -= sizes[n]
        if recent < 0:
            break
        chosen.add(n)
    ranks = relevance or [0.0] * len(messages)
    for n in sorted(range(len(messages) - 1, -1, -1), key=ranks.__getitem__, reverse=True):
        most -= sizes[n]
        if most < 0:
            break
        chosen.add(n)
    return Seen(chosen, sizes)
