"""Policy `concise`: a history of so many characters; when it is longer, the last two user turns stay verbatim and
one structured summary stands for the rest. Tool calls with their results count as history wherever they stand: where
the turns that stay are still too long, their oldest complete steps go into the summary too. Instructions are a message
of their own, and the first one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from brim import wire
from brim.conversation import Conversation, Message
from brim.plan import agent
from brim.plan.context import attached, originals
from brim.plan.folding import kept_whole, told
from brim.plan.items import current, grouped
from brim.plan.report import Rung
from brim.plan.task import Outcome
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
    cut, steps, made, warnings = shortened(work, talk, now)
    gone = {*range(cut), *steps}
    left = [message for number, message in enumerate(talk) if number not in gone]
    changed = replace(conversation, messages=(*leading, *made, *left)) if gone else conversation
    changed, layers = attached(changed, work.context, work.carried, work.policy.preview_chars)
    outcome = agent.enforce(work, changed, layers)
    if gone:
        log.info("history truncated: %d messages folded, %d kept", len(gone), len(left) - 1)
        rung: Rung = "summary" if made else "dropped"
        reason = "before the last user turns; in the summary" if made else "older than the last messages"
        folded = [at[number] for number in sorted(gone)]
        kept, older = kept_whole([talk[number] for number in sorted(gone)]), "an older step of a turn that is too long"
        outcome.steps = told(work, at[:cut], rung, reason, kept)
        outcome.steps += told(work, [at[number] for number in steps], rung, older, kept)
        outcome.stash = kept | outcome.stash
        outcome.folded = [*folded, *outcome.folded]
    outcome.stash = originals(work.carried) | outcome.stash
    outcome.warnings = [*warnings, *outcome.warnings]
    return outcome


def _instructs(message: Message) -> bool:
    return message.role == "system" or message.text.startswith(INSTRUCTIONS)


def shortened(work: Work, talk: Sequence[Message], now: int) -> tuple[int, list[int], list[Message], list[str]]:
    """How many messages at the start are folded, which steps after them, what stands for them, and what to know.

    Where the characters cannot be counted the last ten messages stay, where nothing can be summarised the last four.
    """
    policy, history = work.policy, talk[:now]
    size, counted = characters(history)
    if size + characters(talk[now + 1 :])[0] <= policy.history_chars:
        if counted or len(history) <= policy.uncounted_messages:
            return 0, [], [], []
        kept = _last(history, policy.uncounted_messages)
        warning = f"the history cannot be counted in characters: only its last {len(kept)} messages stay"
        return len(history) - len(kept), [], [], [warning]
    asks = [number for number, message in enumerate(history) if _asks(message)]
    cut = asks[-policy.recent_user_turns] if len(asks) >= policy.recent_user_turns else 0
    steps = _oldest_steps(work, talk, cut, now)
    if not cut and not steps:
        return 0, [], [], []
    gone = [*range(cut), *steps]
    text = deterministic.concise([talk[number] for number in gone], policy.summary_chars, policy.topic_chars)
    if text:
        return cut, steps, [wire.text_message(work.conversation.api, "user", text)], []
    if not cut:
        return 0, steps, [], [f"{len(steps)} messages of older steps cannot be summarised, and are left out"]
    kept = _last(history, policy.fallback_messages)
    warning = f"the history cannot be summarised: only its last {len(kept)} messages stay"
    cut = len(history) - len(kept)
    return cut, [number for number in steps if number >= cut], [], [warning]


def _oldest_steps(work: Work, talk: Sequence[Message], cut: int, now: int) -> list[int]:
    """Complete steps from `cut` on that go into the summary, the oldest first, until what stays is short enough.

    A step goes with its calls and all their results; what users and answers say stays, and so does the newest step.
    """
    policy = work.policy
    left = characters([*talk[cut:now], *talk[now + 1 :]])[0]
    found: list[int] = []
    for group in grouped(tuple(talk[cut:]))[:-1]:
        if left <= policy.history_chars - policy.summary_chars:
            break
        members = [cut + number for number in group]
        messages = [talk[number] for number in members]
        if _is_step(messages) or messages[0].text.startswith(deterministic.HEADER):  # an earlier summary goes on
            left -= characters(messages)[0]
            found += members
    return found


def _is_step(messages: Sequence[Message]) -> bool:
    """Whether these are calls with all their results, and nothing that a user said."""
    calls = {call for message in messages for call in message.calls}
    answers = {answer for message in messages for answer in message.answers}
    said = any(message.role == "user" and any(part.kind != "result" for part in message.parts) for message in messages)
    return bool(calls) and calls <= answers and not said


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
