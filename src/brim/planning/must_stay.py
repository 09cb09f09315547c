"""What no plan can shorten: a request is near refusal when that alone nearly fills its limit."""

from __future__ import annotations

from brim.conversation import Conversation
from brim.planning.items import SYSTEM, Itemizer, current
from brim.tokens.counter import Counter


def must_stay(conversation: Conversation, counter: Counter) -> int:
    """The tokens of tools, instructions and the current message, without the documents inside them.

    Example: 1,200 tokens of instructions around a <project_context> of 90,000, and a question of 15 -> 1,215
    """
    now = current(conversation.messages)
    fixed = [message for n, message in enumerate(conversation.messages) if n == now or message.role == "system"]
    short = Conversation(conversation.api, tuple(fixed), conversation.system, conversation.tools)
    groups = Itemizer(short, counter.sizes, counter.text).groups()
    tokens = counter.head(short)
    for group in groups:
        if group.members[0] == SYSTEM:  # counted in the head, whole
            tokens -= sum(item.tokens for item in group.items)
        tokens += group.frame + sum(item.tokens for item in group.items if item.must)
    return tokens
