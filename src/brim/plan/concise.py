"""Policy `concise`: a history of so many characters; when it is longer, the last two user turns stay verbatim and
one structured summary stands for the rest. Instructions are a message of their own, and the first one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from brim import wire
from brim.conversation import Conversation, Message
from brim.ladders import handle_of
from brim.plan import agent
from brim.plan.context import attached
from brim.plan.items import current
from brim.plan.planner import Outcome
from brim.plan.report import Decision
from brim.plan.work import Work
from brim.summarize import deterministic

log = logging.getLogger("brim")
INSTRUCTIONS = "[SYSTEM INSTRUCTIONS]\n\n"


def plan(work: Work) -> Outcome:
    conversation = work.conversation if work.policy.system_role else without_system_role(work.conversation)
    leading = [message for message in conversation.messages if _instructs(message)]
    talk = [message for message in conversation.messages if not _instructs(message)]
    now = current(tuple(talk))
    history, rest = talk[:now], talk[now:]
    kept, folded, made = shortened(work, history)
    messages = (*leading, *made, *kept, *rest)
    changed = (
        replace(conversation, messages=messages)
        if folded or leading != list(messages[: len(leading)])
        else conversation
    )
    changed, layers = attached(changed, work.context, work.carried, work.policy.preview_chars)
    outcome = agent.enforce(work, changed, layers)
    if folded:
        log.info("history truncated: %d messages summarised, %d kept", len(folded), len(kept))
        raws = b"\n".join(message.raw for message in folded).decode("utf-8", "surrogatepass")
        outcome.stash.setdefault(handle_of(raws), raws)
        outcome.steps = [
            Decision(
                f"messages[{number}]",
                message.role,
                4,
                "text",
                work.counter.message(message),
                0,
                "summary",
                "before the last user turns; in the summary",
            )
            for number, message in enumerate(folded)
        ]
        outcome.folded = list(range(len(folded)))
    return outcome


def _instructs(message: Message) -> bool:
    return message.role == "system" or message.text.startswith(INSTRUCTIONS)


def shortened(work: Work, history: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message], list[Message]]:
    """What of a history is kept, what is folded, and the message that stands for it."""
    policy = work.policy
    size = characters(history)
    if size is None:
        kept = _last(history, policy.uncounted_messages)
        return kept, history[: len(history) - len(kept)], []
    if size <= policy.history_chars:
        return history, (), []
    asks = [number for number, message in enumerate(history) if message.role == "user" and not message.answers]
    cut = asks[-policy.recent_user_turns] if len(asks) >= policy.recent_user_turns else 0
    older = history[:cut]
    if not older:
        return history, (), []
    text = deterministic.concise(older, policy.summary_chars, policy.topic_chars)
    if not text.removeprefix(deterministic.HEADER).strip():
        kept = _last(history, policy.fallback_messages)
        return kept, history[: len(history) - len(kept)], []
    return history[cut:], older, [wire.text_message(work.conversation.api, "user", text)]


def characters(messages: Sequence[Message]) -> int | None:
    """The characters of a history; None where a message has something that has none, such as an image."""
    if any(part.kind in ("image", "audio", "file", "opaque") for message in messages for part in message.parts):
        return None
    return sum(len(message.text) for message in messages)


def _last(history: Sequence[Message], number: int) -> Sequence[Message]:
    """The last messages, from the first of them in which the user speaks."""
    start = max(0, len(history) - number)
    while start < len(history) and (history[start].role != "user" or history[start].answers):
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
