"""Policy `concise`: a history of so many characters; when it is longer, the last two user turns stay verbatim and
one structured summary stands for the rest. Instructions are a message of their own, and the first one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from brim import wire
from brim.conversation import Conversation, Message
from brim.plan import agent
from brim.plan.context import attached
from brim.plan.folding import kept_whole, told
from brim.plan.items import current
from brim.plan.planner import Outcome
from brim.plan.work import Work
from brim.summarize import deterministic

log = logging.getLogger("brim")
INSTRUCTIONS = "[SYSTEM INSTRUCTIONS]\n\n"


def plan(work: Work) -> Outcome:
    conversation = work.conversation if work.policy.system_role else without_system_role(work.conversation)
    leading = [message for message in conversation.messages if _instructs(message)]
    at = [index for index, message in enumerate(work.conversation.messages) if not _instructs(message)]
    talk = [message for message in conversation.messages if not _instructs(message)]
    now = max(0, current(tuple(talk)))
    history = talk[:now]
    cut, made, warnings = shortened(work, history)
    changed = replace(conversation, messages=(*leading, *made, *talk[cut:])) if cut else conversation
    changed, layers = attached(changed, work.context, work.carried, work.policy.preview_chars)
    outcome = agent.enforce(work, changed, layers)
    if cut:
        log.info("history truncated: %d messages folded, %d kept", cut, len(history) - cut)
        reason = "before the last user turns; in the summary" if made else "older than the last messages"
        outcome.steps = told(work, at[:cut], "summary" if made else "dropped", reason)
        outcome.stash = kept_whole(history[:cut]) | outcome.stash
        outcome.folded = [*at[:cut], *outcome.folded]
    outcome.warnings = [*warnings, *outcome.warnings]
    return outcome


def _instructs(message: Message) -> bool:
    return message.role == "system" or message.text.startswith(INSTRUCTIONS)


def shortened(work: Work, history: Sequence[Message]) -> tuple[int, list[Message], list[str]]:
    """How many messages of a history are folded, the message that stands for them, and what its user should know.

    Where the characters cannot be counted the last ten messages stay, where nothing can be summarised the last four.
    """
    policy = work.policy
    size, counted = characters(history)
    if size <= policy.history_chars:
        if counted or len(history) <= policy.uncounted_messages:
            return 0, [], []
        kept = _last(history, policy.uncounted_messages)
        warning = f"the history cannot be counted in characters: only its last {len(kept)} messages stay"
        return len(history) - len(kept), [], [warning]
    asks = [number for number, message in enumerate(history) if _asks(message)]
    cut = asks[-policy.recent_user_turns] if len(asks) >= policy.recent_user_turns else 0
    if not cut:
        return 0, [], []
    text = deterministic.concise(history[:cut], policy.summary_chars, policy.topic_chars)
    if not text:
        kept = _last(history, policy.fallback_messages)
        warning = f"the history cannot be summarised: only its last {len(kept)} messages stay"
        return len(history) - len(kept), [], [warning]
    return cut, [wire.text_message(work.conversation.api, "user", text)], []


def _asks(message: Message) -> bool:
    """Whether the user speaks in it, rather than a tool or an earlier summary."""
    return message.role == "user" and not message.answers and not message.text.startswith(deterministic.HEADER)


def characters(messages: Sequence[Message]) -> tuple[int, bool]:
    """The characters of a history, and whether that is all: media and unknown blocks have a size but no characters."""
    parts = [part for message in messages for part in message.parts]
    counted = not any(part.kind in ("image", "audio", "file", "opaque") for part in parts)
    return sum(len(part.text) for part in parts), counted


def _last(history: Sequence[Message], number: int) -> Sequence[Message]:
    """The last messages, from the first of them in which the user speaks."""
    start = max(0, len(history) - number)
    while start < len(history) and not _asks(history[start]):
        start += 1
    return history[start:]


def without_system_role(conversation: Conversation) -> Conversation:
    """For APIs and models that know no system role: instructions as a first user message that says what it is."""
    texts = [conversation.system.text] if conversation.system else []
    texts += [message.text for message in conversation.messages if message.role == "system"]
    if not texts:
        return conversation
    first = wire.text_message(conversation.api, "user", INSTRUCTIONS + "\n\n".join(texts))
    rest = [message for message in conversation.messages if message.role != "system"]
    return replace(conversation, messages=(first, *rest), system=None)
