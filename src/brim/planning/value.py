"""What older content is worth: relevance to the current message, and how recent it is."""

from __future__ import annotations

from collections.abc import Sequence

from brim.conversation import Message
from brim.planning.items import Group

# What any older step counts beside how recent (0 to 1) and how relevant (0 to 2) it is. Age and the current message say
# little about which values later calls need: docs/benchmarks.md#older-steps.
STEP = 2.0
# What was said about results counts so much of what they count: it shortens better, and repeats them.
ANSWER = 0.5
# In a chat recency only decides between messages that are equally relevant.
TIE = 0.01


def weights(
    groups: Sequence[Group], messages: Sequence[Message], relevance: Sequence[float] | None, chat: bool
) -> list[float]:
    """One number for each group. `relevance` has one for each message, from 0 to 2; None where nothing is asked.

    In a chat relevance decides. Among tool calls what is asked says little about what a later call needs, so all
    that was found counts, the newer the more.
    """
    found: list[float] = []
    newer = sum(1 for group in groups if group.items)
    for group in groups:
        if not group.items:
            found.append(0.0)
            continue
        newer -= 1
        members = [member for member in group.members if member >= 0]
        about = max([relevance[member] for member in members], default=0.0) if relevance else 0.0
        asked = bool(members) and messages[members[0]].role == "user"
        recent = (1 + newer) ** -0.5
        if chat:
            found.append(about + TIE * recent)
        else:
            answer = not any(item.kind in ("call", "result") for item in group.items) and not asked
            found.append((STEP + recent + about) * (ANSWER if answer else 1.0))
    return found
