"""How a message enters a view that has been full before: results without what costs room and says nothing."""

from __future__ import annotations

from collections.abc import Callable

from brim.conversation import Message
from brim.ladders import Hint, Ladder, handle_of
from brim.ladders.rung import Room, Rung
from brim.memory.waterline import falling
from brim.plan.policy import Policy
from brim.plan.rebuild import with_text
from brim.plan.renditions import in_short
from brim.tokens.counter import Counter

# A result smaller than this is not worth another form.
SMALL = 60
# A lossless form must save at least this share to be worth reading in place of the original.
SAVES = 0.1
# The share of a large budget that one result may take; of a small one it is the policy's. What is read word by word, a
# file or a page, was asked for to be read and says little in short; rows, logs and trees do.
LARGE, LARGE_READ = 0.025, 0.12
READ = frozenset({"code", "diff", "markdown", "prose", "text", "html"})


def arrived(
    message: Message, counter: Counter, policy: Policy, limit: int, keep: Callable[[str], str], recall: bool = False
) -> Message:
    """The message with its results re-encoded without loss, and cut to the share that one result may take."""
    texts: dict[int, str] = {}
    for number, (part, size) in enumerate(zip(message.parts, counter.parts(message), strict=True)):
        if part.kind != "result" or part.fixed or part.json or size < SMALL:
            continue
        steps = Ladder(part.text, counter.text, hint=Hint(tool=part.name))
        most = max(64, falling(policy.newest, LARGE_READ if steps.kind in READ else LARGE, limit))
        rung = steps.dense()
        taken = counter.text(rung.text) if rung is not None else size
        if taken > most:
            room = Room(most, counter.text, handle_of(part.text), recall)
            values = in_short(steps, room, counter.model.family)
            rung = Rung(values, "recoverable", "by its values") if values else steps.at(room)
            taken = most
        if rung is not None and taken <= size * (1 - SAVES):
            texts[number] = rung.text
            if rung.fidelity == "recoverable":
                keep(part.text)
    return with_text(counter.api, message, texts) if texts else message
